"""Cases of convolutions: of one to three dims, grouped, depthwise, dilated, strided, transposed, padded by name."""
import torch

from case import FLOATS, Case, tensor


def images():
    for dtype in (torch.float32, torch.float64):
        x, w, b = tensor((2, 4, 7, 6), dtype), tensor((6, 2, 3, 3), dtype), tensor((6,), dtype)
        for source in (x, x.to(memory_format=torch.channels_last)):
            tag = f"{dtype} {source.stride()}"
            yield Case(f"conv2d {tag}", lambda call, x=source, w=w, b=b: call("conv2d.default", x, w, b, [2, 1], [1, 0], [1, 2], 2))
            yield Case(f"convolution {tag}", lambda call, x=source, w=w: call("convolution.default", x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2))
            yield Case(f"max_pool2d {tag}", lambda call, x=source: call("max_pool2d.default", x, [3, 3], [2, 2], [1, 1]))
            yield Case(f"max_pool2d ceil {tag}", lambda call, x=source: call("max_pool2d.default", x, [2, 2], [], [0, 0], [1, 1], True))
            yield Case(f"max_pool2d_with_indices {tag}", lambda call, x=source: call("max_pool2d_with_indices.default", x, [3, 2]))
            yield Case(f"avg_pool2d {tag}", lambda call, x=source: call("avg_pool2d.default", x, [3, 3], [2, 2], [1, 1]))
            yield Case(f"avg_pool2d ceil {tag}", lambda call, x=source: call("avg_pool2d.default", x, [2, 2], [2, 2], [0, 0], True, False))
            yield Case(f"adaptive_avg_pool2d {tag}", lambda call, x=source: call("adaptive_avg_pool2d.default", x, [3, 4]))
        yield Case(f"conv1d {dtype}", lambda call, x=tensor((2, 3, 9), dtype), w=tensor((4, 3, 3), dtype): call("conv1d.default", x, w, None, [2], [1]))
        yield Case(f"transposed {dtype}", lambda call, x=tensor((2, 4, 5, 5), dtype), w=tensor((4, 3, 3, 3), dtype): call("convolution.default", x, w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1))


