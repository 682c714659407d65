"""F.interpolate, F.pad and the shuffles in their modes."""
import torch
import torch.nn.functional as F

import roots

EDGES = {1: (5,), 2: (5, 6), 3: (3, 4, 5)}
MODES = {1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def doubled(x, mode):
    return F.interpolate(x, scale_factor=2, mode=mode)


def stretched(x, mode):
    return F.interpolate(x, scale_factor=1.5, mode=mode)


def sized(x, mode):
    return F.interpolate(x, size=[s + 3 for s in x.shape[2:]], mode=mode)


def shrunk(x, mode):
    return F.interpolate(x, size=2, mode=mode)


def aligned(x, mode):
    return F.interpolate(x, size=[s + 3 for s in x.shape[2:]], mode=mode, align_corners=True)


def padded(x, mode):
    return F.pad(x, [1, 2] * (x.dim() - 2), mode=mode)


def padded_and_convolved(x, w, mode):
    return F.conv2d(F.pad(F.conv2d(x, w).relu(), [1, 2, 2, 1], mode=mode), w)


def shuffled(x):
    return F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2)


def of_a_network(x, w, mode):
    return F.conv2d(F.interpolate(F.conv2d(x, w).relu(), scale_factor=2, mode=mode), w)


for rank, edge in EDGES.items():
    for dtype in (torch.float32, torch.float64, torch.float16):
        x = roots.noise(2, 3, *edge, dtype=dtype)
        inputs = [x] if dtype != torch.float32 else [x, roots.with_special(x), x[:0]]
        if rank > 1 and dtype == torch.float32:
            inputs.append(x.to(memory_format=LAST[rank]))
        for given in inputs:
            for mode in ("nearest", "nearest-exact", *MODES[rank]):
                for function in (doubled, stretched, sized, shrunk) + (() if mode.startswith("nearest") else (aligned,)):
                    roots.call(function, given, mode)
            for mode in ("reflect", "replicate", "circular"):
                roots.call(padded, given, mode)
x, w = roots.noise(2, 4, 8, 8), roots.noise(4, 4, 3, 3)
for mode in ("nearest", "bilinear"):
    roots.call(of_a_network, x, w, mode)
for mode in ("reflect", "replicate", "circular"):
    roots.call(padded_and_convolved, x, w, mode)
for given in (roots.noise(2, 8, 4, 6), roots.noise(2, 8, 4, 6).to(memory_format=torch.channels_last)):
    roots.call(shuffled, given)
print(roots.COUNT)
