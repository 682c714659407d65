"""Pools of one to three dims: what F.…_pool… calls, with NaN and infinities among the elements."""
import torch
import torch.nn.functional as F

import roots

EDGES = {1: (9,), 2: (7, 9), 3: (5, 4, 7)}
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def plain(pool, x):
    return pool(x, 2)


def padded(pool, x):
    return pool(x, 3, 2, 1, ceil_mode=True)


def dilated(pool, x):
    return pool(x, 2, 1, 1, dilation=2)


def placed(pool, x):
    return pool(x, 3, 2, 1, return_indices=True)


def long_and_placed(pool, x):
    return pool(x, 4, 1, 2, return_indices=True)


def exclusive(pool, x):
    return pool(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)


def divided(pool, x):
    return pool(x, 3, 2, 1, divisor_override=5)


def adapted(pool, x):
    return pool(x, 1), pool(x, 3), pool(x, 5)


def adapted_and_placed(pool, x):
    return pool(x, 3, return_indices=True)


def inside_a_network(pool, convolve, x, w):
    return convolve(pool(convolve(x, w, padding=1).sigmoid(), 3, 2, 1), w, padding=1)


def of(name, rank):
    return getattr(F, f"{name}_pool{rank}d")


for rank, edge in EDGES.items():
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64):
        x = roots.noise(2, 3, *edge, dtype=dtype) if dtype.is_floating_point else torch.randint(-9, 9, (2, 3, *edge))
        inputs = [x]
        if dtype == torch.float32:
            inputs = [roots.with_special(x), x[0], x[:0], torch.full_like(x, float("nan")), torch.full_like(x, -float("inf"))]
            inputs += [x.to(memory_format=LAST[rank])] if rank > 1 else [x.transpose(0, 1).contiguous().transpose(0, 1)]
        for given in inputs:
            if dtype.is_floating_point:
                for function in (plain, padded, dilated):
                    roots.call(function, of("max", rank), given)
                for function in (adapted, adapted_and_placed):
                    roots.call(function, of("adaptive_max", rank), given)
                roots.call(adapted, of("adaptive_avg", rank), given)
            for function in (placed, long_and_placed):
                roots.call(function, of("max", rank), given)
            if rank == 3 and dtype == torch.float16:
                continue  # torch has no kernel
            for function in (plain, padded, exclusive):
                roots.call(function, of("avg", rank), given)
            if rank > 1:
                roots.call(divided, of("avg", rank), given)
    x, w = roots.noise(2, 4, *edge), roots.noise(4, 4, *[3] * rank)
    for name in ("max", "avg"):
        roots.call(inside_a_network, of(name, rank), getattr(F, f"conv{rank}d"), x, w)
print(roots.COUNT)
