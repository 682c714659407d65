"""Matrix products of every dtype that torch multiplies, small enough for loops of their own and larger."""
import torch
import torch.nn.functional as F

import roots

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def times(a, b):
    return a @ b


def by_vector(a, v):
    return torch.mv(a, v) + torch.dot(v, v)


def scaled(c, a, b):
    return torch.addmm(c, a, b, beta=2, alpha=3) - torch.addmm(c, a, b, beta=0)


def batched(c, a, b):
    return torch.baddbmm(c, a, b, beta=-1, alpha=2)


def layers(x, w, v):
    for _ in range(2):
        x = x + F.gelu(F.linear(F.layer_norm(x, x.shape[-1:]), w, v))
    return x.softmax(-1) @ w


def inner_rows(a, b):
    return torch.inner(a, b) + torch.outer(a[:, :1].sum(1), b[:, :1].sum(1))


for dtype in (*FLOATS, torch.int64, torch.int8):
    for rows, inner, columns in ((3, 5, 7), (1, 33, 40), (40, 33, 20), (0, 4, 3), (4, 0, 3), (1, 1, 1)):
        if not dtype.is_floating_point and rows * inner * columns > 4096:
            continue  # those torch computes
        a, b = roots.steps(rows, inner, dtype=dtype), roots.steps(inner, columns, dtype=dtype)
        roots.call(times, a, b)
        roots.call(times, b.t(), a.t())
        roots.call(by_vector, a, b[:, 0].contiguous())
        for addend in (roots.steps(rows, columns, dtype=dtype), roots.steps(columns, dtype=dtype)):
            roots.call(scaled, addend, a, b)
        roots.call(batched, roots.steps(2, rows, columns, dtype=dtype), a.expand(2, rows, inner), b.expand(2, inner, columns))
        roots.call(inner_rows, a, roots.steps(columns, inner, dtype=dtype))
for dtype in FLOATS:
    for width, rows in ((8, 2), (12, 1), (48, 6)):
        roots.call(layers, roots.steps(rows, width, dtype=dtype), roots.steps(width, width, dtype=dtype) / width,
                   roots.steps(width, dtype=dtype))
x = roots.with_special(roots.steps(4, 6))
roots.call(times, x, roots.steps(6, 5))
roots.call(times, roots.steps(5, 4), x)
print(roots.COUNT)
