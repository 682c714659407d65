"""Variables that the code may read, on some way, where a whole step could be left: what they hold has gradients that backward()
did not go through, and keeps them."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net, other = nn.Linear(4, 4), nn.Linear(4, 4)
w = torch.ones(4, requires_grad=True)
seen = []


def stepped():
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.01 * p.grad


def made_leaf(x):
    leaf = (x * 2).requires_grad_()
    hidden = (leaf * w).sum(0)
    gradient = torch.autograd.grad(F.relu(leaf * w).sum(), leaf)[0]
    value = gradient.sum().item()
    return value


def read_later(x):
    hidden = other(x).tanh()
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    value = loss.item()
    if value > 1e9:
        return hidden.sum()
    return value


def gone_back_later(x):
    hidden = other(x).tanh()
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    value = loss.item()
    hidden.sum().backward()
    return value, other.weight.grad.sum().item()


def in_a_handler(x):
    hidden = other(x).tanh()
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    try:
        value = loss.item()
        raise ValueError("after all")
    except ValueError:
        hidden.sum().backward()
    return value, other.bias.grad.sum().item()


def around(x):
    """What the last turn left is read in the next, but not what it sets again."""
    carried, total = None, 0.0
    for turn in range(3):
        if carried is not None:
            carried.sum().backward()
            total += other.weight.grad.sum().item()
        carried = other(x * (turn + 1)).tanh()
        loss = net(x).square().mean()
        fresh = other(x).cos()
        net.zero_grad()
        other.zero_grad()
        loss.backward()
        stepped()
        total += loss.item()
    return total


def by_name(x):
    hidden = other(x).tanh()
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    value = loss.item()
    locals()["hidden"].sum().backward()
    return value, other.weight.grad.sum().item()


def evaluated(x):
    hidden = other(x).tanh()
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    value = loss.item()
    return value, round(float(eval("hidden.detach().sum()")), 4), eval("hidden.requires_grad")


def in_a_cell(x):
    hidden = other(x).tanh()
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    value = loss.item()
    return value, lambda: hidden.sum()


def shared(x):
    hidden = other(x).tanh()
    seen.append(hidden)
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    return loss.item()


for function in (made_leaf, read_later, gone_back_later, in_a_handler, around, by_name, evaluated, in_a_cell, shared):
    for turn in range(7):
        result = function(torch.randn(3, 4) / 2)
        if isinstance(result, tuple) and callable(result[1]):
            result = result[0], result[1]()
            result[1].backward()
            result = result[0], result[1].item()
        while seen:
            seen[0].sum().backward()
            print("seen", seen.pop().requires_grad, f"{other.weight.grad.sum().item():.4g}")
        print(function.__name__, turn, *(f"{one:.4g}" for one in (result if isinstance(result, tuple) else (result,))))
