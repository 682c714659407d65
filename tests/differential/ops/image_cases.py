"""Cases of ops on images: (name, run) pairs. Their numbers come from no generator, so that other cases keep theirs."""
import torch

from case import FLOATS


def numbers(*sizes, dtype=torch.float32, low=-2.0, high=2.0, special=False):
    count = torch.Size(sizes).numel()
    values = torch.linspace(low, high, max(count, 2), dtype=torch.float64)[:count]
    values = values + 0.3 * torch.sin(values * 37)
    if dtype == torch.bool:
        return (values > 0).reshape(sizes)
    if not dtype.is_floating_point:
        return (values * 3).round().abs().to(dtype).reshape(sizes)
    values = values.to(dtype)
    if special and count > 4:
        values[:3] = torch.tensor([float("nan"), float("inf"), -float("inf")])
    return values.reshape(sizes)


def last(x):
    return x.to(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)


def sources(x):
    """The image, one without a batch, none at all, and other layouts."""
    yield "", x
    yield "of one image", x[0]
    yield "of no image", x[:0]
    yield "moved", x.transpose(0, 1).contiguous().transpose(0, 1)
    if x.dim() > 3:
        yield "channels last", last(x)


EDGES = {1: (9,), 2: (5, 6), 3: (4, 3, 5)}


def convolutions():
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8):
        for rank, edge in EDGES.items():
            x, b = numbers(2, 4, *edge, dtype=dtype), numbers(4, dtype=dtype)
            w, single = numbers(4, 2, *[3] * rank, dtype=dtype), numbers(4, 1, *[2] * rank, dtype=dtype)
            for tag, given in sources(x) if dtype == torch.float64 else [("", x)]:
                for kind, (weight, *args) in {"grouped": (w, 1, 1, 1, 2), "dilated": (w, 1, 2, 2, 2), "depthwise": (single, 2, 1, 1, 4)}.items():
                    stride, padding, dilation = ([v] * rank for v in args[:3])
                    yield (f"conv{rank}d {kind} {dtype} {tag}",
                           lambda call, n=f"conv{rank}d.default", x=given, w=weight, b=b, a=(stride, padding, dilation, args[3]): call(n, x, w, b, *a))
                    name = f"conv_transpose{rank}d." + ("default" if rank == 1 else "input")
                    yield (f"conv_transpose{rank}d {kind} {dtype} {tag}",
                           lambda call, n=name, x=given, w=weight, b=b, a=(stride, padding, [0] * rank, args[3], dilation): call(n, x, w, b, *a))
        yield (f"convolution of one image {dtype}", lambda call, x=numbers(2, 5, 5, dtype=dtype), w=numbers(3, 2, 2, 2, dtype=dtype):
               call("convolution.default", x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1))


def paddings():
    for kind in ("reflection", "replication"):
        for dtype in FLOATS + [torch.int64, torch.uint8]:
            for rank, edge in EDGES.items():
                for tag, x in sources(numbers(2, 3, *edge, dtype=dtype, special=True)):
                    for amounts in ([1, 2] * rank, [-1, 1] * rank, [0, 0] * rank):
                        yield (f"{kind}_pad{rank}d {amounts} {dtype} {tag}",
                               lambda call, n=f"{kind}_pad{rank}d.default", x=x, a=amounts: call(n, x, a))
    for rank, edge in EDGES.items():
        for amounts in ([-1, 2] * rank, [2, -1] * rank, [-1, -1] * rank, [1, -2] + [-1, 1] * (rank - 1)):
            for tag, x in sources(numbers(2, 3, *edge)):
                yield f"pad circular {amounts} {tag}", lambda call, x=x, a=amounts: call("pad.default", x, a, "circular")


def columns():
    kinds = {"plain": ([3, 2], [1, 1], [0, 0], [1, 1]), "padded": ([3, 3], [1, 1], [1, 1], [1, 1]), "apart": ([2, 2], [1, 1], [1, 0], [3, 3]),
             "dilated": ([2, 2], [2, 3], [2, 1], [2, 1]), "overlapping": ([5, 4], [1, 1], [2, 2], [2, 3])}
    for dtype in FLOATS + [torch.bool]:
        for kind, (window, dilation, padding, stride) in kinds.items():
            for tag, x in sources(numbers(2, 3, 6, 7, dtype=dtype, special=True)):
                a = (window, dilation, padding, stride)
                yield f"im2col {kind} {dtype} {tag}", lambda call, x=x, a=a: call("im2col.default", x, *a)
            unfolded = torch.ops.aten.im2col.default(numbers(2, 3, 6, 7, dtype=dtype), *a)
            for tag, x in sources(unfolded):
                yield f"col2im {kind} {dtype} {tag}", lambda call, x=x, a=a: call("col2im.default", x, [6, 7], *a)


def samples():
    for dtype in (torch.float32, torch.float64):
        for rank in (2, 3):
            image = numbers(2, 3, *EDGES[rank], dtype=dtype)
            grid = numbers(2, *[3] * rank, rank, dtype=dtype, low=-1.7, high=1.7)
            for mode in (0, 1):
                for padding in (0, 1, 2):
                    for align in (False, True):
                        for tag, x in sources(image):
                            if x.dim() == rank + 2:
                                yield (f"grid_sampler {rank}d {mode} {padding} {align} {dtype} {tag}",
                                       lambda call, x=x, g=grid[: x.shape[0]], a=(mode, padding, align): call("grid_sampler.default", x, g, *a))
            for align in (False, True):
                theta = numbers(2, rank, rank + 1, dtype=dtype)
                for size in ([2, 3, 4, 5, 6][: rank + 2], [2, 1, 1, 7, 1][: rank + 2]):
                    yield f"affine_grid {size} {align} {dtype}", lambda call, t=theta, a=(size, align): call("affine_grid_generator.default", t, *a)
        for rank, edge in {2: (4, 6), 3: (4, 4, 6)}.items():
            pooled, places = getattr(torch.nn.functional, f"max_pool{rank}d")(numbers(2, 3, *edge, dtype=dtype), 2, return_indices=True)
            rest = () if rank == 2 else ([2] * rank, [0] * rank)
            layouts = {"": lambda x: x, "of one image": lambda x: x[0], "of no image": lambda x: x[:0], "channels last": last}
            for tag, lay in layouts.items():
                yield (f"max_unpool{rank}d {dtype} {tag}", lambda call, x=lay(pooled), i=lay(places), n=f"max_unpool{rank}d.default", e=list(edge), r=rest:
                       call(n, x, i, e, *r))


def norms():
    for dtype in FLOATS:
        for rank, edge in EDGES.items():
            for tag, x in sources(numbers(2, 3, *edge, dtype=dtype)):
                if tag == "of one image":
                    continue  # a batch is asked for
                c = numbers(x.shape[1], dtype=dtype, low=1, high=2)
                for kind, args in {"plain": (None, None, None, None, True), "affine": (c, c, None, None, True),
                                   "tracked": (c, None, c.clone(), c.clone(), True), "by running ones": (c, c, c.clone(), c.clone(), False)}.items():
                    yield (f"instance_norm {rank}d {kind} {dtype} {tag}",
                           lambda call, x=x, a=args: call("instance_norm.default", x, *a, 0.1, 1e-5, False))
    for name in ("alpha_dropout.default", "feature_alpha_dropout.default"):
        yield f"{name} in eval", lambda call, n=name, x=numbers(2, 3, 4): call("mul.Tensor", call(n, x, 0.5, False), 2)


def all_images():
    for family in (convolutions, paddings, columns, samples, norms):
        yield from family()
