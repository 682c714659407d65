"""Variables that the code reads no more where a whole step is left: what they hold is left there, though gradients of it were
not gone through."""
import sys

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
net, other = nn.Linear(4, 4), nn.Linear(4, 4)


def stepped():
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.01 * p.grad


def last_state(x):
    """Of a recurrent net's last state nothing is asked."""
    hidden = torch.zeros(1, 4)
    for row in x:
        out = net(hidden + row)
        hidden = torch.tanh(other(hidden + row))
    loss = out.square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    return loss.item()


def both(x):
    hidden = other(x)
    loss = net(x).square().mean()
    aside = (hidden * 2).tanh()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    value = loss.item()
    return value


def failing(x):
    hidden = other(x).tanh()
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    value = loss.item()
    raise RuntimeError(f"{value:.4f}")


def looked_at(frame):
    """As tools for errors do; by no op of torch's, which some versions make graphs of here."""
    return {name: (round(float(np.sum(one.tolist())), 3), one.requires_grad) for name, one in sorted(frame.f_locals.items())
            if isinstance(one, torch.Tensor) and name != "x"}


def inner(x):
    hidden = other(x).tanh()
    loss = net(x).square().mean()
    net.zero_grad()
    other.zero_grad()
    loss.backward()
    stepped()
    return loss.item()


def outer(x):
    aside = other(x).exp()
    value = inner(x)
    return value + 1


for turn in range(7):
    try:
        failing(torch.randn(3, 4))
    except RuntimeError as error:
        print("failing", error, looked_at(sys.exc_info()[2].tb_next.tb_frame))

for function in (last_state, both, inner, outer):
    for turn in range(7):
        print(function.__name__, turn, round(function(torch.randn(3, 4) / 2), 4))
