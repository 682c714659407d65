"""Every kind of argument of an op that says how large something is or where it lies, with another number in each call."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(20, 20, dtype=torch.float64)
ROW = torch.randn(40, dtype=torch.float64)
I = torch.arange(40)
COUNTS = list(range(3, 15))
MOVES = [-4, -3, -2, 2, 3, 4, 5, 6, 7, 8]

CALLS = {
    "zeros": (lambda x, n: torch.zeros(n, 3) + torch.ones(3).new_ones(n, 3) + torch.full((n, 3), 2.5) + torch.eye(n, 3), COUNTS),
    "arange": (lambda x, n: torch.arange(n) + torch.arange(n, 2 * n) + torch.arange(0, 2 * n, 2), COUNTS),
    "linspace": (lambda x, n: torch.linspace(0.5, 3, n, dtype=torch.float64), COUNTS),
    "logspace": (lambda x, n: torch.logspace(0.5, 1.5, n, dtype=torch.float64), COUNTS),
    "hann_window": (lambda x, n: torch.hann_window(n, dtype=torch.float64), COUNTS),
    "hamming_window": (lambda x, n: torch.hamming_window(n, periodic=False, dtype=torch.float64), COUNTS),
    "blackman_window": (lambda x, n: torch.blackman_window(n, dtype=torch.float64), COUNTS),
    "bartlett_window": (lambda x, n: torch.bartlett_window(n, dtype=torch.float64), COUNTS),
    "kaiser_window": (lambda x, n: torch.kaiser_window(n, dtype=torch.float64), COUNTS),
    "tril_indices": (lambda x, n: torch.tril_indices(n, n + 1), COUNTS),
    "triu_indices": (lambda x, n: torch.triu_indices(n, n, 1), COUNTS),
    "one_hot": (lambda x, n: F.one_hot(I[:3], n), COUNTS),
    "tril": (lambda x, n: x.tril(n) + x.triu(n), MOVES),
    "diag_embed": (lambda x, n: torch.diag_embed(x[:3, :3], n), MOVES),
    "diag": (lambda x, n: torch.diag(x, n), MOVES),
    "diagonal": (lambda x, n: x.diagonal(n), MOVES),
    "diag, made": (lambda x, n: torch.diag(x[0], n), MOVES),
    "roll": (lambda x, n: x.roll(n, 1) + x.roll((n, 1), (0, 1)), MOVES),
    "topk": (lambda x, n: x.topk(n).values, COUNTS),
    "kthvalue": (lambda x, n: x.kthvalue(n).values, COUNTS),
    "narrow": (lambda x, n: x.narrow(1, n, 3) + x.narrow(0, 2, n).sum(), COUNTS),
    "select": (lambda x, n: x.select(1, n) + x[n], COUNTS),
    "slice": (lambda x, n: x[:, n:].sum(1) + x[:, :n].sum(1) + x[:, n:n + 3].sum(1) + x[:, -n:].sum(1), COUNTS),
    "slice, step": (lambda x, n: x[::n], COUNTS),
    "slice, stored": (lambda x, n: x.detach().clone().index_fill_(0, I[:2], 0).slice_scatter(x[:n], 0, 0, n), COUNTS),
    "repeat": (lambda x, n: x[0].repeat(n, 2).sum(0) + x[:1].expand(n, 20).sum(0).repeat(2), COUNTS),
    "repeat_interleave": (lambda x, n: x[0].repeat_interleave(n), COUNTS),
    "tile": (lambda x, n: x[0].tile(n), COUNTS),
    "view": (lambda x, n: ROW[:n * 2].view(n, 2).sum(0) + ROW[:n * 2].reshape(2, -1).sum(1), COUNTS),
    "pad": (lambda x, n: F.pad(x, (n, 1, 0, n)), COUNTS),
    "unfold": (lambda x, n: x.unfold(1, n, 2).sum(-1), COUNTS),
    "split": (lambda x, n: x.split(n)[0] * 2, COUNTS),
    "split, sizes": (lambda x, n: x.split([n, 20 - n])[1] * 2, COUNTS),
    "index": (lambda x, n: x[I[:n], 2] + x[2, I[:n]], COUNTS),
    "pool": (lambda x, n: F.avg_pool2d(x[None, None], n, 1) + F.max_pool2d(x[None, None], n, 1), COUNTS),
    "adaptive": (lambda x, n: F.adaptive_avg_pool1d(x[None], n), COUNTS),
    "interpolate": (lambda x, n: F.interpolate(x[None], n), COUNTS),
    "random": (lambda x, n: torch.randint(5, (n,)) * 0 + torch.randperm(n) * 0, COUNTS),
    "cumulative": (lambda x, n: x[:n].cumsum(0), COUNTS),
    "bincount": (lambda x, n: torch.bincount(I[:3], minlength=n), COUNTS),
    "transform": (lambda x, n: torch.fft.rfft(x, n).abs(), COUNTS),
    "vander": (lambda x, n: torch.linalg.vander(x[0, :4], N=n), COUNTS),
}


def text(value):
    numbers = value.flatten().tolist()
    total = sum(number * (place % 5 + 1) for place, number in enumerate(numbers))
    return value.dtype, tuple(value.shape), f"{total:.5f}" if value.dtype == torch.float64 else f"{total:.2f}"


def slope(y, x):
    return torch.autograd.grad((y * (y + 1)).sum(), x)[0]


for name, (function, numbers) in CALLS.items():
    for n in numbers:
        with torch.no_grad():
            print(name, *text(function(X, n)))
        x = X.clone().requires_grad_()
        y = function(x, n)
        if y.requires_grad:
            print(name, *text(y), *text(slope(y, x)))
