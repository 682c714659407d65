"""Sizes that Python computes in ways that no expression of sizes has (quotients that are rounded, bits, roots), windows and
places that sizes decide, and numbers of 0 and 1 among numbers that change. One entry serves many sizes, and each must be
right, as where a number is no size (negative, too large) an error must be torch's."""
import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)


def show(name, *values):
    print(name, *(round(v.double().sum().item(), 3) + 0.0 if isinstance(v, torch.Tensor) else v for v in values),
          *((tuple(v.shape), v.stride()) for v in values if isinstance(v, torch.Tensor)))


def rounded(x):
    n = x.shape[1]
    return x[:, :round(n * 0.5)], x[:, int(n / 3):], x[:, :math.ceil(n / 3)], x[:, math.floor(n / 2.5):], x[:, :math.trunc(n * 0.7)]


def rooted(x):
    n = x.shape[1]
    side = math.isqrt(n)
    return x[:, :side * side].view(4, side, side).sum(1), x[:, : int(math.sqrt(n))], x * math.log2(n), x * math.log10(n)


def bits(x):
    n = x.shape[1]
    return x[:, : n & ~3], x[:, : n >> 1], x.repeat(1, 1 << (n & 3))[:, : n | 1], x * (n ^ 5), x[:, ~(n >> 2) :]


def pooled(x):
    images = x.view(1, 4, 1, -1)
    return (F.max_pool1d(x, x.size(1)), F.avg_pool1d(x, x.size(-1)), F.avg_pool2d(images, images.shape[2:]), F.max_pool2d(images, (1, x.shape[1])),
            F.adaptive_avg_pool1d(x, x.size(1) // 2), F.adaptive_max_pool1d(x, x.size(1) - 2))


def pooled_by_halves(x):
    return F.max_pool1d(x, x.size(1) // 2)


def shifted(x):
    n = x.shape[1]
    return x.roll(n // 2, 1), torch.roll(x, (1, -(n - 3)), (0, 1)), x.unfold(1, n - 2, 1), x.unfold(1, 2, n // 2), x.diagonal(n - 3)


def behind_others(x):
    """Of what lies behind the first two: that there is one is what makes the largest one's place a place."""
    z = x[:, 2:]
    images = F.conv1d(x.unsqueeze(1), torch.ones(3, 1, 3))
    return (F.max_pool1d(z, z.size(1)), z.gather(1, z.argmax(1, keepdim=True)), torch.zeros_like(z).scatter_add(1, z.argmin(1, keepdim=True), z[:, :1]),
            F.max_pool1d(images, images.size(2)))


def in_windows(x):
    """Windows of an image that is padded to whole ones and rolled by half of one, and counted as it is in public code."""
    rows = x.shape[1]
    image = F.pad(x.t().reshape(1, rows, 4, 1).expand(-1, -1, -1, 4), (0, 0, 0, 0, 0, (4 - rows % 4) % 4))
    height = image.shape[1]
    windows = torch.roll(image, (-2, -2), (1, 2)).view(1, height // 4, 4, 1, 4, 4).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, 4)
    batch = int(windows.shape[0] / (height * 4 / 4 / 4))
    return windows.softmax(-1), windows.view(batch, height // 4, 1, 4, 4, -1).permute(0, 1, 3, 2, 4, 5).reshape(batch, height, 4, -1)[:, :rows]


def masked(rows, columns):
    """A causal mask of a cache that grows, from numbers alone."""
    return torch.ones(rows, columns).triu(columns - rows + 1), torch.ones(rows, columns).tril(columns - rows)


def pieces(x, n):
    return x[:, n:], x.new_zeros(n, 2), torch.arange(n) + 1, x.roll(n, 1)


FUNCTIONS = (rounded, rooted, bits, pooled, shifted, behind_others, in_windows)
for f in FUNCTIONS:  # each has code of its own, and so entries of its own
    exec(f"def total_{f.__name__}(x): return sum(part.square().sum() for part in {f.__name__}(x))")
for n in (12, 14, 15, 17, 20, 25, 28, 31, 34, 40):
    show("pooled by halves", pooled_by_halves(torch.randn(4, n)))  # its gradient takes seconds to compile
    for f in FUNCTIONS:
        x = torch.randn(4, n)
        show(f.__name__, *f(x))
        x.requires_grad_()
        globals()[f"total_{f.__name__}"](x).backward()
        show("gradient", x.grad)
for rows, columns in ((4, 6), (5, 7), (3, 9), (1, 8), (1, 9), (1, 10), (1, 11), (1, 12), (1, 13), (2, 14), (2, 15), (1, 16), (1, 17)):
    show("masked", *masked(rows, columns))
x = torch.randn(4, 12)
for n in (3, 4, 5, 0, 1, 6, 7, 1, 0, 12, 11, 2, -1, 9):
    try:
        show("pieces", *pieces(x, n))
    except RuntimeError as error:
        print(error)
