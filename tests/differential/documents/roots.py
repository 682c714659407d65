"""Calls functions so that each call is a graph of its own: more than eight ways to call one function are too many."""
import types

import torch

torch.manual_seed(0)
COUNT = 0


def call(function, *arguments):
    """A call of a copy of `function`, which no other call shares."""
    global COUNT
    COUNT += 1
    name = f"case_{COUNT}_{function.__name__}"
    code = function.__code__.replace(co_name=name, co_qualname=name)
    copy = types.FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    with torch.no_grad():
        return copy(*arguments)


def noise(*sizes, dtype=torch.float32):
    return torch.randn(sizes).to(dtype)


def steps(*sizes, dtype=torch.float32, low=-2.0, high=2.0):
    """Numbers that a generator has no part in; of integers small ones."""
    count = torch.Size(sizes).numel()
    values = torch.linspace(low, high, max(count, 2), dtype=torch.float64)[:count]
    if not dtype.is_floating_point:
        return (values * 3).round().abs().to(dtype).reshape(sizes)
    return (values + torch.sin(values * 37)).to(dtype).reshape(sizes)


def with_special(x):
    """A copy with what comparisons and sums must not lose."""
    x = x.clone()
    x.view(-1)[: min(3, x.numel())] = torch.tensor([float("nan"), float("inf"), -float("inf")])[: x.numel()]
    return x
