"""F.interpolate, F.pad, F.grid_sample, F.unfold and what else moves the elements of images; norms of each image."""
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


def applied(layer, x):
    return layer(x)


def cropped_and_wrapped(x, amounts):
    return F.pad(x, amounts, mode="circular")


def unfolded_and_folded(x, window, dilation, padding, stride):
    columns = F.unfold(x, window, dilation, padding, stride)
    return columns, F.fold(columns * 2, x.shape[2:], window, dilation, padding, stride)


def sampled(x, grid, mode, padding_mode, align_corners):
    return F.grid_sample(x, grid, mode, padding_mode, align_corners)


def transformed(x, theta, align_corners):
    return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners), align_corners=align_corners)


def pooled_and_back(pool, unpool, x, window):
    largest, places = pool(x, 2, return_indices=True)
    return unpool(largest * 2, places, window)


for rank, edge in {1: (6,), 2: (4, 6), 3: (4, 4, 6)}.items():
    x = roots.steps(2, 3, *edge)
    own = getattr(torch.nn, f"ReflectionPad{rank}d"), getattr(torch.nn, f"ReplicationPad{rank}d")
    for given in [x, x[0]] + ([x.to(memory_format=LAST[rank])] if rank > 1 else []):
        for layer in own:
            roots.call(applied, layer([1, 2] * rank), given)
        roots.call(pooled_and_back, getattr(F, f"max_pool{rank}d"), getattr(F, f"max_unpool{rank}d"), given, (2,) * rank)
    roots.call(cropped_and_wrapped, x, [-1, 2] * rank)
    norm = getattr(torch.nn, f"InstanceNorm{rank}d")
    for layer in (norm(3), norm(3, affine=True, track_running_stats=True), norm(3, track_running_stats=True).eval()):
        roots.call(applied, layer, x)
for dtype in (torch.float32, torch.float64, torch.float16):
    x = roots.steps(2, 3, 6, 7, dtype=dtype)
    for given in (x, roots.with_special(x), x.to(memory_format=torch.channels_last)):
        roots.call(unfolded_and_folded, given, 3, 1, 1, 1)
        roots.call(unfolded_and_folded, given, (5, 4), (1, 1), (2, 2), (2, 3))
        roots.call(unfolded_and_folded, given, (2, 2), (2, 2), (2, 1), (2, 1))
    if dtype == torch.float16:
        continue
    for rank, edge in {2: (4, 6), 3: (4, 3, 5)}.items():
        x, grid = roots.steps(2, 3, *edge, dtype=dtype), roots.steps(2, *[3] * rank, rank, dtype=dtype, low=-1.6, high=1.6)
        for mode in ("bilinear", "nearest"):
            for padding_mode in ("zeros", "border", "reflection"):
                roots.call(sampled, x, grid, mode, padding_mode, mode == "nearest")
        for align_corners in (False, True):
            roots.call(transformed, roots.with_special(x), roots.steps(2, rank, rank + 1, dtype=dtype), align_corners)
print(roots.COUNT)
