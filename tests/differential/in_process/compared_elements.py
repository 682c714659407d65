"""Comparisons of tensors that decide: since CPython 3.13 one instruction compares and asks. What is only demanded, and what
whole numbers answer, is part of the graph on every version, so none ends at them."""
import torch

torch.set_grad_enabled(False)


def raised(x, limit):
    y = x * 2
    if y.sum() > limit:
        raise ValueError(f"more than {limit}")
    return y + 1


def refused(x):
    y = x - 1
    if not y.max() < 100:
        raise RuntimeError("too large")
    return y * 3


def asserted(x):
    y = x.relu()
    assert y.max() <= 100, "too large"
    return y * 4


def mirrored(x):
    y = x + 2
    if 100 < y.max():
        raise RuntimeError("too large")
    return y.tanh()


def asked(x, mask):
    y = x + 1
    return y.relu() if mask.sum() == 3 else y.tanh()


def show(function, *arguments):
    for scale in (1.0, 1.0, 2.0):
        result = function(arguments[0] * scale, *arguments[1:])
        print(function.__name__, scale, [round(one, 3) for one in result.tolist()])


X = torch.arange(3.0)
show(raised, X, 50.0)
show(refused, X)
show(asserted, X)
show(mirrored, X)
show(asked, X, torch.tensor([1, 1, 1]))
