"""torch.einsum by string, by lists and with more than two operands, as models use it; and sums of products."""
import torch

import roots

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def attention(q, k, v):
    scores = torch.einsum("bihd,bjhd->bhij", q, k).softmax(-1)
    return torch.einsum("bhij,bjhd->bihd", scores, v)


def by_lists(x, y):
    return torch.einsum(x, [0, 1, 2], y, [2, 3], [0, 3, 1]), torch.einsum(x, [..., 1], y, [1, 0])


def bilinear(x, a, y):
    return torch.einsum("bn,anm,bm->ba", x, a, y)


def relative(x, w):
    return torch.einsum("...ij,jk->...ik", x, w) + torch.einsum("bij->b", x)[:, None, None]


def diagonals(x):
    return torch.einsum("bii->bi", x), torch.einsum("bii->b", x), torch.einsum("bij->bji", x)


def written(x):
    y = x * 2
    torch.einsum("bii->bi", y).zero_()
    return y + x


def scaled(v, m, c, a, b):
    u = torch.addmv(v, m, c, beta=2, alpha=-1)
    return torch.addr(torch.addbmm(m, a, b, beta=0.5), u, c, alpha=2)


for dtype in FLOATS:
    q = roots.steps(2, 5, 3, 4, dtype=dtype)
    roots.call(attention, q, roots.steps(2, 6, 3, 4, dtype=dtype, low=-1), roots.steps(2, 6, 3, 4, dtype=dtype, high=1))
    roots.call(by_lists, roots.steps(2, 3, 4, dtype=dtype), roots.steps(4, 5, dtype=dtype))
    roots.call(bilinear, roots.steps(2, 5, dtype=dtype), roots.steps(3, 5, 4, dtype=dtype), roots.steps(2, 4, dtype=dtype))
    for x in (roots.steps(2, 4, 4, dtype=dtype), roots.steps(4, 4, 2, dtype=dtype).permute(2, 1, 0), roots.steps(0, 4, 4, dtype=dtype)):
        roots.call(relative, x, roots.steps(4, 4, dtype=dtype))
        roots.call(diagonals, x)
        roots.call(written, x)
    if dtype == torch.bfloat16:
        continue  # a chain of results that torch rounds in between
    roots.call(scaled, roots.steps(3, dtype=dtype), roots.steps(3, 4, dtype=dtype), roots.steps(4, dtype=dtype),
               roots.steps(2, 3, 5, dtype=dtype), roots.steps(2, 5, 4, dtype=dtype))
print(roots.COUNT)
