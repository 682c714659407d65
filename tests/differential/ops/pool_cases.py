"""Cases of pools, of upsampling, shuffles and padding with elements of the image."""
import torch

from case import FLOATS, INTS, Case, tensor


def pools():
    for dtype in FLOATS:
        x = tensor((2, 3, 9, 8), dtype)
        for source in (x, x.to(memory_format=torch.channels_last)):
            tag = f"{dtype} {source.stride()}"
            yield Case(f"max_pool2d dilated {tag}", lambda call, x=source: call("max_pool2d.default", x, [2, 3], [1, 2], [1, 1], [2, 1]))
            yield Case(f"avg_pool2d without its padding {tag}", lambda call, x=source: call("avg_pool2d.default", x, [3, 2], [2, 2], [1, 1], False, False))
            yield Case(f"avg_pool2d ceil, padded {tag}", lambda call, x=source: call("avg_pool2d.default", x, [3, 3], [2, 2], [1, 1], True, True))
            yield Case(f"avg_pool2d divisor {tag}", lambda call, x=source: call("avg_pool2d.default", x, [2, 2], [2, 2], [0, 0], False, True, 3))
            for size in ([1, 1], [5, 3], [9, 8], [12, 1]):
                yield Case(f"adaptive_avg_pool2d {size} {tag}", lambda call, x=source, n=size: call("adaptive_avg_pool2d.default", x, n))
    yield Case("max_pool2d of one image", lambda call, x=tensor((3, 6, 7)): call("max_pool2d.default", x, [2, 2]))
    yield Case("avg_pool2d of one image", lambda call, x=tensor((3, 6, 7)): call("avg_pool2d.default", x, [2, 2]))


def pools_of_all_dims():
    """Of one to three dims, with and without places: layouts, padding, dilation, ceil_mode, NaN, of one and of no image."""
    edges = {1: (9,), 2: (7, 9), 3: (5, 4, 7)}

    def both(call, name, *args):
        return list(call(name, *args))

    for rank, edge in edges.items():
        n = lambda v, rank=rank: [v] * rank
        largest, average = f"max_pool{rank}d", f"avg_pool{rank}d.default"
        kinds = {"plain": (n(2),), "overlapping": (n(3), n(2), n(1)), "dilated": (n(2), n(1), n(1), n(2)),
                 "ceil": (n(3), n(2), n(1), n(1), True), "ceil, beyond": (n(2), n(3), n(1), n(1), True), "long": (n(4), n(1), n(2))}
        for dtype in FLOATS + INTS:
            x = tensor((2, 3, *edge), dtype, special=True)
            sources = {"": x}
            if dtype in (torch.float32, torch.int64):
                sources |= {"of one image": x[0], "of no image": x[:0], "strided": tensor((2, 3, *edge[:-1], 18), dtype)[..., ::2],
                            "moved": tensor((2, *edge, 3), dtype).movedim(-1, 1)}
            for source, y in sources.items():
                for kind, args in kinds.items():
                    if source and kind in ("plain", "long"):
                        continue
                    tag = f"{rank}d {kind} {dtype} {source}"
                    yield Case(f"max_pool {tag}", lambda call, p=largest, a=args, y=y: call(p + ".default", y, *a))
                    yield Case(f"max_pool with_indices {tag}", lambda call, p=largest, a=args, y=y: both(call, p + "_with_indices.default", y, *a))
                for kind, args in {"plain": (n(2),), "overlapping": (n(3), n(2), n(1)), "exclusive": (n(3), n(2), n(1), False, False),
                                   "ceil": (n(3), n(2), n(1), True), "ceil, exclusive": (n(3), n(2), n(1), True, False),
                                   "ceil, unpadded": (n(2), n(2), n(0), True)}.items():
                    yield Case(f"avg_pool {rank}d {kind} {dtype} {source}", lambda call, p=average, a=args, y=y: call(p, y, *a))
                if rank > 1:
                    yield Case(f"avg_pool {rank}d divisor {dtype} {source}", lambda call, p=average, y=y, n=n: call(p, y, n(3), n(2), n(1), True, True, 5))
                for size in (1, 2, 3, 5, 12) if dtype in FLOATS[:2] else (3,):
                    tag = f"{rank}d {size} {dtype} {source}"
                    yield Case(f"adaptive_avg_pool {tag}", lambda call, r=rank, y=y, s=n(size): call(f"adaptive_avg_pool{r}d.default", y, s))
                    yield Case(f"adaptive_max_pool {tag}", lambda call, r=rank, y=y, s=n(size): both(call, f"adaptive_max_pool{r}d.default", y, s))
        for name, fill in {"NaN": float("nan"), "minus infinity": -float("inf"), "equal": 2.0}.items():
            y = torch.full((1, 2, *edge), fill)
            yield Case(f"max_pool with_indices {rank}d of {name}", lambda call, p=largest, a=kinds["long"], y=y: both(call, p + "_with_indices.default", y, *a))
            yield Case(f"max_pool with_indices {rank}d dilated of {name}", lambda call, p=largest, a=kinds["dilated"], y=y: both(call, p + "_with_indices.default", y, *a))
            yield Case(f"adaptive_max_pool {rank}d of {name}", lambda call, r=rank, y=y, s=n(3): both(call, f"adaptive_max_pool{r}d.default", y, s))
        yield Case(f"adaptive_avg_pool {rank}d to nothing", lambda call, r=rank, y=tensor((2, 3, *edge)), s=n(0): call(f"adaptive_avg_pool{r}d.default", y, s))
        yield Case(f"adaptive_max_pool {rank}d to nothing", lambda call, r=rank, y=tensor((2, 3, *edge)), s=n(0): both(call, f"adaptive_max_pool{r}d.default", y, s))


