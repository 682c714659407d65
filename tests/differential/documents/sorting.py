"""Sorting along a dim and the first few in order: values and positions, equal elements and NaN among them."""
import torch

import roots

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def sorted_both_ways(x, dim):
    up, places = torch.sort(x, dim)
    down = x.sort(dim, descending=True)
    return up, places, down.values, down.indices


def sorted_stably(x, dim):
    up, places = torch.sort(x, stable=True, dim=dim)
    return up, places, torch.argsort(x, stable=True, dim=dim), torch.argsort(x, dim, descending=True)


def first_few(x, k, dim):
    most, places = torch.topk(x, k, dim)
    least = x.topk(k, dim, largest=False)
    return most, places, least.values, least.indices


def first_few_in_any_order(x, k, dim):
    return torch.topk(x, k, dim, sorted=False)


def inside(x, k):
    values, places = torch.topk((x * 2).relu(), k)
    return values.softmax(-1) + 1, torch.gather(x, -1, places), x.sort(0)[0].cumsum(0)


def few_different(*sizes, dtype):
    """Many elements are equal: which comes first shows."""
    return torch.randint(0, 9, sizes).to(dtype)


for dtype in FLOATS + INTEGERS + (torch.bool,):
    inputs = [few_different(5, 70, dtype=dtype), few_different(70, 5, dtype=dtype).t(), few_different(3, 4, 33, dtype=dtype)[:, ::2]]
    if dtype.is_floating_point:
        inputs.append(roots.with_special(roots.noise(4, 40, dtype=dtype)))
        zeros = torch.zeros(50, dtype=dtype)
        zeros[::3] = -0.0
        inputs.append(zeros)
    for x in inputs:
        for dim in (0, -1):
            roots.call(sorted_both_ways, x, dim)
            roots.call(sorted_stably, x, dim)
            if dtype != torch.bool:
                for k in {0, 1, min(3, x.shape[dim]), x.shape[dim]}:
                    roots.call(first_few, x, k, dim)
                roots.call(first_few_in_any_order, x, min(3, x.shape[dim]), dim)
wide = few_different(2, 400, dtype=torch.float32)
roots.call(first_few, wide, 5, 1)  # few of many: selected in another way
roots.call(first_few_in_any_order, wide, 300, 1)
roots.call(sorted_both_ways, few_different(70000, dtype=torch.int64), 0)  # by digits
roots.call(sorted_both_ways, torch.tensor(3.0), 0)
roots.call(first_few, torch.tensor(3), 1, 0)
roots.call(sorted_both_ways, torch.empty(0, 3), 0)
roots.call(first_few, torch.empty(0, 3), 2, 1)
roots.call(inside, roots.noise(6, 50), 7)
print(roots.COUNT)
