"""Numbers and texts that C keeps in objects: code's counts, bounds of a complex number, a file's closing flags."""
import types

import torch


class Slotted:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n


def counted(x, function):
    code = function.__code__
    y = x * code.co_argcount
    return function(y) + code.co_nlocals - code.co_flags % 7


def parts(x, z):
    y = x + z.real
    return y * z.imag


def slots(x, holder):
    return x * holder.n + 1


def two(v, w=1):
    u = v + w
    return u * 2


def members(x, partial):
    y = x - partial.__code__.co_posonlyargcount
    return y * partial.__code__.co_stacksize + partial.__code__.co_kwonlyargcount


def positional(a, b, /, *, key=2):
    return a


for run in range(6):
    x = torch.full((3,), float(run))
    print(counted(x, two).tolist(), parts(x, 2 + 3j).tolist(), slots(x, Slotted(3)).tolist(), members(x, positional).tolist())
# Another count is another function: what was recorded for the first must not serve it.
other = types.FunctionType((lambda v, w=1, k=2: v + w + k).__code__, {}, "other", (1, 2))
for run in range(3):
    print(counted(torch.ones(3), other).tolist())
