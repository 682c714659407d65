"""Mappings whose keys are torch's own words (dtypes, devices, layouts, memory formats), alone and in tuples, made anew
for every call and gone over: they are compared as Python compares them, and one entry serves all calls."""
import torch
from torch import nn


def scaled(x, table):
    for key, factor in table.items():
        x = x * factor if key[1] is torch.float32 else x + factor
    return x


def counted(x, table):
    total = 0
    for word in table:
        total = total * 3 + table[word]
    return x + total


def tables(turn):
    device, other = torch.device("cpu"), torch.device("cpu", 0)
    yield {(device, torch.float32): 2.0}
    yield {(device, torch.float32): 2.0, (other, torch.float64): 3.0}
    if turn % 4 == 3:
        yield {(other, torch.float32): 2.0}
        yield {(device, torch.float64): 2.0}


def words():
    yield {torch.float32: 1, torch.device("cpu"): 2, torch.strided: 3, torch.channels_last: 4}
    yield {torch.float64: 1, torch.device("cpu"): 2, torch.strided: 3, torch.channels_last: 4}
    yield {torch.float32: 1, torch.device("meta"): 2, torch.strided: 3, torch.channels_last: 4}
    yield {torch.float32: 1, torch.device("cpu"): 2, torch.sparse_coo: 3, torch.channels_last: 4}
    yield {torch.float32: 1, torch.device("cpu"): 2, torch.strided: 3, torch.contiguous_format: 4}


with torch.no_grad():
    for turn in range(12):
        print([scaled(torch.arange(3.0), table).tolist() for table in tables(turn)])
        print([counted(torch.arange(2.0), table).tolist() for table in words()])

# As clip_grad_norm_ goes over gradients by device and dtype.
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for turn in range(12):
    optimizer.zero_grad()
    model(torch.full((2, 4), float(turn))).square().sum().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(round(norm.item(), 3))
