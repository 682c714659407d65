"""What decides a branch on a tensor: bools of every shape, other dtypes, views, and programs that have a say
in what a tensor's truth is."""
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


x = torch.arange(4.0)
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
