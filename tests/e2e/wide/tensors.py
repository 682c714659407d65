"""Idioms on tensors: masks, iteration, NumPy, lists of tensors, regions, transforms."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from wide.programs import program


@program
def numpy_mixed():
    w = np.float64(0.5)
    ar = np.array([1.0, 2.0, 3.0])
    n = np.int64(2)
    dt = np.linspace(0, 1, 4)

    def f(x):
        y = x * w + float(ar[1])
        z = y.reshape(n, -1)
        k = int(np.prod(z.shape))
        s = np.sqrt(k)
        t = torch.tensor(ar, dtype=torch.float32)
        b = torch.from_numpy(dt).float()
        return z / s + k, t * 2, x[:, : int(n)] * np.pi, b + 1, np.mean(ar) * x

    return f, (torch.randn(4, 4),)


@program
def iterated_tensors():
    def f(x, y):
        a, b, c = x
        s = [r.sum() for r in x]
        z = torch.stack([r * i for i, r in enumerate(y)])
        for p, q in zip(x, y):
            s.append((p * q).sum())
        *rest, last = x.unbind(0)
        return (
            a + b - c,
            torch.stack(s),
            z,
            last,
            torch.cat(list(x)),
            torch.stack([*y]),
            sum(x),
            tuple(map(torch.sum, x)),
        )

    return f, (torch.randn(3, 4), torch.randn(3, 4))


@program
def boolean_masks():
    def f(x, m):
        y = x.clone()
        y[m] = 0
        y[x > 1] = -1.0
        z = x.masked_fill(~m, float("-inf"))
        y[m & (x < 0)] += 2
        w = torch.where(m, x, y)
        w[:, 0][m[:, 0]] = 7
        q = x.clone()
        q[m] = x[m] * 2
        return y, z.softmax(-1), w, x[m].sum(), m.nonzero().shape, q, m.any()

    return f, (torch.randn(4, 4), torch.rand(4, 4) > 0.4)


@program
def data_and_variable():
    from torch.autograd import Variable

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x):
            h = Variable(torch.zeros(x.size(0), 4))
            w = self.l.weight.data
            v = Variable(x.data.new(x.size(0), 4).zero_())
            return F.linear(x + h + v, w) + self.l.bias.data, x.detach().data * 2, x.data.type(torch.FloatTensor)

    return M(), (torch.randn(2, 4),)


@program
def foreach_ops():
    def f(ps, gs):
        e = [torch.zeros_like(p) for p in ps]
        torch._foreach_mul_(e, 0.9)
        torch._foreach_add_(e, gs, alpha=0.1)
        d = torch._foreach_sqrt(torch._foreach_add(torch._foreach_mul(gs, gs), 1e-8))
        u = torch._foreach_div(e, d)
        torch._foreach_addcmul_(e, gs, gs, 0.5)
        n = torch._foreach_norm(gs)
        return u, e, torch.stack(n), torch._foreach_maximum(ps, gs)

    return f, ([torch.randn(3), torch.randn(2, 2)], [torch.randn(3), torch.randn(2, 2)])


@program
def autocast_inference():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)
            self.n = nn.LayerNorm(8)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.a(x).relu()
                z = self.n(y)
            with torch.amp.autocast(device_type="cpu", enabled=False):
                w = self.a(x.float())
            return y, z, w + y.float(), torch.is_autocast_enabled("cpu")

    return M(), (torch.randn(2, 8),)


@program
def autocast_around():
    m = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 4))

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return m(x).softmax(-1)

    return f, (torch.randn(2, 8),)


@program
def vmap_inference():
    w = torch.randn(4, 3)

    def one(x, y):
        return torch.tanh(w.T @ x) * y.sum()

    def f(x, y):
        return (
            torch.vmap(one)(x, y),
            torch.func.vmap(torch.dot)(x, x),
            torch.vmap(lambda a: a / a.norm(), in_dims=1, out_dims=1)(x),
        )

    return f, (torch.randn(5, 4), torch.randn(5, 2))


@program
def func_grad_inference():
    def f(x):
        return (
            torch.func.grad(lambda t: (t.sin() ** 2).sum())(x),
            torch.func.jacrev(torch.sin)(x),
            torch.func.jvp(torch.cos, (x,), (x,)),
        )

    return f, (torch.randn(4),)


@program
def view_dtypes():
    def f(x, u):
        return (
            x.view(torch.int32) >> 3,
            u.view(torch.int16),
            (x.view(torch.int32) & 0x7FFFFFFF).view(torch.float32),
            x.to(torch.bfloat16).view(torch.int16),
            x.half().view(torch.uint8),
        )

    return f, (torch.randn(2, 4), torch.randint(0, 255, (2, 8), dtype=torch.uint8))


@program
def batchnorm_none():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4, momentum=None),
        nn.Upsample(scale_factor=2, mode="bicubic"),
        nn.InstanceNorm2d(4),
        nn.PixelShuffle(2),
    ), (torch.randn(2, 3, 8, 8),)


@program
def nms_like():
    def f(boxes, scores):
        keep = []
        idx = scores.argsort(descending=True)
        while idx.numel() > 0:
            i = idx[0].item()
            keep.append(i)
            if idx.numel() == 1:
                break
            r = idx[1:]
            lt = torch.max(boxes[i, :2], boxes[r, :2])
            rb = torch.min(boxes[i, 2:], boxes[r, 2:])
            wh = (rb - lt).clamp(min=0)
            iou = wh.prod(1)
            idx = r[iou <= 0.2]
        return torch.tensor(keep)

    b = torch.rand(6, 4)
    b[:, 2:] += b[:, :2]
    return f, (b, torch.rand(6))
