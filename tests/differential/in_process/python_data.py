"""Tensors made of Python data that stays or changes, lists as indices, and `in` on tensors."""
import torch


def made(x, scale, count, flag):
    x = x * 2
    weights = torch.tensor([0.25, scale, -0.0, 1.0])
    steps = torch.tensor([[1, count], [count + 1, 3]])
    flags = torch.tensor([flag, not flag])
    return (x[:4] * weights, steps + x[0].long(), flags, torch.tensor(scale) + x, torch.tensor([[scale]], dtype=torch.float64),
            torch.tensor([1, 2.5, count]), torch.tensor((count, True)), torch.tensor([]), torch.as_tensor([count, 2], dtype=torch.int16))


def refused(x, data):
    x = x + 1
    try:
        return torch.tensor(data) + x.sum()
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        return type(error).__name__, x.sum()


def converted(x, other):
    same = torch.as_tensor(x * 2)
    return torch.as_tensor(other) + same, torch.as_tensor(x, dtype=torch.float64), torch.as_tensor(other) is other


def truncated(x, ratio):
    return torch.tensor([ratio, 2], dtype=torch.int64) + x.long()[:, :2], torch.tensor(ratio, dtype=torch.bool)


def picked(x, at):
    x = x + 1
    return x[[0, -1]], x[:, [1, 0]], x[[0, at]], x[0, [at, 2]], x[[1, 0], [0, at]], x[None, [[0, 1], [1, at]]], x[..., (0, at)]


def stored(x, value, at):
    x = x * 2
    x[[0, 1]] = value
    x[:, [at]] = 7
    y = torch.zeros(2, 5, dtype=torch.int64)
    y[[1], [at]] = 3
    return x, y


def holds(x, number):
    x = x * 2
    if number in x:
        return x + 1
    if x[0, 0] in x and 3.5 not in torch.ones(2):
        return x - 1
    return x


with torch.no_grad():
    x = torch.arange(10.0).reshape(2, 5)
    for turn in range(4):
        print(made(x.flatten(), 0.5 * turn, turn, turn % 2 == 0))
        print(truncated(x, 1.5 + turn))
    for default in (torch.float64, torch.float32):
        torch.set_default_dtype(default)
        print(made(x.flatten(), 1.5, 2, True)[0].dtype, torch.tensor([1.5]).dtype)
    for data in ([1, [2]], [[1], [2, 3]], ["a"], [None], 2**70, [2**63], [[], []], [float("nan"), 1.0], list(range(100)), [torch.ones(1)]):
        print([refused(x, data) for _ in range(2)])
    print([converted(x, torch.ones(5) + turn) for turn in range(3)])
    for turn in range(4):
        print(picked(x, -(turn % 2)), stored(x, float(turn), turn), holds(x, turn * 3), holds(x, 0.5))
