"""Trains an LSTM on waves and lets it go on by itself, a cell at a time."""

import torch
from torch import nn


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1, self.lstm2, self.linear = nn.LSTMCell(1, 51), nn.LSTMCell(51, 51), nn.Linear(51, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t, c_t, h_t2, c_t2 = (torch.zeros(input.size(0), 51, dtype=torch.double) for _ in range(4))
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


torch.manual_seed(0)
data = torch.sin(torch.arange(100.0, dtype=torch.double)[None] / 20 + torch.randn(20, 1, dtype=torch.double))
seq = Sequence().double()
criterion = nn.MSELoss()
optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=6)
for i in range(3):
    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(data[3:, :-1]), data[3:, 1:])
        loss.backward()
        return loss
    optimizer.step(closure)
    with torch.no_grad():
        pred = seq(data[:3, :-1], future=60)
        print(i, pred.shape, criterion(pred[:, :-60], data[:3, 1:]).item() < 10)
