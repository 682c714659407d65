"""Every family of ops over arbitrary layouts: (name, run) pairs. What is compared is above all where the results lie."""
import os
import random

import torch



def numbers(count, dtype):
    values = (torch.arange(count, dtype=torch.float64) * 7 % 11 - 5 + 0.25) / 4
    return (values > 0) if dtype == torch.bool else values.abs().to(dtype) if not dtype.is_floating_point else values.to(dtype)


class Layouts:
    """Tensors of given sizes, laid out in ways that a seed decides."""

    KINDS = ("plain", "permuted", "permuted", "gaps", "rows apart", "expanded", "all expanded", "overlapping", "last", "odd ones")

    def __init__(self, seed):
        self.choice = random.Random(seed)

    def strides(self, sizes, kind):
        rank = len(sizes)
        order = list(range(rank))
        if kind in ("permuted", "gaps", "rows apart", "expanded", "odd ones") and self.choice.random() < 0.7:
            self.choice.shuffle(order)
        if kind == "last" and rank > 2:
            order = [0, *range(2, rank), 1]
        strides, step = [0] * rank, 1
        for dim in reversed(order):
            strides[dim] = step
            step *= max(sizes[dim], 1)
            if kind == "rows apart":
                step += self.choice.randint(0, 3)
        if kind == "gaps":
            strides = [s * 2 for s in strides]
        if kind == "expanded" and rank:
            for dim in self.choice.sample(range(rank), self.choice.randint(1, max(1, rank - 1))):
                strides[dim] = 0
        if kind == "all expanded":
            strides = [0] * rank
        if kind == "overlapping" and rank:
            dim = self.choice.randrange(rank)
            strides[dim] = max(1, strides[dim] // 2)
        if kind == "odd ones" or self.choice.random() < 0.2:
            strides = [self.choice.choice((1, 3, 7, s)) if n == 1 else s for n, s in zip(sizes, strides)]
        return strides

    def tensor(self, sizes, dtype=torch.float32, alone=False):
        """`alone`: each element lies in a place of its own, and the first one at the start of the memory."""
        kinds = self.KINDS if not alone else ("plain", "permuted", "gaps", "rows apart", "last")
        strides = self.strides(sizes, self.choice.choice(kinds))
        reach = sum((n - 1) * s for n, s in zip(sizes, strides) if n > 0) + 1
        offset = 0 if alone else self.choice.choice((0, 0, 3))
        return numbers(max(reach, 1) + offset, dtype).as_strided(sizes, strides, offset)

    def sizes(self, rank=None, least=0):
        rank = self.choice.randint(0, 5) if rank is None else rank
        return [self.choice.choice((1, 2, 2, 3, 4)) if self.choice.random() > 0.04 else least for _ in range(rank)]

    def broadcast(self, sizes):
        own = [1 if self.choice.random() < 0.25 else n for n in sizes]
        return own[self.choice.randint(0, len(own)) if self.choice.random() < 0.3 else 0:]

    def index(self, sizes, limit):
        count = torch.Size(sizes).numel()
        strides = self.strides(sizes, self.choice.choice(("plain", "permuted", "gaps", "expanded")))
        reach = sum((n - 1) * s for n, s in zip(sizes, strides) if n > 0) + 1
        return (torch.arange(max(reach, 1)) % max(limit, 1)).as_strided(sizes, strides) if count else torch.zeros(sizes, dtype=torch.int64)


UNARY = """abs neg floor sign square frac sqrt reciprocal exp sin tanh sigmoid logical_not isnan isinf isfinite relu silu hardswish hardsigmoid
mish selu log_sigmoid gelu hardtanh leaky_relu elu softplus nan_to_num clone contiguous zeros_like ones_like tril triu""".split()
BINARY = "add.Tensor sub.Tensor mul.Tensor div.Tensor maximum.default minimum.default eq.Tensor lt.Tensor atan2.default logical_and.default fmax.default pow.Tensor_Tensor".split()


def elementwise(lay, pick):
    kind = pick(["unary", "unary", "binary", "binary", "scalar", "where", "addcmul", "lerp", "clamp", "fill", "copy", "prelu"])
    x = lay.tensor(lay.sizes())
    if kind == "unary":
        op = pick(UNARY) + ".default"
        return op, lambda call: call(op, x)
    other = lay.tensor(lay.broadcast(list(x.shape)))
    if kind == "binary":
        op, pair = pick(BINARY), pick([(x, other), (other, x)])
        return op, lambda call: call(op, *pair)
    if kind == "scalar":
        op, number = pick(["add.Scalar", "mul.Scalar", "div.Scalar", "pow.Tensor_Scalar", "eq.Scalar", "gt.Scalar", "add.Tensor", "rsub.Scalar", "remainder.Scalar"]), pick([2, 1.5])
        return op, lambda call: call(op, x, number)
    if kind == "where":
        condition, third = lay.tensor(lay.broadcast(list(x.shape)), torch.bool), lay.tensor(lay.broadcast(list(x.shape)))
        if pick([0, 0, 1]):
            return "where.ScalarOther", lambda call: call("where.ScalarOther", condition, x, 0.5)
        return "where.self", lambda call: call("where.self", condition, x, third)
    if kind == "addcmul":
        third, op = lay.tensor(lay.broadcast(list(x.shape))), pick(["addcmul.default", "addcdiv.default"])
        return op, lambda call: call(op, x, other, third)
    if kind == "lerp":
        same = lay.tensor(list(x.shape))
        return "lerp.Scalar", lambda call: call("lerp.Scalar", x, same, 0.5)
    if kind == "clamp":
        if pick([0, 1]):
            return "clamp.default", lambda call: call("clamp.default", x, -1, 1)
        return "clamp.Tensor", lambda call: call("clamp.Tensor", x, other, None)
    if kind == "fill":
        mask = lay.tensor(lay.broadcast(list(x.shape)), torch.bool)
        return "masked_fill.Scalar", lambda call: call("masked_fill.Scalar", x, mask, 2.0)
    if kind == "prelu":
        x = lay.tensor(lay.sizes(pick([2, 3, 4]), 1))
        weight = lay.tensor([x.shape[1]])
        return "prelu.default", lambda call: call("prelu.default", x, weight)
    formats = [torch.preserve_format, torch.contiguous_format] + ([torch.channels_last] if x.dim() == 4 else [torch.channels_last_3d] if x.dim() == 5 else [])
    form = pick(formats)
    op = pick(["clone.default", "_to_copy.default", "to.dtype", "to.dtype", "empty_like.default", "zeros_like.default", "contiguous.default"])
    if op == "contiguous.default":
        form = formats[-1] if form == torch.preserve_format else form
    if op == "to.dtype":
        dtype = pick([torch.float32, torch.float64])
        return op, lambda call: call(op, x, dtype, memory_format=form)
    if op == "_to_copy.default":
        return op, lambda call: call(op, x, dtype=torch.float64, memory_format=form)
    if op == "empty_like.default":
        return op, lambda call: call("zeros_like.default", x, memory_format=form)
    return op, lambda call: call(op, x, memory_format=form)


def views(lay, pick):
    x = lay.tensor(lay.sizes(pick([1, 2, 3, 4, 5])))
    rank, count = x.dim(), x.numel()
    dim, other = pick(range(rank)), pick(range(-rank, rank))

    def factors():
        rest, sizes = count, []
        while rest > 1 and len(sizes) < 4:
            part = pick([n for n in (1, 2, 3, 4, 6, 8, rest) if rest % n == 0])
            sizes.append(part)
            rest //= part
        sizes.append(rest)
        if count and pick([0, 1]):
            sizes[pick(range(len(sizes)))] = -1
        return sizes
    sizes = factors()
    target = [pick([n, -1]) if n != 1 else pick([1, 3]) for n in x.shape]
    target = [pick([1, 2]) for _ in range(pick([0, 1, 2]))] + target
    dims = list(range(rank))
    lay.choice.shuffle(dims)
    table = {
        "view.default": (x, sizes), "reshape.default": (x, sizes), "flatten.using_ints": (x, min(dim, other % rank), max(dim, other % rank)),
        "expand.default": (x, target), "permute.default": (x, dims), "transpose.int": (x, dim, other), "squeeze.default": (x,), "squeeze.dim": (x, dim),
        "unsqueeze.default": (x, pick(range(-rank - 1, rank + 1))), "slice.Tensor": (x, dim, pick([None, 0, 1, -1]), pick([None, 2, -1, 9]), pick([1, 1, 2, 3])),
        "select.int": (x, dim, 0), "view_own": (x,), "unfold.default": (x, dim, 1, pick([1, 2])), "split.Tensor": (x, pick([1, 2]), dim), "unbind.int": (x, dim),
        "chunk.default": (x, pick([1, 2, 3]), dim), "ravel.default": (x,), "narrow.default": (x, dim, 0, pick([0, 1])),
    }
    op = pick(list(table))
    args = table[op]
    if op == "view_own":
        op, args = pick(["view.default", "reshape.default"]), (x, list(x.shape))
    return op, lambda call: call(op, *args)


def joins(lay, pick):
    x = lay.tensor(lay.sizes(pick([1, 2, 3, 4, 4, 5, 5])))
    rank, sizes = x.dim(), list(x.shape)
    dim = pick(range(rank))
    kind = pick(["cat", "stack", "repeat", "repeat_interleave", "flip", "roll", "pad", "diff", "scatter", "repeat then view"])
    if kind in ("cat", "stack"):
        parts = [x] + [lay.tensor(sizes) for _ in range(pick([0, 1, 2]))]
        if kind == "cat" and pick([0, 0, 0, 1]):
            parts = [p.contiguous(memory_format=torch.channels_last if rank == 4 else torch.channels_last_3d if rank == 5 else torch.contiguous_format) for p in parts]
        return kind, lambda call: call(kind + ".default", parts, dim)
    if kind == "repeat":
        counts = [pick([1, 1, 2]) for _ in range(rank + pick([0, 0, 1]))]
        return kind, lambda call: call("repeat.default", x, counts)
    if kind == "repeat_interleave":
        return kind, lambda call: call("repeat_interleave.self_int", x, pick([1, 2]), dim)
    if kind == "flip":
        dims = pick([[dim], [0], [-1], []])
        return kind, lambda call: call("flip.default", x, dims)
    if kind == "roll":
        shifts, dims = pick([([1], [dim]), ([-1, 2], [0, rank - 1]), ([0], [dim]), ([1], [])])
        return kind, lambda call: call("roll.default", x, shifts, dims)
    if kind == "pad":
        amounts = [pick([0, 1, 2, -1, 0]) for _ in range(2 * pick(range(1, rank + 1)))]
        return kind, lambda call: call("constant_pad_nd.default", x, amounts, 1.0)
    if kind == "diff":
        return kind, lambda call: call("diff.default", x, 1, dim)
    if kind == "scatter":
        x = lay.tensor(sizes, alone=True)  # torch clones what lies in front too
        source = lay.tensor(sizes[:dim] + sizes[dim + 1:])
        return "select_scatter", lambda call: call("select_scatter.default", x, source, dim, 0)
    counts = [2] + [1] * rank
    def run(call):
        y = call("repeat.default", call("unsqueeze.default", x, 0), counts)
        return call("view.default", call("mul.Tensor", y, 2), [-1, *sizes[1:]] if sizes[0] else [2, *sizes])
    return kind, run


def indexing(lay, pick):
    x = lay.tensor(lay.sizes(pick([1, 2, 3, 4]), 1))
    rank, sizes = x.dim(), list(x.shape)
    dim = pick(range(rank))
    kind = pick(["index", "index", "gather", "index_select", "sort", "argsort", "topk", "embedding", "scatter", "index_put", "max", "cumsum", "softmax", "take_along_dim"])
    if kind == "index":
        shape = lay.sizes(pick([0, 1, 2]), 1)
        indices = [lay.index(lay.broadcast(shape), n) if pick([0, 1]) else None for n in sizes]
        if all(i is None for i in indices):
            indices[dim] = lay.index(shape, sizes[dim])
        return kind, lambda call: call("index.Tensor", x, indices)
    if kind in ("gather", "scatter", "take_along_dim"):
        index = lay.index(sizes, sizes[dim])
        if kind == "take_along_dim":
            return kind, lambda call: call("take_along_dim.default", x, index, dim)
        if kind == "gather":
            return kind, lambda call: call("gather.default", x, dim, index)
        return kind, lambda call: call("scatter_add.default", x, dim, index, lay.tensor(sizes))
    row = lay.index([3], sizes[dim])
    if kind == "index_select":
        return kind, lambda call: call("index_select.default", x, dim, row)
    if kind in ("sort", "argsort"):
        return kind, lambda call: call(kind + ".default", x, dim, False) if kind == "argsort" else call("sort.stable", x, stable=True, dim=dim)
    if kind == "topk":
        return kind, lambda call: call("topk.default", x, 1, dim)
    if kind == "embedding":
        weight, index = lay.tensor([4, 3]), lay.index(lay.sizes(pick([0, 1, 2, 3])), 4)
        return kind, lambda call: call("embedding.default", weight, index)
    if kind == "index_put":
        return kind, lambda call: call("index_put.default", x, [lay.index([1], sizes[0])], torch.tensor(2.0))
    if kind == "max":
        op = pick(["max.dim", "sum.dim_IntList", "amax.default", "var.dim", "argmax.default", "mean.dim"])
        args = {"max.dim": (dim,), "argmax.default": (dim,)}.get(op, ([dim],))
        return op, lambda call: call(op, x, *args)
    if kind == "cumsum":
        return kind, lambda call: call("cumsum.default", x, dim)
    op = pick(["softmax.int", "log_softmax.int"])
    return op, lambda call: call(op, x, dim)


def products(lay, pick):
    b, m, k, n = (pick([1, 2, 3, 4]) for _ in range(4))
    kind = pick(["mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "sdpa", "sdpa", "sdpa", "grouped sdpa", "split sdpa", "conv", "conv", "pool", "norm", "norm", "upsample"])
    if kind == "mm":
        return kind, lambda call, a=lay.tensor([m, k]), c=lay.tensor([k, n]): call("mm.default", a, c)
    if kind == "bmm":
        return kind, lambda call, a=lay.tensor([b, m, k]), c=lay.tensor([b, k, n]): call("bmm.default", a, c)
    if kind == "addmm":
        bias = lay.tensor(lay.broadcast([m, n]))
        return kind, lambda call, a=lay.tensor([m, k]), c=lay.tensor([k, n]): call("addmm.default", bias, a, c)
    if kind == "baddbmm":
        bias = lay.tensor(lay.broadcast([b, m, n]))
        return kind, lambda call, a=lay.tensor([b, m, k]), c=lay.tensor([b, k, n]): call("baddbmm.default", bias, a, c)
    if kind == "matmul":
        batch = lay.sizes(pick([0, 1, 2]), 1)
        left, right = lay.tensor(lay.broadcast(batch) + [m, k][pick([0, 0, 1]):]), lay.tensor(lay.broadcast(batch) + [k, n])
        return kind, lambda call: call("matmul.default", left, right)
    if kind == "linear":
        x, weight, bias = lay.tensor(lay.sizes(pick([0, 1, 2, 3]), 1) + [k]), lay.tensor([n, k]), pick([None, lay.tensor([n])])
        return kind, lambda call: call("linear.default", x, weight, bias)
    if kind == "sdpa":
        heads, batch = pick([1, 2, 3]), pick([[b], [b], []])
        keys = pick([m, k])
        query, key, value = lay.tensor(batch + [heads, m, 4]), lay.tensor(batch + [heads, keys, 4]), lay.tensor(batch + [heads, keys, pick([4, 4, n])])
        more = pick([{}, {}, {"is_causal": keys == m}, {"attn_mask": torch.ones(m, keys, dtype=torch.bool)}, {"attn_mask": torch.zeros(pick([[1], [heads], [1, 1], [1, heads]]) + [m, keys])}])
        return kind, lambda call: call("scaled_dot_product_attention.default", query, key, value, **more)
    if kind == "grouped sdpa":  # several heads of the query share one of the keys
        shared, more = pick([1, 2]), pick([{}, {"is_causal": True}, {"scale": 0.3}])
        query = lay.tensor([b, shared * pick([1, 2, 3]), m, 4])
        key, value = lay.tensor([b, shared, m, 4]), lay.tensor([b, shared, m, 4])
        return kind, lambda call: call("scaled_dot_product_attention.default", query, key, value, enable_gqa=True, **more)
    if kind == "split sdpa":
        x = lay.tensor([b, m, 3 * 4 * n])
        def run(call):
            parts = call("split.Tensor", x, 4 * n, 2)
            parts = [call("transpose.int", call("view.default", p, [b, m, 4, n]), 1, 2) for p in parts]
            y = call("transpose.int", call("scaled_dot_product_attention.default", *parts, None, 0.0, m > 1), 1, 2)
            return call("reshape.default", call("contiguous.default", y), [b, m, 4 * n])
        return kind, run
    rank = pick([1, 2, 2, 3])
    edge = [pick([1, 2, 3, 4]) for _ in range(rank)]
    x = lay.tensor([b, 4, *edge])
    if kind == "conv":
        # For 1 and 1x1x1, and for groups of 1x1, torch's choice hangs on threads.
        kernel = pick([1, 3]) if rank == 2 and n % 2 else 3
        weight, bias = lay.tensor([n, 2, *[kernel] * rank]), pick([None, lay.tensor([n])])
        if n % 2:
            weight = lay.tensor([n, 4, *weight.shape[2:]])
        groups = 4 // weight.shape[1]
        pad = [weight.shape[2] // 2] * rank
        return kind, lambda call: call("convolution.default", x, weight, bias, [1] * rank, pad, [1] * rank, False, [0] * rank, groups)
    if kind == "pool":
        op = pick(["max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"])
        args = ([1] * rank,) if "adaptive" in op else ([1] * rank, [1] * rank)
        return op, lambda call: call(f"{op}{rank}d.default", x, *args)
    if kind == "upsample":
        mode = {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}[rank]
        name = pick([f"upsample_nearest{rank}d.vec", f"upsample_{mode}.vec"])
        args = ([3] * rank,) + ((False,) if "nearest" not in name else ()) + (None,)
        return name, lambda call: call(name, x, *args)
    op = pick(["batch_norm", "group_norm", "layer_norm", "instance_norm", "native_layer_norm", "rms_norm"])
    c, d = lay.tensor([4]), lay.tensor([4])
    if op == "batch_norm":
        return op, lambda call: call("batch_norm.default", x, c, d, c, c.abs(), False, 0.1, 0.1, False)
    if op == "group_norm":
        return op, lambda call: call("group_norm.default", x, 2, c, d, 0.1)
    if op == "instance_norm":
        return op, lambda call: call("instance_norm.default", x, c, d, None, None, True, 0.1, 0.1, False)
    last = lay.tensor([edge[-1]])
    if op == "rms_norm":
        return op, lambda call: call("rms_norm.default", x, [edge[-1]], last)
    extra = (1e-5,) if op == "native_layer_norm" else ()
    return op, lambda call: call(op + ".default", x, [edge[-1]], last, last, *extra)


def places(lay, pick):
    """The memory of what an op made, seen by strides or by windows; where no two elements share a place it is written."""
    x = lay.tensor(lay.sizes(pick([1, 2, 3, 4])))
    count, moved = x.numel(), pick([True, False]) and x.dim() > 1
    if pick([0, 0, 1]):
        dim, size = pick(range(x.dim())), pick([1, 2, 3])
        size = min(size, *x.shape)
        step = pick([1, 2, 3])
        op, args, disjoint = "unfold.default", (dim, size, step), step >= size
    else:
        sizes, strides, offset = [], [], pick([0, 0, 1, 2]) if count > 2 else 0
        room = max(count - 1 - offset, 0)
        for stride in lay.choice.sample((1, 2, 3, 5, 8), pick([1, 2, 3])):
            sizes.append(min(pick([1, 2, 3, 4]), room // stride + 1) if count else 0)
            strides.append(stride)
            room -= (sizes[-1] - 1) * stride if count else 0
        reach, disjoint = 0, True
        for stride, size in sorted(zip(strides, sizes)):
            if size > 1:
                disjoint, reach = disjoint and stride > reach, reach + (size - 1) * stride
        op, args = "as_strided.default", (sizes, strides, offset)
    written = disjoint and pick([True, True, False])

    def run(call):
        y = call("mul.Tensor", x, 2)
        view = call(op, call("transpose.int", y, 0, -1) if moved else y, *args)
        if written:
            call("add_.Scalar", view, 1.5)
        return [call("mul.Tensor", view, 3.0), y]
    return op + (" of others" if moved else ""), run


FAMILIES = (elementwise, elementwise, views, views, joins, indexing, products, places)


def tensors_in(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def written_behind(run):
    """The same, and the first result is written if its memory is its own: no operand may change by that."""
    def written(call):
        own, operands = set(), set()

        def noting(op, *args, **kwargs):
            used = {tensor.untyped_storage().data_ptr() for tensor in tensors_in([args, list(kwargs.values())])}
            operands.update(used - own)
            result = call(op, *args, **kwargs)
            own.update({tensor.untyped_storage().data_ptr() for tensor in tensors_in([result])} - operands)
            return result

        result = run(noting)
        first = next(tensors_in([result]), None)  # a tensor may be unbound to none
        if first is not None and first.numel() and first.untyped_storage().data_ptr() in own:
            call("mul_.Scalar" if first.is_floating_point() else "zero_.default", first, *([2.0] if first.is_floating_point() else []))
        return result
    return written


def all_layouts():
    """LAYOUT_CASES says how many; a seed names its case. Behind every third one its result is written."""
    for seed in range(int(os.environ.get("LAYOUT_CASES", "2000"))):
        lay = Layouts(seed)
        name, run = FAMILIES[seed % len(FAMILIES)](lay, lambda items, c=lay.choice: c.choice(list(items)))
        yield (f"layout {seed} {name}", run) if seed % 3 else (f"layout {seed} {name}, written", written_behind(run))
