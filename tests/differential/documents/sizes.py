"""Sizes that change from call to call, and numbers of Python that say how large things are: graphs with symbols through every stage."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_grad_enabled(False)


def case_parts(x, n):
    return x[:n] * 2, x[n:].sum(0), x[-n:, 1:].exp(), x[::2] + x[0], x[: x.shape[0] - n : 3] * 3


def case_made(x, n):
    return torch.zeros(n, 2) + x[0, 0], torch.arange(n) * 2, torch.ones(n).cumsum(0), x.repeat(n, 1), x.new_ones(n, n).tril()


def case_assigned(x, n):
    y = x.clone()
    y[:n] = 1
    y[n:] += 2
    return y, F.pad(x, (0, n)), x.narrow(0, n, x.shape[0] - n) - 1, x.where(x > 0.5, y), x.repeat_interleave(2, 0) + 1


def case_halves(x):
    n = x.shape[0]
    return x[: n // 2] + x[n - n // 2 :], torch.cat([x[n // 2 :], x[: n // 2]]), x.roll(1, 0), x.flip(0), x.cumsum(0), x.cumprod(-1)


def case_windows(x):
    return F.max_pool1d(x.t()[None], 2), F.avg_pool1d(x.t()[None], 3, 2, 1), torch.stack([x, x + 1], 1), x.softmax(0)


def case_attended(q, cache, x):
    keys = torch.cat([cache, x], 2)
    return F.scaled_dot_product_attention(q, keys, keys), keys


def case_embedded(ids, table):
    e = F.embedding(ids, table)
    return e[:, -1].relu(), e[:, : e.shape[1] - 1].mean(1)


table, cache = torch.rand(20, 6), torch.rand(2, 3, 5, 4)
for n, m, k in ((6, 5, 3), (7, 5, 4), (9, 5, 2), (17, 5, 8), (12, 8, 7)):
    x = torch.rand(n, m) - 0.3
    for f in (case_parts, case_made, case_assigned):
        f(x, k)
    case_halves(x)
    case_windows(x)
    case_embedded(torch.randint(20, (2, n)), table)
    cache = case_attended(torch.rand(2, 3, 1, 4), cache, torch.rand(2, 3, 1, 4))[1]
# The first sizes, those that follow, and, where it matters, those of another width; what a step of 3 leaves of a slice is 1 once.
print(19)