def resampled():
    """Upsampling in all modes, by size and by scale; shuffles; padding with elements of the image."""
    edges = {1: (5,), 2: (5, 6), 3: (3, 4, 5)}
    modes = {1: ("nearest1d", "_nearest_exact1d", "linear1d"), 2: ("nearest2d", "_nearest_exact2d", "bilinear2d", "bicubic2d"),
             3: ("nearest3d", "_nearest_exact3d", "trilinear3d")}
    for rank, edge in edges.items():
        for mode in modes[rank]:
            name = f"_upsample{mode}.vec" if mode.startswith("_") else f"upsample_{mode}.vec"
            for dtype in FLOATS + [torch.uint8]:
                if dtype == torch.uint8 and "nearest" not in mode:
                    continue  # with fixed numbers of bits: only torch does that
                # Of one sign: where neighbours cancel, the rounding of a place is all that is left.
                x = tensor((2, 3, *edge), dtype, 1, 3, special="nearest" in mode)
                sources = {"": x}
                if dtype == torch.float32:
                    sources |= {"of no image": x[:0], "moved": tensor((2, *edge, 3), low=1).movedim(-1, 1), "strided": tensor((2, 3, *edge[:-1], 12), low=1)[..., ::2]}
                for source, y in sources.items():
                    sizes = list(y.shape[2:])
                    for align in ((), (False,), (True,))[0 if "nearest" in mode else 1: 1 if "nearest" in mode else 3]:
                        tag = f"{mode} {align} {dtype} {source}"
                        for size in ([2 * s for s in sizes], [s + 2 for s in sizes], [max(s // 2, 1) for s in sizes], sizes, [1] * rank):
                            yield Case(f"upsample {tag} to {size}", lambda call, n=name, y=y, s=size, a=align: call(n, y, s, *a, None))
                        for scale in (2.0, 1.5, 0.6, 3.0):
                            yield Case(f"upsample {tag} by {scale}", lambda call, n=name, y=y, f=[scale] * rank, a=align: call(n, y, None, *a, f))
        for dtype in FLOATS + INTS + [torch.bool]:
            x = tensor((2, 3, *edge), dtype)
            sources = {"": x}
            if dtype == torch.float32:
                sources |= {"of one image": x[0], "of no image": x[:0], "moved": tensor((2, *edge, 3)).movedim(-1, 1)}
            for source, y in sources.items():
                for mode in ("reflect", "replicate", "circular"):
                    for amounts in ([1] * (2 * rank), [2, 0] * rank, [0, 1] + [2, 1] * (rank - 1), [-1, -1] + [1, 1] * (rank - 1), [-1, 1] * rank)[: 4 if mode == "circular" else 5]:
                        yield Case(f"pad {mode} {amounts} {rank}d {dtype} {source}", lambda call, y=y, m=mode, a=amounts: call("pad.default", y, a, m))
    for dtype in FLOATS + INTS:
        x = tensor((2, 8, 4, 6), dtype)
        for source in (x, x.to(memory_format=torch.channels_last), x.transpose(2, 3), x[:0], x[0], x[None]):
            tag = f"{dtype} {tuple(source.shape)} {source.stride()}"
            yield Case(f"pixel_shuffle {tag}", lambda call, x=source: call("pixel_shuffle.default", x, 2))
            yield Case(f"pixel_shuffle by one {tag}", lambda call, x=source: call("pixel_shuffle.default", x, 1))
            if source.numel():
                yield Case(f"pixel_unshuffle {tag}", lambda call, x=source: call("pixel_unshuffle.default", x, 2))
                yield Case(f"pixel_unshuffle by one {tag}", lambda call, x=source: call("pixel_unshuffle.default", x, 1))
            yield Case(f"channel_shuffle {tag}", lambda call, x=source: call("channel_shuffle.default", x, 2))
