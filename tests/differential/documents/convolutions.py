"""Convolutions of one to three dims as F.conv… and F.conv_transpose… call them."""
import torch
import torch.nn.functional as F

import roots

FORWARD = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
EDGES = {1: (9,), 2: (7, 6), 3: (4, 5, 6)}
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def strided(convolve, x, w, b):
    return convolve(x, w, b, stride=2, padding=1, groups=2)


def same(convolve, x, w, b):
    return convolve(x, w, b, padding="same", groups=2)


def same_dilated(convolve, x, w, b):
    return convolve(x, w, b, padding="same", dilation=2, groups=2)


def valid(convolve, x, w, b):
    return convolve(x, w, b, padding="valid", stride=2, groups=2)


def transposed(convolve, x, w, b):
    return convolve(x, w, b, stride=2, padding=1, output_padding=1, groups=2)


def transposed_dilated(convolve, x, w, b):
    return convolve(x, w, None, dilation=2, groups=2)


for dtype in (torch.float32, torch.bfloat16):
    for rank, edge in EDGES.items():
        x, b = roots.noise(2, 4, *edge, dtype=dtype), roots.noise(6, dtype=dtype)
        w, turned = roots.noise(6, 2, *[3] * rank, dtype=dtype), roots.noise(4, 3, *[3] * rank, dtype=dtype)
        inputs = [x, x[0], x[:0], x[:1].expand(3, -1, *edge), x.transpose(0, 1).contiguous().transpose(0, 1)]
        if dtype == torch.bfloat16:
            inputs = [x]
        if rank > 1:
            inputs.append(x.to(memory_format=LAST[rank]))
        for given in inputs:
            for function in (strided, same, same_dilated, valid):
                roots.call(function, FORWARD[rank], given, w, b)
            roots.call(same, FORWARD[rank], given, w[..., :2], b)
            for function in (transposed, transposed_dilated):
                roots.call(function, TRANSPOSED[rank], given, turned, b)

# What no library computes: other dtypes, with and without groups; columns of transposed ones overlap, or leave gaps.
def padded(convolve, x, w, b):
    return convolve(x, w, b, padding=1)


def turned_and_strided(convolve, x, w, b):
    return convolve(x, w, b, stride=2, padding=1, output_padding=1)


def turned_and_dilated(convolve, x, w, b):
    return convolve(x, w, b, stride=2, dilation=3, padding=2, output_padding=2)


def depthwise(convolve, x, w, b):
    return convolve(x, w, b, stride=3, groups=4)


# Where the processor computes in float16 (AVX512_FP16), torch hands these convolutions to its library, which rounds before
# the bias is added and leaves padding out where others multiply by it: what it gives is no measure there.
HALF = () if torch.ops.mkldnn._is_mkldnn_fp16_supported() else (torch.float16,)
for dtype in (torch.float64, *HALF, torch.int64, torch.int32, torch.uint8):
    real = dtype.is_floating_point
    for rank, edge in EDGES.items():
        x, b = roots.steps(2, 4, *edge, dtype=dtype), roots.steps(4, dtype=dtype)
        w, own = roots.steps(4, 4, *[3] * rank, dtype=dtype), roots.steps(4, 1, *[2] * rank, dtype=dtype)
        inputs = [x]
        if dtype == torch.float64:
            inputs += [x[0], x[:0], roots.with_special(x), x.transpose(0, 1).contiguous().transpose(0, 1)]
            inputs += [x.to(memory_format=LAST[rank])] if rank > 1 else []
        for given in inputs:
            roots.call(padded, FORWARD[rank], given, w, b)
            roots.call(depthwise, FORWARD[rank], given, own, None)
            if real:
                roots.call(same_dilated, FORWARD[rank], given, w[:, :2], b)
            if real or dtype == torch.int64:
                for function in (padded, turned_and_strided, turned_and_dilated):
                    roots.call(function, TRANSPOSED[rank], given, w, b)
                roots.call(depthwise, TRANSPOSED[rank], given, own, None)
    infinite = torch.full((1, 1, 3, 3), float("inf"), dtype=dtype) if real else own[:1, :, 0]
    for convolve in (F.conv2d, F.conv_transpose2d) if real else (F.conv2d,):
        roots.call(padded, convolve, roots.steps(1, 1, 4, 4, dtype=dtype), infinite, None)
print(roots.COUNT)
