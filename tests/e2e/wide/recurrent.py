"""Recurrent networks: torch's own modules, cells, loops over a sequence."""

import torch
import torch.nn.functional as F
from torch import nn

from wide.programs import program


class Tagger(nn.Module):
    def __init__(self, kind, **k):
        super().__init__()
        self.e = nn.Embedding(50, 16)
        self.r = kind(16, 24, batch_first=True, **k)
        self.o = nn.Linear(24 * (2 if k.get("bidirectional") else 1), 5)

    def forward(self, x):
        y, h = self.r(self.e(x))
        return self.o(y), h


def words(count=12):
    return torch.randint(0, 50, (3, count))


@program
def lstm():
    return Tagger(nn.LSTM, num_layers=2), (words(),)


@program
def lstm_bi():
    return Tagger(nn.LSTM, bidirectional=True), (words(),)


@program
def gru():
    return Tagger(nn.GRU, num_layers=2, dropout=0.1), (words(),)


@program
def rnn_relu():
    return Tagger(nn.RNN, nonlinearity="relu"), (words(),)


@program
def lstm_proj():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.r = nn.LSTM(8, 12, proj_size=6)

        def forward(self, x, h=None):
            return self.r(x, h)

    return M(), (torch.randn(5, 2, 8),)


@program
def lstm_packed():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.r = nn.LSTM(8, 12, batch_first=True)

        def forward(self, x, n):
            p = nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False)
            y, h = self.r(p)
            y, m = nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
            return y * 2, m

    return M(), (torch.randn(3, 6, 8), torch.tensor([6, 4, 2]))


@program
def lstm_cells():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.LSTMCell(8, 12)
            self.o = nn.Linear(12, 3)

        def forward(self, x):
            h = x.new_zeros(x.size(1), 12)
            c = torch.zeros_like(h)
            out = []
            for step in x:
                h, c = self.c(step, (h, c))
                out.append(self.o(h))
            return torch.stack(out, 1)

    return M(), (torch.randn(5, 2, 8),)


@program
def seq2seq_attention():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(50, 16)
            self.enc = nn.GRU(16, 16, batch_first=True, bidirectional=True)
            self.dec = nn.GRUCell(16 + 32, 32)
            self.a = nn.Linear(64, 1)
            self.o = nn.Linear(32, 50)
            self.h = nn.Linear(32, 32)

        def forward(self, x, steps=4):
            enc, h = self.enc(self.e(x))
            h = torch.tanh(self.h(torch.cat([h[0], h[1]], 1)))
            tok = x[:, 0]
            outs = []
            for _ in range(steps):
                sc = self.a(torch.cat([h.unsqueeze(1).expand(-1, enc.size(1), -1), enc], 2)).squeeze(2)
                c = torch.bmm(F.softmax(sc, 1).unsqueeze(1), enc).squeeze(1)
                h = self.dec(torch.cat([self.e(tok), c], 1), h)
                lo = self.o(h)
                tok = lo.argmax(1)
                outs.append(lo)
            return torch.stack(outs, 1)

    return M(), (words(),)


@program
def convlstm():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.Conv2d(3 + 8, 32, 3, padding=1)

        def forward(self, x):
            b, t, c, h, w = x.size()
            hh, cc = (torch.zeros(b, 8, h, w), torch.zeros(b, 8, h, w))
            for i in range(t):
                g = self.c(torch.cat([x[:, i], hh], 1))
                i_, f, o, g = torch.split(g, 8, dim=1)
                cc = torch.sigmoid(f) * cc + torch.sigmoid(i_) * torch.tanh(g)
                hh = torch.sigmoid(o) * torch.tanh(cc)
            return hh

    return M(), (torch.randn(2, 4, 3, 8, 8),)


@program
def esn_scan():
    def scan(x, a, b):
        h = torch.zeros(x.shape[0], 6)
        out = torch.empty(x.shape[0], x.shape[1], 6)
        for t in range(x.shape[1]):
            h = torch.tanh(h @ a + x[:, t] @ b)
            out[:, t] = h
        return out

    return scan, (torch.randn(2, 5, 3), torch.randn(6, 6), torch.randn(3, 6))
