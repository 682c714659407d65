"""Threads call the same compiled functions. Wherever a tensor is dropped, torch lets another thread run."""
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

sys.setswitchinterval(1e-5)


class Box:
    def __init__(self):
        self.kept = None
        self.items = {}


def leaves_many(x, box):
    parts = [x * i for i in range(4)]
    box.kept = parts[0] + parts[1]
    box.items["sum"] = torch.stack(parts).sum(0)
    return tuple(parts), {"mean": x.mean(), "shape": x.shape}


def replaces_locals(x):
    y = x + 1
    z = y * 2
    y = z - x
    z = y.relu()
    return z.sum(), (x, y)


def counts(x, n):
    total = x.new_zeros(x.shape[0])
    for i in range(n):
        total = total + x[:, i % x.shape[1]]
    return total


def branches(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def work(seed):
    box = Box()
    found = []
    with torch.no_grad():
        for turn in range(40):
            x = torch.full((2 + turn % 3, 4), float(seed - 3 + turn % 5))
            parts, facts = leaves_many(x, box)
            total, (same, other) = replaces_locals(x)
            found += [sum(float(part.sum()) for part in parts), float(facts["mean"]), tuple(facts["shape"]), float(total),
                      same is x, float(other.sum()), float(box.kept.sum()), float(box.items["sum"].sum()),
                      float(counts(x, 3).sum()), float(branches(x).sum())]
    return found


alone = [work(seed) for seed in range(8)]
with ThreadPoolExecutor(6) as pool:
    for turn in range(12):
        print(list(pool.map(work, range(8))) == alone)
print([round(sum(value for value in found if isinstance(value, float)), 3) for found in alone])
