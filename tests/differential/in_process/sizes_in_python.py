"""Numbers of Python that say how large things are, and parts of tensors whose sizes change: cumulative ops, windows,
slices with bounds of every kind, pieces, joins. One entry serves many sizes, and each must be right."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_grad_enabled(False)


def show(name, *values):
    print(name, *(round(v.double().sum().item(), 3) + 0.0 if isinstance(v, torch.Tensor) else v for v in values),
          *((tuple(v.shape), v.stride()) for v in values if isinstance(v, torch.Tensor)))


def first(x, n):
    return x[:n] * 2, x[n:].sum(), x[:, :n].sum(0)


def last(x, n):
    return x[-n:] + 1, x[:-n].sum()


def between(x, a, b):
    return x[a:b] * 2, x[a:b, 1:].cumsum(0)


def stepped(x, n):
    return x[::2] + 1, x[n::3] * 2, x[:n:2].sum(0)


def made(x, n):
    return torch.zeros(n, 2) + x[0, 0], torch.arange(n) * 2, torch.arange(2, n + 2), torch.ones(n).cumsum(0), torch.full((n, n), 1.5).tril(), x.new_zeros(n)


def shaped(x, n):
    return x.repeat(n, 1), x.unsqueeze(0).expand(n, -1, -1).sum(0), x.flatten()[:n].view(n, 1), x[0].repeat_interleave(n)


def narrowed(x, start, length):
    return x.narrow(0, start, length) * 3, x.select(0, start), x[start]


def padded(x, n):
    return F.pad(x, (0, n)), F.pad(x, (n, 1), value=2.0)


def summed(x):
    return x.cumsum(0), x.cumsum(1), x.cumprod(-1), torch.logcumsumexp(x, 0), x.cummax(0)[0]


def joined(x, y):
    return torch.cat([x, y]), torch.stack([x, x + 1]), torch.stack([x, x], -1), torch.cat([x[1:], y[:1], x])


def windows(x):
    return F.max_pool1d(x.t()[None], 2), F.avg_pool1d(x.t()[None], 3, 2, 1), x.unfold(0, 2, 1).sum(-1), F.max_pool2d(x[None, None], 2, ceil_mode=True)


def halves(x):
    n = x.shape[0]
    return x[: n // 2] + x[n - n // 2 :], x[n // 2 :].sum(), torch.cat([x[n // 2 :], x[: n // 2]]), x.roll(1, 0), x.flip(0)


def looked_up(table, ids, n):
    e = F.embedding(ids, table)
    return e[:, -1], e[:, : e.shape[1] - 1].mean(1), table[:n][ids.clamp(max=n - 1)]


def grown(cache, x):
    return torch.cat([cache, x], -2)


def attended(q, cache, x):
    keys = torch.cat([cache, x], 2)
    mask = torch.ones(q.shape[2], keys.shape[2], dtype=torch.bool).tril(keys.shape[2] - q.shape[2])
    return F.scaled_dot_product_attention(q, keys, keys), F.scaled_dot_product_attention(q, keys, keys, attn_mask=mask), keys


def triangle(x):
    n = x.shape[0]
    mask = torch.full((n, n), float("-inf")).triu(1)
    return (x @ x.t() + mask).softmax(-1), torch.ones(n, n).tril(-1).sum(), (torch.arange(n)[:, None] >= torch.arange(n)[None]).sum(0)


def counted(x, n):
    if n > x.shape[0]:
        return x - 1
    for i in range(min(n, 2)):
        x = x + i
    return x * n


def assigned(x, n):
    y = x.clone()
    y[:n] = 1
    y[n:] += 2
    y[:, -1] = n
    return y


class Window:
    """A length in an attribute, which grows."""

    def __init__(self):
        self.seen = 0

    def take(self, x):
        self.seen += x.shape[0]
        return torch.arange(self.seen) * 2, torch.arange(x.shape[0]) + self.seen, x[: self.seen // 2]


window = Window()
table = torch.rand(40, 6)
cache = torch.rand(2, 3, 5, 4)
for n, m, k in ((6, 5, 3), (7, 5, 4), (9, 6, 5), (8, 6, 2), (12, 7, 1), (16, 9, 7), (5, 5, 0), (3, 4, 3), (2, 3, 2), (1, 4, 1),
                (33, 17, 16), (15, 8, 9), (10, 6, 12)):
    x = torch.rand(n, m) - 0.3
    for f in (first, last, stepped, made, counted, assigned):
        show(f.__name__, *(r if isinstance(r := f(x, k), tuple) else (r,)))
    show("shaped", *shaped(x, min(k + 1, n)))
    show("between", *between(x, k // 2, k), *between(x, 1, n - 1))
    if k < n:
        show("narrowed", *narrowed(x, k, n - k), *narrowed(x, k // 2, 1))
    show("padded", *padded(x, k))
    for f in (summed, halves, triangle):
        show(f.__name__, *f(x))
    if n > 1:
        show("windows", *windows(x))
    show("joined", *joined(x, torch.rand(4, m)), *joined(x, torch.rand(n, m)))
    show("looked up", *looked_up(table, torch.randint(40, (2, n)), k + 2))
    cache = grown(cache, torch.rand(2, 3, 1, 4))
    show("grown", cache)
    show("attended", *attended(torch.rand(2, 3, 1, 4), cache, torch.rand(2, 3, 1, 4)), *attended(torch.rand(2, 3, 2, 4), cache, torch.rand(2, 3, 2, 4)))
    show("taken", *window.take(x))
torch.set_grad_enabled(True)
