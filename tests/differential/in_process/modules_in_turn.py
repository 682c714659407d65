"""Modules of several classes that are called one after the other, each call in another way: the code that all of them
share, torch's __call__, stays one graph of each.
"""
import torch
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x, lengths, task):
        for layer in self.layers:
            x = layer(x).tanh()
        if task == "scaled":
            x = x * 2
        return x * (torch.arange(x.size(1))[None] < lengths[:, None])[..., None]


class Loss(nn.Module):
    def forward(self, x, target, weight, task):
        return ((x - target).pow(2) * weight).mean() * len(task)


class Penalty(nn.Module):
    def __init__(self, strength):
        super().__init__()
        self.strength = strength

    def forward(self, module):
        return sum(parameter.pow(2).sum() for parameter in module.parameters()) * self.strength


encoder, loss, penalties = Encoder().double(), Loss(), [Penalty(0.1), Penalty(0.2)]
TASKS = ["tagged", "scaled", "parsed", "ranked"]
for call in range(16):
    task = TASKS[call % 4]
    x = torch.rand(2, 3 + call, 4, dtype=torch.float64)
    encoder.train(call % 3 != 0)
    hidden = encoder(x, torch.tensor([3 + call, 2 + call]), task)
    error = loss(hidden, x * 2, torch.ones(4 if call % 2 else 1, dtype=torch.float64), task)
    total = error + penalties[call % 2](encoder)
    encoder.zero_grad()
    total.backward()
    print(round(total.item(), 5), round(encoder.layers[0].weight.grad.sum().item(), 5))
