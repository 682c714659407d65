"""Cells of recurrent networks, as modules and as functions: one step is products and gates of one graph."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Decoder(nn.Module):
    """Two cells over each other; what the second gives is the next input."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second, self.out = first, second, nn.Linear(6, 4)

    def forward(self, x, states, steps):
        given = []
        for _ in range(steps):
            states = [self.first(x, states[0]), states[1]]
            h = states[0][0] if isinstance(states[0], tuple) else states[0]
            states = [states[0], self.second(h, states[1])]
            h = states[1][0] if isinstance(states[1], tuple) else states[1]
            x = self.out(h).tanh()
            given.append(x)
        return torch.stack(given, 1), states


def show(value):
    if torch.is_tensor(value):
        return [round(v, 3) for v in value.double().flatten().tolist()[:6]], tuple(value.shape), value.stride()
    return [show(v) for v in value]


def gru(x, states):
    return GRU(x, states, 3)


def lstm(x, states):
    return LSTM(x, states, 2)


def simple(x, states):
    return SIMPLE(x, states, 3)


def mixed(x, states):
    return MIXED(x, states, 2)


def of_one_row(x):
    return CELL(x), WIDE(x)


def beside(x, h):
    return CELL(x, h)


GRU = Decoder(nn.GRUCell(4, 6), nn.GRUCell(6, 6, bias=False)).eval()
LSTM = Decoder(nn.LSTMCell(4, 6, bias=False), nn.LSTMCell(6, 6)).eval()
SIMPLE = Decoder(nn.RNNCell(4, 6), nn.RNNCell(6, 6, nonlinearity="relu", bias=False)).eval()
MIXED = Decoder(nn.LSTMCell(4, 6), nn.GRUCell(6, 6)).double().eval()
CELL, WIDE = nn.GRUCell(4, 6), nn.LSTMCell(4, 6)

with torch.no_grad():
    for decode in (gru, lstm, simple, mixed):
        for batch in (1, 3, 3, 5):
            x = torch.randn(2, batch, 4, dtype=torch.float64 if decode is mixed else torch.float32)
            out, states = decode(x[0], [None, None])
            print(decode.__name__, batch, show(out), show(states))
            out, states = decode(x[1], states)
            print(show(out), show(states))
    for _ in range(3):
        print(show(of_one_row(torch.randn(4))))
        for given in (torch.randn(2, 5), torch.randn(2, 2, 4)):
            try:
                print(show(of_one_row(given)))
            except (RuntimeError, ValueError) as error:
                print(type(error).__name__, str(error)[:60])
        try:
            print(show(beside(torch.randn(2, 4), torch.randn(3, 6))))
        except RuntimeError as error:
            print(str(error)[:60])


def learn(x, cell):
    h = torch.zeros(2, 6)
    for row in x:
        h = cell(row, h)
    return h.square().sum()


for _ in range(3):
    loss = learn(torch.linspace(-1, 1, 24).reshape(3, 2, 4), CELL)
    loss.backward()
    print(show(loss), show(CELL.weight_hh.grad))
    CELL.zero_grad()
