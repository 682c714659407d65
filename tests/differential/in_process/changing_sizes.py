"""Tensors whose sizes change from call to call: a size that changed becomes a symbol, and one entry serves them all.
What Python does with such a size must be right for each: a branch, arithmetic, text, a key, a loop."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_grad_enabled(False)


def show(name, *values):
    print(name, *(round(v.double().sum().item(), 3) + 0.0 if isinstance(v, torch.Tensor) else v for v in values),
          *(tuple(v.shape) for v in values if isinstance(v, torch.Tensor)))


def pointwise(x):
    return torch.relu(x * 2 + 1) - x.sigmoid()


def score(x):
    if x.size(1) == 10:
        x = x + 1
    return (x @ x.t()) / math.sqrt(x.shape[-1])


def reductions(x):
    return x.sum(0), x.mean(), x.amax(1), (x - x.mean(-1, keepdim=True)).pow(2).sum(-1)


def normed(x):
    return F.layer_norm(x, (x.shape[-1],)) if x.shape[-1] == 8 else F.softmax(x, -1)


def views(x):
    b, s, h = x.shape
    y = x.view(b, s, 2, h // 2).transpose(1, 2).reshape(b * 2, s, -1)
    return y, x.permute(2, 0, 1).contiguous().view(h, -1), x.flatten(0, 1), x.unsqueeze(1).expand(-1, 3, -1, -1)


def slices(x):
    n = x.shape[0]
    return x[1:], x[: n - 1], x[-1], x[:, 1::2], x[n // 2], x[: n // 2] * n


def numbers(x):
    n, m = x.shape[0], x.shape[1]
    return x * n + m / 2, x / (n * m), x + max(n, m), x - min(n, 5), x * float(n), x.numel(), len(x)


def made(x):
    n = x.shape[0]
    return torch.zeros(n, 3) + n, x.new_ones((n, n)), torch.arange(n) * 2, torch.arange(1, n + 1), torch.full((n,), 2.5), torch.ones(x.shape), torch.zeros_like(x)


def masked(x):
    n = x.shape[-1]
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    return F.softmax((x.t() @ x).masked_fill(~mask, float("-inf")), -1)


def joined(x, y):
    return torch.cat([x, y], 0), torch.stack([x, x * 2], 1), torch.cat([x, x, y], 0)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[-2] == k.shape[-2])


def embedded(ids, table):
    x = F.embedding(ids, table)
    return x.mean(1), x[:, -1], x.argmax(-1)


def python_uses(x, names={4: "four", 5: "five"}):
    n = x.shape[0]
    text = f"{n} rows" + names.get(n, "?")
    for i in range(n):
        x = x + i
    return x, text, [n, n + 1], {"n": n, n: "n"}, x.shape, hash(n)


def branches(x):
    n = x.shape[0]
    if n > 6 and n % 2 == 0:
        return x * 2
    if x.shape[0] + x.shape[1] < 12:
        return x + 100
    return x - 1 if n != x.shape[1] else x * 0


def pieces(x):
    a, b = x.chunk(2, -1)
    c, d = x.split([3, x.shape[-1] - 3], -1)
    return a * b if a.shape == b.shape else a, c.sum() + d.sum()


def broken(x):
    y = x * x.shape[0]
    size = y.shape
    print("  in the middle", tuple(size))
    return y.view(size[1], size[0]) + x.numel()


def written(x, y):
    x += y
    x[1:] = x[:-1] * 2
    x[0] = x.shape[0]
    return x


def picked(x, index):
    return x[index], x.index_select(0, index), x.gather(0, index.unsqueeze(1).expand(-1, x.shape[1])), torch.where(x > 0, x, x.shape[1])


def ranked(x):
    values, places = x.topk(2, dim=-1)
    return values, places, x.sort(-1)[0], x.cumsum(0), torch.argmax(x, -1)


def square(x, y):
    return x @ y + x.shape[0]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        return self.out(self.norm(F.gelu(self.inner(x))))


class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return F.adaptive_avg_pool2d(x, 1).flatten(1)


net, image = Net().eval(), Image().eval()
table = torch.rand(20, 8)
for n, m in ((4, 8), (5, 8), (7, 8), (6, 10), (9, 12), (2, 2), (1, 8), (8, 8), (12, 12), (30, 10), (4, 8), (11, 6)):
    x = torch.rand(n, m) - 0.4
    for f in (pointwise, score, reductions, normed, slices, numbers, made, masked, python_uses, branches, ranked, broken):
        result = f(x)
        show(f.__name__, *(result if isinstance(result, tuple) else (result,)))
    if m > 3:
        show("pieces", *pieces(x))
    show("written", written(x.clone(), torch.rand(n, m)), written(torch.rand(n, m), torch.rand(1, m)))
    show("picked", *picked(x, torch.randint(n, (n,))), *picked(x, torch.randint(n, (n + 2,))))
    show("joined", *joined(x, torch.rand(3, m)), *joined(x, torch.rand(n, m)))
    show("square", square(x, x.t()), square(x.t(), x))
    show("views", *views(torch.rand(n, m, 8)))
    show("net", net(torch.rand(n, 8)), net(torch.rand(n, m, 8)))
    show("embedded", *embedded(torch.randint(20, (n, m)), table))
    q, k = torch.rand(2, 2, n, 8), torch.rand(2, 2, m, 8)
    show("attention", *attention(q, k, torch.rand(2, 2, m, 8)), *attention(q, q, q))
    show("transposed", pointwise(x.t()), pointwise(x.t()[1:]), pointwise(torch.rand(n, m + 3)[:, 1:-1]))
    show("image", image(torch.rand(n, 3, 8, 8)), image(torch.rand(2, 3, 2 * n, 2 * m)))
torch.set_grad_enabled(True)
