"""Convolutions and products of the library: kernels larger than their image with a residual behind them, and operands in
layouts that it cannot read where they lie."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def show(value):
    return [round(v, 2) for v in value.double().flatten().tolist()[:8]], tuple(value.shape), value.stride()


def whole(*sizes):
    """Numbers that sums of products hold exactly, in any order."""
    count = torch.Size(sizes).numel()
    return (torch.arange(count, dtype=torch.float32) * 7 % 11 - 5).reshape(sizes)


class Residual(nn.Module):
    def __init__(self, kind, kernel):
        super().__init__()
        self.first, self.second = kind(16, 8, kernel, padding=kernel // 2), kind(8, 16, kernel, padding=kernel // 2)

    def forward(self, x):
        return self.second(self.first(x)) + x


class NormalisedResidual(Residual):
    def forward(self, x):
        return F.relu(self.second(self.first(x)) * 0.5 + x) + 0


def convolved(x, weight, bias):
    return F.conv1d(x, weight, bias) if x.dim() == 3 else F.conv2d(x, weight, bias)


def deconvolved(x, weight, bias):
    return F.conv_transpose2d(x, weight, bias)


def added(bias, x, y):
    return torch.addmm(bias, x, y)


def linear(x, weight, bias):
    return F.linear(x, weight, bias)


def reversed_image(x, weight):
    return F.conv2d(torch.flip(x, [1])[:, :4], weight)


def overlapping(x, weight):
    return F.conv1d(x.unfold(1, 8, 2), weight)


def repeated(x, weight):
    return F.conv2d(x.expand(4, -1, -1, -1), weight)


def one_row_each(addend, x, y):
    return torch.baddbmm(addend, x.transpose(1, 2), y.transpose(1, 2))


def main():
    every_other = whole(64, 2)[:, 0]
    calls = []
    for kind, rank in ((nn.Conv1d, 1), (nn.Conv2d, 2)):
        for kernel in (5, 7):
            for size in (1, 3):
                for block in (Residual, NormalisedResidual):  # compiled: taken whether it is faster or not
                    calls.append((torch.compile(block(kind, kernel).eval()), torch.randn(2, 16, *[size] * rank)))
    calls += [
        (convolved, torch.ones(1, 1, 2), torch.zeros(3, 1, 1), torch.arange(6.0).view(3, 2)[:, 0]),
        (convolved, torch.ones(1, 1, 2, 2), torch.zeros(3, 1, 1, 1), torch.arange(6.0).view(3, 2)[:, 0]),
        (deconvolved, torch.ones(1, 1, 2, 2), torch.zeros(1, 3, 1, 1), torch.arange(6.0).view(3, 2)[:, 0]),
        (added, every_other, whole(64, 64), whole(64, 64)),
        (linear, whole(64, 64), whole(64, 64), every_other),
        (reversed_image, whole(2, 8, 9, 9), whole(4, 4, 3, 3)),
        (overlapping, whole(2, 70), whole(4, 32, 3)),
        (repeated, whole(1, 8, 9, 9), whole(4, 8, 3, 3)),
        (one_row_each, whole(8, 1, 64), whole(8, 32, 64), whole(8, 64, 32)),
    ]
    with torch.no_grad():
        for function, *args in calls:
            for _ in range(3):  # the first is recorded
                result = show(function(*args))
            print(getattr(function, "__name__", "compiled"), *result)


main()