def convolutions():
    """Of one, two and three dims: grouped, depthwise, dilated, strided, transposed, at the edges of their sizes."""
    edges = {1: (9,), 2: (7, 6), 3: (5, 4, 6)}
    # in, out, groups, kernel, stride, padding, dilation
    kinds = {"plain": (3, 5, 1, 3, 1, 1, 1), "strided": (4, 6, 1, 3, 2, 1, 1), "pointwise": (4, 7, 1, 1, 1, 0, 1),
             "grouped": (4, 6, 2, 3, 1, 1, 1), "depthwise": (6, 6, 6, 3, 1, 1, 1), "multiplier": (3, 6, 3, 3, 2, 1, 1),
             "dilated": (3, 4, 1, 2, 1, 2, 2), "even kernel": (3, 4, 1, 4, 1, 2, 1)}

    def convolve(call, x, w, b, rank, stride, padding, dilation, transposed, more, groups):
        return call("convolution.default", x, w, b, [stride] * rank, [padding] * rank, [dilation] * rank, transposed,
                    [more] * rank, groups)

    for rank, edge in edges.items():
        for kind, (inputs, outputs, groups, kernel, stride, padding, dilation) in kinds.items():
            for dtype in FLOATS if kind == "plain" else (torch.float32, torch.float64):
                x, b = tensor((2, inputs, *edge), dtype), tensor((outputs,), dtype)
                w = tensor((outputs, inputs // groups, *[kernel] * rank), dtype)
                turned = tensor((inputs, outputs // groups, *[kernel] * rank), dtype)
                for bias in (None, b):
                    tag = f"{rank}d {kind} {dtype} {'bias' if bias is not None else ''}"
                    yield Case(f"convolution {tag}", lambda call, x=x, w=w, b=bias, r=rank, s=stride, p=padding, d=dilation, g=groups: convolve(call, x, w, b, r, s, p, d, False, 0, g))
                    yield Case(f"convolution transposed {tag}", lambda call, x=x, w=turned, b=bias, r=rank, s=stride, p=padding, d=dilation, g=groups: convolve(call, x, w, b, r, s, p, d, True, s - 1, g))
    w, b = tensor((4, 3, 3, 3)), tensor((4,))
    for name, x in {"no image": tensor((0, 3, 5, 5)), "one pixel": tensor((1, 3, 1, 1)), "NaN": tensor((2, 3, 5, 5), special=True),
                    "transposed": tensor((2, 5, 3, 7)).transpose(1, 2), "every other": tensor((2, 3, 10, 10))[:, :, ::2, ::2],
                    "expanded": tensor((1, 3, 5, 5)).expand(2, 3, 5, 5), "a row": tensor((2, 3, 1, 300))}.items():
        yield Case(f"convolution of {name}", lambda call, x=x: convolve(call, x, w, b, 2, 1, 1, 1, False, 0, 1))
        yield Case(f"max_pool2d of {name}", lambda call, x=x: call("max_pool2d.default", x, [3, 3], [1, 2], [1, 1]))
        yield Case(f"avg_pool2d of {name}", lambda call, x=x: call("avg_pool2d.default", x, [3, 3], [1, 2], [1, 1]))
        yield Case(f"adaptive_avg_pool2d of {name}", lambda call, x=x: call("adaptive_avg_pool2d.default", x, [1, 1]))


def named_convolutions():
    """The overloads that F.conv… and F.conv_transpose… call: padding by name, transposed, of one image."""
    for rank, edge in {1: (9,), 2: (7, 6), 3: (4, 5, 6)}.items():
        forward, transposed = f"conv{rank}d", f"conv_transpose{rank}d." + ("default" if rank == 1 else "input")
        for dtype in FLOATS if rank == 2 else (torch.float32, torch.float64):
            x, b = tensor((2, 4, *edge), dtype), tensor((6,), dtype)
            w, turned = tensor((6, 2, *[3] * rank), dtype), tensor((4, 3, *[3] * rank), dtype)
            last = torch.channels_last if rank == 2 else torch.channels_last_3d
            for source in (x, x.to(memory_format=last)) if rank > 1 else (x, x.transpose(0, 1).contiguous().transpose(0, 1)):
                tag = f"{dtype} {source.stride()}"
                yield Case(f"{forward} {tag}", lambda call, f=forward, n=rank, x=source, w=w, b=b: call(f + ".default", x, w, b, [2] * n, [1] * n, [1] * n, 2))
                for dilation in (1, 2):
                    yield Case(f"{forward} same {dilation} {tag}", lambda call, f=forward, n=rank, x=source, w=w, d=dilation: call(f + ".padding", x, w, None, [1] * n, "same", [d] * n, 2))
                yield Case(f"{forward} same, even {tag}", lambda call, f=forward, n=rank, x=source, w=w[..., :2], b=b: call(f + ".padding", x, w, b, [1] * n, "same", [1] * n, 2))
                yield Case(f"{forward} valid {tag}", lambda call, f=forward, n=rank, x=source, w=w, b=b: call(f + ".padding", x, w, b, [2] * n, "valid", [1] * n, 2))
                yield Case(f"{transposed} {tag}", lambda call, f=transposed, n=rank, x=source, w=turned, b=b: call(f, x, w, b, [2] * n, [1] * n, [1] * n, 2, [1] * n))
                yield Case(f"{transposed} dilated {tag}", lambda call, f=transposed, n=rank, x=source, w=turned: call(f, x, w, None, [1] * n, [0] * n, [0] * n, 1, [2] * n))
        yield Case(f"{forward} same of one image", lambda call, f=forward, n=rank, x=x, w=w: call(f + ".padding", x[0], w[..., :2], None, [1] * n, "same", [1] * n, 2))
        yield Case(f"{forward} of one image", lambda call, f=forward, n=rank, x=x, w=w, b=b: call(f + ".default", x[0], w, b, [1] * n, [1] * n, [1] * n, 2))
        yield Case(f"{transposed} of one image", lambda call, f=transposed, n=rank, x=x, w=turned, b=b: call(f, x[0], w, b, [2] * n, [1] * n, [1] * n, 2))
        yield Case(f"{transposed} of no image", lambda call, f=transposed, n=rank, x=x, w=turned: call(f, x[:0], w))
        for source in (tensor((2, 6, 2, 3, 2)), tensor((2, 6, 2, 3, 2)).to(memory_format=torch.channels_last_3d)):
            yield Case(f"group_norm of three dims {source.stride()}", lambda call, x=source: call("group_norm.default", x, 3))
            yield Case(f"batch_norm of three dims {source.stride()}", lambda call, x=source, c=tensor((6,), low=0.5): call("batch_norm.default", x, c, c, c, c, False, 0.1, 1e-5, False))
            yield Case(f"contiguous of three dims {source.stride()}", lambda call, x=source: call("contiguous.default", x, memory_format=torch.channels_last_3d))
