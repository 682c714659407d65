"""What decides a branch on a tensor: bools of every shape, other dtypes, views, and programs that have a say
in what a tensor's truth is."""
import sys

import torch
from torch.overrides import TorchFunctionMode


def chosen(x, flag):
    x = x + 1
    if flag:
        x = x * 2
    y = x - 3
    if not flag:
        y = y * 5
    return (x + y).sum().item()


def compared(x):
    x = x * 2
    while x.sum() < 100:
        x = x * 2
    return (x + 1).tolist()


def attempt(x, flag):
    for _ in range(3):
        try:
            print(chosen(x, flag))
        except (RuntimeError, ValueError) as error:
            print(type(error).__name__, str(error).split("\n")[0])


class Mine(torch.Tensor):
    def __bool__(self):
        return False


class Noting(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.asked = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.asked += function is torch.Tensor.__bool__
        return function(*args, **(kwargs or {}))


class Traced:
    """A comparison that switches tracing on, in front of the branch on what it gives."""

    def __init__(self, given):
        self.given = given

    def __gt__(self, other):
        sys.settrace(lambda frame, event, argument: None)
        return self.given if self.given is not None else other < 3


def bounded(x, bound):
    y = x + 1
    if bound > y.sum():
        y = y * 2
    z = y - 1
    while not bound > z.sum():
        z = z - 1
    sys.settrace(None)
    return z.tolist()


def flags(x):
    y = x * 2
    return not not y.sum() > 3, not y.any(), not not y[0], bool(y.max() < 3), (y + 1).tolist()


x = torch.arange(4.0)
for given in (None, [1], "", torch.tensor(True), torch.tensor([True, False])):
    for _ in range(3):
        try:
            print(bounded(x, Traced(given)) if given != "" else flags(x))
        except RuntimeError as error:
            sys.settrace(None)
            print(type(error).__name__, str(error).split("\n")[0], error.__traceback__.tb_next.tb_lineno)
bits = torch.tensor([True, False, True])
for flag in (torch.tensor(True), torch.tensor(False), torch.tensor([True]), torch.tensor([[False]]), bits[1],
             bits[2], bits[1:2], bits, bits[:0], torch.tensor(2), torch.tensor(0.0), torch.tensor(float("nan")),
             torch.tensor(0j), torch.nn.Parameter(torch.tensor(0.5)), torch.tensor(True).as_subclass(Mine),
             torch.tensor(True).expand(1, 1), 3, None, [], "a"):
    attempt(x, flag)
for scale in (1, 3, 10):
    print(compared(x * scale))
with torch.no_grad(), Noting() as noting:
    print(chosen(x, torch.tensor(True)), noting.asked)
own = torch.Tensor.__bool__
torch.Tensor.__bool__ = lambda self: not own(self)
attempt(x, torch.tensor(True))
attempt(x, torch.tensor(False))
torch.Tensor.__bool__ = own
attempt(x, torch.tensor(True))
