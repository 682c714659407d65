"""The cases of gradients: ops over dtypes, shapes, layouts and edges, then small programs of several ops."""
import itertools

import torch

from case import Case

NAN, INF = float("nan"), float("inf")
REALS = [torch.float64, torch.float32]
FLOATS = REALS + [torch.bfloat16, torch.float16]
SHAPES = [(), (7,), (3, 5), (0, 4), (2, 3, 4)]
EDGES = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 3.0, -3.0, 6.0, -6.0, 0.5, -0.5, 100.0, -100.0, 20.0, 1e-3, 2.0]
NUMBERS = [x for x in EDGES if x == x]


def leaf(*shape, dtype=torch.float64, low=-2.0, high=2.0):
    """A tensor whose gradient is asked for."""
    values = torch.rand(shape, dtype=torch.float64) * (high - low) + low
    return values.to(dtype).requires_grad_()


def plain(*shape, dtype=torch.float64, low=-2.0, high=2.0):
    return leaf(*shape, dtype=dtype, low=low, high=high).detach()


def of(values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype).requires_grad_()


def layouts(dtype=torch.float64):
    """Leaves of one shape that lie differently."""
    yield "plain", leaf(4, 6, dtype=dtype)
    yield "transposed", leaf(6, 4, dtype=dtype).detach().t().requires_grad_()
    yield "sliced", leaf(4, 12, dtype=dtype).detach()[:, ::2].requires_grad_()
    yield "expanded", leaf(1, 6, dtype=dtype).detach().expand(4, 6).requires_grad_()


def case(name, op, *args, **kwargs):
    return Case(name, lambda call: call(op, *args, **kwargs))


UNARY = """abs neg floor ceil round trunc sign square frac sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos
tan asin acos atan sinh cosh tanh sigmoid erf erfc relu relu6 silu hardswish hardsigmoid mish selu log_sigmoid gelu hardtanh
leaky_relu elu celu softplus nan_to_num logit clone contiguous alias""".split()
POSITIVE = {"sqrt", "rsqrt", "log", "log2", "log10", "log1p", "logit", "asin", "acos"}
SINGLE = {"hardsigmoid"}  # torch divides by 6 in float32 whatever the dtype
# Beside a NaN torch's kernels of float64 and float32, of vectors and of what is left over, do not agree.
UNSURE = {"hardswish", "elu", "selu", "celu", "hardtanh", "relu6", "logit"}
ROUGH = {"gelu", "erf", "erfc", "tan"}  # torch's vectorised kernels are other ones at the edges


def unary():
    for op in UNARY:
        bounds = {"low": 0.1, "high": 0.9} if op in POSITIVE else {}
        dtypes = FLOATS[op in SINGLE:]
        for dtype, shape in itertools.product(dtypes, SHAPES):
            yield case(f"{op} {dtype} {shape}", op + ".default", leaf(*shape, dtype=dtype, **bounds))
        for layout, x in layouts(dtypes[0]):
            yield case(f"{op} {layout}", op + ".default", x if op not in POSITIVE else
                       (x.detach().abs() * 0.4 + 0.05).requires_grad_())
        if op not in ROUGH:
            edges = [x for x in EDGES if op not in UNSURE or (x == x and str(x) != "-0.0")]
            for dtype in dtypes[:2]:
                yield case(f"{op} edges {dtype}", op + ".default", of(edges, dtype))


BINARY = "add sub rsub mul div fmod remainder pow".split()
BINARY_PLAIN = "maximum minimum fmax fmin atan2".split()
PAIRS = [((3, 5), (3, 5)), ((3, 5), (5,)), ((3, 1), (1, 5)), ((), (3,)), ((2, 3, 4), (3, 1)), ((0, 3), (1, 3)), ((), ())]


def binary():
    for op in BINARY + BINARY_PLAIN:
        name = op + (".Tensor_Tensor" if op == "pow" else ".Tensor" if op in BINARY else ".default")
        bounds = {"low": 0.3, "high": 2.5}
        for first, second in PAIRS:
            for dtype in FLOATS:
                yield case(f"{op} {dtype} {first} {second}", name, leaf(*first, dtype=dtype, **bounds),
                           leaf(*second, dtype=dtype, **bounds))
            yield case(f"{op} first {first} {second}", name, leaf(*first, **bounds), plain(*second, **bounds))
            yield case(f"{op} second {first} {second}", name, plain(*first, **bounds), leaf(*second, **bounds))
        if op != "atan2":  # torch squares in float32 and adds in float64
            yield case(f"{op} mixed dtypes", name, leaf(3, 5, dtype=torch.float32, **bounds), leaf(5, dtype=torch.float64, **bounds))
        yield case(f"{op} with integers", name, leaf(3, 5, **bounds), torch.arange(1, 6))
        same = leaf(3, 5, **bounds)
        yield case(f"{op} of itself", name, same, same)
        if op not in ("fmod", "remainder"):
            left, right = zip(*itertools.product(EDGES, EDGES))
            yield case(f"{op} edges", name, of(left), of(right))
        if op in BINARY:
            scalar = op + (".Tensor_Scalar" if op == "pow" else ".Scalar")
            for number in (2, 2.5, -1, 0.5, 3, 0, 1):
                if number == 0 and op in ("fmod", "remainder"):
                    continue
                yield case(f"{op} number {number}", scalar, leaf(3, 4, **bounds), number)
                yield case(f"{op} number {number} edges", scalar, of(EDGES), number)
    for number in (2.0, 0.0, 0.5):
        yield case(f"pow of {number}", "pow.Scalar", number, of(EDGES))
    for alpha in (2, 0.5):
        yield case(f"add alpha {alpha}", "add.Tensor", leaf(3, 5), leaf(5), alpha=alpha)
        yield case(f"sub alpha {alpha}", "sub.Tensor", leaf(3, 5), leaf(5), alpha=alpha)
    for mode in (None, "floor", "trunc"):
        yield case(f"div {mode}", "div.Tensor_mode", leaf(3, 5), leaf(5, low=0.3), rounding_mode=mode)
    for op, value in (("addcmul", 2.0), ("addcdiv", 0.5)):
        yield case(op, op + ".default", leaf(3, 5), leaf(5), leaf(3, 1, low=0.5), value=value)
    yield case("lerp number", "lerp.Scalar", leaf(3, 5), leaf(5), 0.3)
    yield case("lerp tensor", "lerp.Tensor", leaf(3, 5), leaf(5), leaf(3, 1))


def choices():
    mask = torch.rand(3, 5) > 0.5
    yield case("where", "where.self", mask, leaf(3, 5), leaf(5))
    yield case("where edges", "where.self", mask, of([[NAN] * 5] * 3), of([[INF] * 5] * 3))
    yield case("masked_fill", "masked_fill.Scalar", leaf(3, 5), mask, -1.5)
    yield case("masked_fill tensor", "masked_fill.Tensor", leaf(3, 5), mask, of(2.0))
    for low, high in ((-1, 1), (None, 0.5), (-0.5, None), (1, -1), (0.0, 6.0)):
        yield case(f"clamp {low} {high}", "clamp.default", leaf(3, 5), low, high)
        yield case(f"clamp {low} {high} edges", "clamp.default", of(EDGES), low, high)
    for number in (0.0, 1.0):
        yield case(f"clamp_min {number}", "clamp_min.default", of(EDGES), number)
        yield case(f"clamp_max {number}", "clamp_max.default", of(EDGES), number)
    yield case("clamp tensors", "clamp.Tensor", leaf(3, 5), leaf(5, high=0), leaf(3, 1, low=0))
    yield case("clamp crossing", "clamp.Tensor", leaf(3, 5), leaf(5, low=0), leaf(3, 1, high=0))
    yield case("clamp_min tensor", "clamp_min.Tensor", leaf(3, 5), leaf(5))
    yield case("clamp_max tensor", "clamp_max.Tensor", leaf(3, 5), leaf(5))
    for slope in (0.01, 0.3):
        yield case(f"leaky_relu {slope}", "leaky_relu.default", of(EDGES), slope)
    for args in ((1.5,), (0.5, 2.0), (1.0, 1.5, 0.7)):
        yield case(f"elu {args}", "elu.default", of(EDGES, torch.float32), *args)
    for alpha in (0.5, 2.0):
        yield case(f"celu {alpha}", "celu.default", of(EDGES, torch.float32), alpha)
    for args in ((2.0,), (0.5, 3.0)):
        yield case(f"softplus {args}", "softplus.default", of(EDGES), *args)
    yield case("hardtanh", "hardtanh.default", of(NUMBERS), -0.5, 3.0)
    yield case("threshold", "threshold.default", of(EDGES), 0.5, 7.0)
    yield case("logit eps", "logit.default", of(NUMBERS), 0.1)
    for approximate in ("none", "tanh"):
        yield case(f"gelu {approximate}", "gelu.default", leaf(3, 5, low=-5, high=5), approximate=approximate)
    yield case("prelu", "prelu.default", leaf(2, 3, 4), leaf(3))
    yield case("prelu one", "prelu.default", of([0.0, -1.0, 2.0, NAN]), of([0.25]))
    yield case("glu", "glu.default", leaf(3, 6), -1)
    yield case("tril", "tril.default", leaf(4, 5), 1)
    yield case("triu", "triu.default", leaf(2, 4, 5), -1)
    for dtype in FLOATS:
        yield case(f"to {dtype}", "to.dtype", leaf(3, 5, dtype=torch.float32), dtype)
    yield case("to integers", "to.dtype", leaf(3, 5), torch.int64)


def reductions():
    ties = of([[1.0, 3.0, 3.0, -1.0], [2.0, 2.0, 2.0, 2.0], [NAN, 1.0, 5.0, 5.0]])
    zeros = of([[1.0, 0.0, 3.0, 2.0], [0.0, 2.0, 0.0, 2.0], [4.0, 1.0, 5.0, 5.0]])
    for dtype in FLOATS:
        for op in ("sum", "mean"):
            yield case(f"{op} {dtype}", op + ".default", leaf(3, 5, dtype=dtype))
        yield case(f"sum dim {dtype}", "sum.dim_IntList", leaf(2, 3, 4, dtype=dtype), [0, 2])
        yield case(f"mean dim {dtype}", "mean.dim", leaf(2, 3, 4, dtype=dtype), [1], True)
    yield case("sum to float64", "sum.default", leaf(3, 5, dtype=torch.float32), dtype=torch.float64)
    yield case("sum empty", "sum.default", leaf(0, 4))
    for name, x in (("plain", leaf(3, 4)), ("ties", ties), ("zeros", zeros)):
        yield case(f"prod {name}", "prod.default", x)
        yield case(f"prod dim {name}", "prod.dim_int", x, 1, True)
        for op in ("amax", "amin"):
            yield case(f"{op} {name}", op + ".default", x, [1])
            yield case(f"{op} all {name}", op + ".default", x)
        for op in ("max", "min"):
            yield case(f"{op} {name}", op + ".default", x)
            yield Case(f"{op} dim {name}", lambda call, o=op, x=x: call(o + ".dim", x, 1)[0])
            yield Case(f"{op} dim keep {name}", lambda call, o=op, x=x: call(o + ".dim", x, 0, True)[0])
    mask = torch.tensor([[True, False, True, False], [False, False, True, True], [True, False, False, True]])
    yield case("masked_scatter", "masked_scatter.default", leaf(3, 4), mask, leaf(12))
    index = torch.tensor([[0, 1, 0, 2], [2, 2, 1, 0]])
    for kind in ("sum", "mean", "prod", "amax", "amin"):
        for includes in (True, False):
            for name, own, x in (("plain", leaf(3, 4), leaf(2, 4)), ("wide", leaf(4, 5), leaf(2, 4)), ("zeros", of([[0.0] * 4, [1.0] * 4, [2.0] * 4]), of([[1.0, 0.0, 2.0, 2.0], [3.0, 0.0, 1.0, 0.0]])),
                                 ("ties", of([[1.0] * 4] * 3), of([[1.0, 1.0, 2.0, 2.0], [1.0, 3.0, 1.0, 2.0]]))):
                yield case(f"scatter_reduce {kind} {includes} {name}", "scatter_reduce.two", own, 0, index, x, kind, include_self=includes)
    constant = of([[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]])
    for op in ("var", "std"):
        for x, name in ((leaf(3, 4), "plain"), (constant, "constant")):
            yield case(f"{op} {name}", op + ".correction", x, [1], correction=1)
            yield case(f"{op} all {name}", op + ".correction", x, None, correction=0)
            yield case(f"{op} unbiased {name}", op + ".dim", x, [0], True, True)
            yield Case(f"{op}_mean {name}", lambda call, o=op, x=x: call(o + "_mean.correction", x, [1], correction=1))
            yield Case(f"{op}_mean of mean {name}", lambda call, o=op, x=x: call(o + "_mean.correction", x, [1], correction=1)[1])
    for order in (0, 1, 2, 3, 0.5, 1.5, 2.5, INF, -INF):
        for x, name in ((leaf(3, 4), "plain"), (of([[0.0, 0.0], [3.0, 4.0], [3.0, -3.0]]), "zeros")):
            yield case(f"norm {order} {name}", "linalg_vector_norm.default", x, order, [1])
            yield case(f"norm all {order} {name}", "linalg_vector_norm.default", x, order)
            yield case(f"norm.dim {order} {name}", "norm.ScalarOpt_dim", x, order, [0], True)
    yield case("logsumexp", "logsumexp.default", leaf(3, 4), [1])
    yield case("logsumexp edges", "logsumexp.default", of([[INF, 1.0], [-INF, -INF], [-INF, 2.0], [100.0, 700.0]]), [1])
    for dim in (0, 1):
        yield case(f"cumsum {dim}", "cumsum.default", leaf(3, 4), dim)
        for name, x in (("plain", leaf(3, 4)), ("zeros", zeros), ("one zero", of([[1.0, 2.0, 0.0, 3.0], [0.0, 2.0, 3.0, 4.0]]))):
            yield case(f"cumprod {dim} {name}", "cumprod.default", x, dim)


def softmaxes():
    for op in ("softmax", "log_softmax"):
        for dtype in FLOATS:
            yield case(f"{op} {dtype}", op + ".int", leaf(3, 5, dtype=dtype), -1)
        yield case(f"{op} first", op + ".int", leaf(3, 5, 2), 0)
        yield case(f"{op} scalar", op + ".int", leaf(), 0)
        yield case(f"{op} edges", op + ".int", of([[100.0, 700.0, -700.0], [-INF, 1.0, 2.0], [5.0, 5.0, 5.0]]), -1)
        yield case(f"{op} to float64", op + ".int", leaf(3, 5, dtype=torch.float32), -1, torch.float64)
        yield case(f"_{op}", f"_{op}.default", leaf(3, 5), 1, False)
    for dim in (0, -1):
        rows = of([[1.0, 2.0, 3.0], [-INF, -INF, -INF], [-INF, 0.0, 1.0]])
        yield case(f"_safe_softmax {dim}", "_safe_softmax.default", rows if dim else leaf(4, 3), dim)
    yield case("log_sigmoid edges", "log_sigmoid.default", of([0.0, -0.0, INF, -INF, 90.0, -90.0, 1e-3]))


def views():
    x = leaf(2, 3, 4)
    for name, op, args in (
            ("view", "view.default", ([6, 4],)), ("reshape", "reshape.default", ([4, 6],)), ("flatten", "flatten.using_ints", ()),
            ("permute", "permute.default", ([2, 0, 1],)), ("transpose", "transpose.int", (0, 2)), ("mT", "mT.default", ()),
            ("expand", "expand.default", ([5, 2, 3, 4],)), ("squeeze", "squeeze.default", ()), ("unsqueeze", "unsqueeze.default", (1,)),
            ("select", "select.int", (1, 2)), ("slice", "slice.Tensor", (2, 1, 3)), ("slice steps", "slice.Tensor", (2, 0, 4, 2)),
            ("narrow", "narrow.default", (1, 1, 2)), ("diagonal", "diagonal.default", (1, 0, 2)), ("unfold", "unfold.default", (2, 3, 1)),
            ("unfold apart", "unfold.default", (2, 1, 2)), ("flip", "flip.default", ([0, 2],)), ("roll", "roll.default", ([1], [2])),
            ("repeat", "repeat.default", ([2, 1, 3],)), ("constant_pad_nd", "constant_pad_nd.default", ([1, 2, -1, 0], 5.0)),
            ("movedim", "movedim.int", (0, 2)), ("tile", "tile.default", ([2, 2],)), ("rot90", "rot90.default", (1, [0, 1])),
            ("diff", "diff.default", ()), ("repeat_interleave", "repeat_interleave.self_int", (2, 1)),
            ("diag_embed", "diag_embed.default", ()), ("unflatten", "unflatten.int", (2, [2, 2]))):
        yield case(name, op, x, *args)
    for layout, y in layouts():
        yield case(f"reshape {layout}", "reshape.default", y, [3, 8])
        yield case(f"slice {layout}", "slice.Tensor", y, 1, 1, 5, 2)
    for name, op, args in (("split", "split.Tensor", (2, 2)), ("split sizes", "split_with_sizes.default", ([1, 3], 2)),
                           ("chunk", "chunk.default", (2, 2)), ("unbind", "unbind.int", (1,))):
        yield Case(name, lambda call, o=op, a=args: call(o, x, *a))
        yield Case(name + " last", lambda call, o=op, a=args: call(o, x, *a)[-1])
    a, b, c = leaf(2, 3), leaf(4, 3), leaf(2, 3)
    yield case("cat", "cat.default", [a, b, c], 0)
    yield case("cat with constants", "cat.default", [a, plain(4, 3), c], 0)
    yield case("stack", "stack.default", [a, c], 1)
    for pad in ("reflection", "replication"):
        yield case(f"{pad}_pad1d", f"{pad}_pad1d.default", leaf(2, 3, 4), [2, 1])
        yield case(f"{pad}_pad2d", f"{pad}_pad2d.default", leaf(2, 3, 4), [1, 2, 1, 0])
    yield case("slice_scatter", "slice_scatter.default", leaf(4, 6), leaf(4, 2), 1, 1, 5, 2)
    yield case("select_scatter", "select_scatter.default", leaf(4, 6), leaf(6), 0, 2)
    yield case("pixel_shuffle", "pixel_shuffle.default", leaf(2, 8, 3, 3), 2)
    yield case("pixel_unshuffle", "pixel_unshuffle.default", leaf(2, 2, 4, 4), 2)


def indexing():
    index = torch.tensor([[0, 2, 2], [1, 0, 1]])
    yield case("gather", "gather.default", leaf(4, 3), 0, index)
    yield case("index_select", "index_select.default", leaf(4, 3), 0, torch.tensor([3, 0, 3]))
    yield case("index", "index.Tensor", leaf(4, 3), [torch.tensor([3, 0, -1]), torch.tensor([1, 1, 2])])
    yield case("index one", "index.Tensor", leaf(4, 3), [None, torch.tensor([2, 2, 0])])
    yield case("as_strided", "as_strided.default", leaf(4, 3), [2, 2], [1, 2])
    yield case("take_along_dim", "take_along_dim.default", leaf(4, 3), index, 0)
    yield case("scatter", "scatter.src", leaf(4, 3), 0, torch.tensor([[0, 2, 3], [1, 0, 1]]), leaf(2, 3))
    yield case("scatter value", "scatter.value", leaf(4, 3), 0, index, 2.0)
    yield case("scatter_add", "scatter_add.default", leaf(4, 3), 0, index, leaf(2, 3))
    yield case("index_add", "index_add.default", leaf(4, 3), 0, torch.tensor([1, 1, 3]), leaf(3, 3))
    yield case("index_copy", "index_copy.default", leaf(4, 3), 0, torch.tensor([1, 3]), leaf(2, 3))
    yield case("index_put", "index_put.default", leaf(4, 3), [torch.tensor([1, 3])], leaf(2, 3))
    yield case("index_put adding", "index_put.default", leaf(4, 3), [torch.tensor([1, 1, 3])], leaf(3, 3), True)
    for dtype in FLOATS:
        yield case(f"embedding {dtype}", "embedding.default", leaf(5, 3, dtype=dtype), torch.tensor([[1, 4], [1, 1]]))
    yield case("embedding padding", "embedding.default", leaf(5, 3), torch.tensor([[1, 4], [1, 0]]), 1)
    yield Case("topk", lambda call, x=leaf(3, 6): call("topk.default", x, 2)[0])
    yield Case("sort", lambda call, x=leaf(3, 6): call("sort.default", x, 0, True)[0])


def products():
    for dtype in FLOATS:
        yield case(f"mm {dtype}", "mm.default", leaf(3, 4, dtype=dtype), leaf(4, 5, dtype=dtype))
        yield case(f"bmm {dtype}", "bmm.default", leaf(2, 3, 4, dtype=dtype), leaf(2, 4, 5, dtype=dtype))
        yield case(f"linear {dtype}", "linear.default", leaf(2, 3, 4, dtype=dtype), leaf(5, 4, dtype=dtype), leaf(5, dtype=dtype))
    yield case("addmm", "addmm.default", leaf(5), leaf(3, 4), leaf(4, 5), beta=0.5, alpha=2)
    yield case("addmm whole", "addmm.default", leaf(3, 5), leaf(3, 4), leaf(4, 5))
    yield case("baddbmm", "baddbmm.default", leaf(2, 3, 5), leaf(2, 3, 4), leaf(2, 4, 5), beta=0.5, alpha=2)
    yield case("linear weight", "linear.default", plain(3, 4), leaf(5, 4))
    yield case("mm empty", "mm.default", leaf(3, 0), leaf(0, 5))
    for first, second in (((3, 4), (4, 5)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (4,)), ((5, 1, 3, 4), (2, 4, 3)), ((4,), (2, 4, 5))):
        yield case(f"matmul {first} {second}", "matmul.default", leaf(*first), leaf(*second))
    yield case("mv", "mv.default", leaf(3, 4), leaf(4))
    yield case("dot", "dot.default", leaf(4), leaf(4))
    yield case("outer", "outer.default", leaf(4), leaf(3))
    yield case("addmv", "addmv.default", leaf(3), leaf(3, 4), leaf(4), beta=0.5, alpha=2)
    yield case("addr", "addr.default", leaf(3, 4), leaf(3), leaf(4))
    yield case("einsum", "einsum.default", "bij,bjk->ik", [leaf(2, 3, 4), leaf(2, 4, 5)])
    yield case("kron", "kron.default", leaf(2, 3), leaf(3, 2))
    yield case("bilinear", "bilinear.default", leaf(2, 3), leaf(2, 4), leaf(5, 3, 4), leaf(5))
    q, k, v = leaf(2, 3, 4, 5), leaf(2, 3, 6, 5), leaf(2, 3, 6, 5)
    attention = "scaled_dot_product_attention.default"
    for dtype in REALS:
        parts = [tensor.detach().to(dtype).requires_grad_() for tensor in (q, k, v)]
        yield case(f"attention {dtype}", attention, *parts)
    yield case("attention mask", attention, q, k, v, torch.rand(4, 6) > 0.3)
    yield case("attention bias", attention, q, k, v, leaf(4, 6))
    square = leaf(2, 3, 6, 5)
    yield case("attention causal", attention, square, k, v, None, 0.0, True)


def norms():
    for dtype in FLOATS:
        yield case(f"layer_norm {dtype}", "layer_norm.default", leaf(3, 6, dtype=dtype), [6], leaf(6, dtype=dtype), leaf(6, dtype=dtype))
    yield case("layer_norm plain", "layer_norm.default", leaf(3, 2, 6), [2, 6])
    yield Case("native_layer_norm", lambda call, x=leaf(3, 6), w=leaf(6): call("native_layer_norm.default", x, [6], w, None, 1e-5)[0])
    yield case("group_norm", "group_norm.default", leaf(2, 6, 4), 3, leaf(6), leaf(6))
    yield case("rms_norm", "rms_norm.default", leaf(3, 6), [6], leaf(6))
    yield case("instance_norm", "instance_norm.default", leaf(2, 3, 5), leaf(3), leaf(3), None, None, True, 0.1, 1e-5, False)
    for training in (True, False):
        for dtype in REALS:
            def run(call, training=training, x=leaf(4, 3, 5, dtype=dtype), w=leaf(3, dtype=dtype), b=leaf(3, dtype=dtype)):
                mean, var = plain(3, dtype=x.dtype), plain(3, low=0.5, dtype=x.dtype)
                return call("batch_norm.default", x, w, b, mean, var, training, 0.1, 1e-5, False)
            yield Case(f"batch_norm {training} {dtype}", run)


def convolutions():
    for name, x, w, args in (
            ("1d", (2, 3, 8), (4, 3, 3), ([1], [0], [1], False, [0], 1)), ("strides", (2, 3, 9), (4, 3, 3), ([2], [1], [1], False, [0], 1)),
            ("left over", (2, 3, 8), (4, 3, 3), ([3], [0], [1], False, [0], 1)), ("dilated", (2, 3, 9), (4, 3, 3), ([1], [2], [2], False, [0], 1)),
            ("groups", (2, 4, 8), (6, 2, 3), ([1], [1], [1], False, [0], 2)), ("depthwise", (2, 4, 8), (4, 1, 3), ([2], [1], [1], False, [0], 4)),
            ("2d", (2, 3, 6, 7), (4, 3, 3, 2), ([1, 2], [1, 0], [1, 1], False, [0, 0], 1)),
            ("points", (2, 4, 7, 6), (6, 2, 1, 1), ([2, 3], [0, 0], [1, 1], False, [0, 0], 2)),
            ("points of rows", (2, 3, 8), (4, 3, 1), ([3], [0], [1], False, [0], 1)),
            ("2d dilated", (1, 2, 8, 8), (2, 2, 3, 3), ([2, 1], [2, 1], [2, 1], False, [0, 0], 1)),
            ("3d", (1, 2, 4, 4, 5), (3, 2, 2, 2, 2), ([1, 1, 2], [0, 1, 0], [1, 1, 1], False, [0, 0, 0], 1)),
            ("transposed", (2, 3, 5), (3, 4, 3), ([2], [1], [1], True, [1], 1)), ("transposed groups", (2, 4, 5), (4, 3, 3), ([2], [0], [2], True, [0], 2))):
        outputs = w[1] * args[5] if args[3] else w[0]
        for dtype in REALS:
            yield case(f"convolution {name} {dtype}", "convolution.default", leaf(*x, dtype=dtype), leaf(*w, dtype=dtype),
                       leaf(outputs, dtype=dtype), *args)
    for dtype in FLOATS:
        yield case(f"conv2d {dtype}", "conv2d.default", leaf(2, 3, 6, 6, dtype=dtype), leaf(4, 3, 3, 3, dtype=dtype), leaf(4, dtype=dtype), [1, 1], [1, 1])
    yield case("conv2d same", "conv2d.padding", leaf(2, 3, 6, 6), leaf(4, 3, 3, 2), None, [1, 1], "same")
    yield case("conv2d one image", "conv2d.default", leaf(3, 6, 6, dtype=torch.float32), leaf(4, 3, 3, 3, dtype=torch.float32))
    yield case("conv_transpose2d", "conv_transpose2d.input", leaf(2, 3, 4, 4), leaf(3, 4, 3, 3), leaf(4), [2, 2])


def pools():
    ties = torch.randint(0, 3, (2, 3, 6, 6)).double().requires_grad_()
    for name, x in (("plain", leaf(2, 3, 6, 6)), ("ties", ties), ("float32", leaf(2, 3, 6, 6, dtype=torch.float32)), ("one image", leaf(3, 6, 6))):
        yield case(f"max_pool2d {name}", "max_pool2d.default", x, [2, 2])
        yield case(f"max_pool2d overlapping {name}", "max_pool2d.default", x, [3, 3], [2, 2], [1, 1])
        yield case(f"max_pool2d ceil {name}", "max_pool2d.default", x, [3, 3], [2, 2], [0, 0], [1, 1], True)
        yield Case(f"max_pool2d_with_indices {name}", lambda call, x=x: call("max_pool2d_with_indices.default", x, [2, 2])[0])
        yield case(f"avg_pool2d {name}", "avg_pool2d.default", x, [2, 2])
        yield case(f"avg_pool2d padded {name}", "avg_pool2d.default", x, [3, 3], [2, 2], [1, 1], False, False)
        yield case(f"adaptive_avg_pool2d {name}", "adaptive_avg_pool2d.default", x, [4, 3])
        yield case(f"adaptive_avg_pool2d one {name}", "adaptive_avg_pool2d.default", x, [1, 1])
        yield Case(f"adaptive_max_pool2d {name}", lambda call, x=x: call("adaptive_max_pool2d.default", x, [4, 3])[0])
    # Windows of nothing but -inf reach into the padding, whose places are none of theirs; the last NaN is largest.
    edges = torch.randint(0, 3, (2, 3, 7, 6)).float()
    edges[edges == 0], edges[:, 0, :3, :3], edges[0, 1, 2:6, 1], edges[1, 2] = float("-inf"), float("-inf"), float("nan"), float("-inf")
    edges.requires_grad_()
    for name, args in (("overlapping", ([3, 3], [2, 2], [1, 1])), ("ceil", ([3, 2], [2, 3], [1, 1], [1, 1], True)), ("side by side", ([2, 3],)),
                       ("apart", ([2, 2], [3, 4])), ("step by step", ([3, 2], [1, 1], [1, 0])), ("dilated", ([2, 2], [1, 1], [0, 0], [2, 1])),
                       ("long", ([7, 3], [1, 1], [3, 1]))):
        yield case(f"max_pool2d of edges {name}", "max_pool2d.default", edges, *args)
        for dtype in FLOATS:
            yield case(f"max_pool2d {name} {dtype}", "max_pool2d.default", leaf(2, 3, 7, 6, dtype=dtype), *args)
    yield Case("max_pool2d channels last", lambda call: call("max_pool2d.default", leaf(2, 8, 6, 6).detach().to(memory_format=torch.channels_last)
                                                             .requires_grad_(), [3, 3], [2, 2], [1, 1]))
    yield case("max_pool3d", "max_pool3d.default", leaf(1, 2, 5, 4, 6), [2, 2, 2], [2, 1, 2])
    yield case("max_pool1d overlapping", "max_pool1d.default", leaf(2, 3, 9), [4], [2], [2])
    yield case("max_pool1d", "max_pool1d.default", leaf(2, 3, 8), [2])
    yield case("avg_pool1d", "avg_pool1d.default", leaf(2, 3, 8), [3], [2])
    yield case("avg_pool3d", "avg_pool3d.default", leaf(1, 2, 4, 4, 4), [2, 2, 2])
    for mode, rank in (("nearest1d", 1), ("nearest2d", 2), ("linear1d", 1), ("bilinear2d", 2), ("bicubic2d", 2)):
        x, size = leaf(2, 3, *([4] * rank)), [7] * rank
        align = [] if "nearest" in mode else [False]
        yield case(f"upsample {mode}", f"upsample_{mode}.vec", x, size, *align, None)


def losses():
    x, t = leaf(3, 5), leaf(3, 5)
    x32 = leaf(4, 5, dtype=torch.float32)
    classes = torch.tensor([1, 4, -100, 0])
    for reduction in (0, 1, 2):
        for op in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            yield case(f"{op} {reduction}", op + ".default", x, t, reduction)
        yield case(f"l1_loss ties {reduction}", "l1_loss.default", x, x.detach().clone(), reduction)
        p, q = leaf(3, 5, low=0.01, high=0.99), leaf(3, 5, low=0, high=1)
        yield case(f"bce {reduction}", "binary_cross_entropy.default", p, q, None, reduction)
        yield case(f"bce weight {reduction}", "binary_cross_entropy.default", p, q, plain(3, 5), reduction)
        yield case(f"bce edges {reduction}", "binary_cross_entropy.default", of([0.0, 1.0, 0.0, 1.0, 0.5], torch.float32), of([0.0, 1.0, 1.0, 0.0, 0.5], torch.float32), None, reduction)
        yield case(f"bce logits {reduction}", "binary_cross_entropy_with_logits.default", x, q, None, None, reduction)
        yield case(f"bce logits weights {reduction}", "binary_cross_entropy_with_logits.default", x, q, plain(5), plain(5, low=0.5), reduction)
        yield case(f"bce logits edges {reduction}", "binary_cross_entropy_with_logits.default", of([0.0, 100.0, -100.0, 1000.0, -1000.0]),
                   of([0.5, 1.0, 0.0, 0.0, 1.0]), None, None, reduction)
        for smoothing in (0.0, 0.1):
            yield case(f"cross_entropy {reduction} {smoothing}", "cross_entropy_loss.default", x32, classes, None, reduction, -100, smoothing)
            yield case(f"cross_entropy weight {reduction} {smoothing}", "cross_entropy_loss.default", x32, classes,
                       plain(5, dtype=torch.float32, low=0.1), reduction, -100, smoothing)
        yield case(f"cross_entropy shares {reduction}", "cross_entropy_loss.default", x, plain(3, 5, low=0), None, reduction)
        yield case(f"cross_entropy all ignored {reduction}", "cross_entropy_loss.default", leaf(2, 5), torch.tensor([-100, -100]), None, reduction)
        yield case(f"cross_entropy images {reduction}", "cross_entropy_loss.default", leaf(2, 4, 3), torch.tensor([[1, 0, 3], [2, 2, 0]]), None, reduction)
        yield case(f"nll_loss {reduction}", "nll_loss_nd.default", x32, classes, None, reduction)
    yield case("cosine_similarity", "cosine_similarity.default", leaf(3, 5), leaf(3, 5), 1)
    yield case("cosine_similarity zeros", "cosine_similarity.default", of([[0.0, 0.0], [1.0, 2.0]]), of([[1.0, 2.0], [1.0, 2.0]]), 1)


def composites():
    """Ops that are taken apart by name alone."""
    near = of(NUMBERS)
    for op in "sgn special_ndtr hardshrink softshrink".split():
        yield case(op, f"{op}.default", leaf(3, 5, low=0.1))
        yield case(f"{op} negative", f"{op}.default", leaf(3, 5, high=-0.1))
    for op in "hardshrink softshrink sgn".split():
        yield case(f"{op} edges", f"{op}.default", near)
    for op in "logaddexp logaddexp2".split():
        yield case(op, f"{op}.default", leaf(3, 5), leaf(5))
    for op in ("logaddexp", "logaddexp2"):
        yield case(f"{op} edges", op + ".default", of([INF, -INF, INF, -INF, 1.0]), of([INF, -INF, -INF, 1.0, 1.0]))
        yield case(f"{op} spread", op + ".default", leaf(3, 4), leaf(4))
    yield case("logaddexp far", "logaddexp.default", of([800.0, -800.0, 0.0, -INF]), of([-800.0, 800.0, 0.0, 1.0]))
    for op in ("nansum.default", "nanmean.default"):
        yield case(op, op, of([[1.0, NAN, 2.0], [NAN, NAN, 3.0]]), [1])
    for reduction in (0, 1, 2):
        yield case(f"kl_div {reduction}", "kl_div.default", leaf(3, 5), leaf(3, 5, low=0.1), reduction)
        yield case(f"kl_div logs {reduction}", "kl_div.default", leaf(3, 5), leaf(3, 5), reduction, log_target=True)
        signs = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
        yield case(f"soft_margin {reduction}", "soft_margin_loss.default", leaf(3), signs, reduction)
        yield case(f"margin_ranking {reduction}", "margin_ranking_loss.default", leaf(3), leaf(3), signs, 0.1, reduction)
        yield case(f"hinge_embedding {reduction}", "hinge_embedding_loss.default", leaf(3), signs, 1.0, reduction)
        yield case(f"poisson {reduction}", "poisson_nll_loss.default", leaf(3), leaf(3, low=0.1), True, False, 1e-8, reduction)
        yield case(f"triplet {reduction}", "triplet_margin_loss.default", leaf(3, 4), leaf(3, 4), leaf(3, 4), 1.0, 2, 1e-6, False, reduction)
        yield case(f"cosine_embedding {reduction}", "cosine_embedding_loss.default", leaf(3, 4), leaf(3, 4), signs, 0.1, reduction)
        yield case(f"multi_margin {reduction}", "multi_margin_loss.default", leaf(3, 4), torch.tensor([0, 3, 1]), 1, 1, None, reduction)
    for op, args in (("expand_copy.default", ([2, 3, 4],)), ("permute_copy.default", ([1, 0],)), ("t_copy.default", ()),
                     ("transpose_copy.int", (0, 1)), ("select_copy.int", (0, 1)), ("slice_copy.Tensor", (1, 1, 3)),
                     ("unsqueeze_copy.default", (0,)), ("view_copy.default", ([4, 3],)), ("fft_fftshift.default", ()),
                     ("sum_to_size.default", ([1, 4],)), ("msort.default", ()), ("cov.default", ()),
                     ("linalg_norm.default", ()), ("linalg_matrix_norm.str_ord", ("fro",)), ("frobenius_norm.dim", ([0, 1],)),
                     ("trapezoid.dx", ()), ("cumulative_trapezoid.dx", ()), 
                     ("quantile.scalar", (0.3, 1)), ("float_power.Tensor_Scalar", (2.5,)), 
                     ("index_fill.int_Scalar", (1, torch.tensor([0, 2]), 3.0)), ("take.default", (torch.tensor([0, 5, 5]),)),
                     ("round.decimals",  ()), ("corrcoef.default", ()),
                     ("alias_copy.default", ()), ("resolve_conj.default", ()), ("resolve_neg.default", ()),
                     ("conj_physical.default", ()), ("diagonal_copy.default", ()), ("squeeze_copy.default", ()),
                     ("unfold_copy.default", (1, 2, 1)), ("fft_ifftshift.default", ())):
        x = leaf(3, 4, low=0.2)
        if op == "round.decimals":
            yield case(op, op, x, decimals=1)
        else:
            yield case(op, op, x, *args)
    for op in ("unbind_copy.int", "split_copy.Tensor", "split_with_sizes_copy.default"):
        args = {"unbind_copy.int": (0,), "split_copy.Tensor": (2, 1), "split_with_sizes_copy.default": ([1, 3], 1)}[op]
        yield case(op, op, leaf(3, 4), *args)
    for order in (0.5, 1, 1.5, 2, 3, INF):
        yield case(f"dist {order}", "dist.default", leaf(3, 4), leaf(3, 4), order)
        yield case(f"dist {order} spread", "dist.default", leaf(3, 4), leaf(4), order)
    yield case("pairwise_distance", "pairwise_distance.default", leaf(3, 4), leaf(3, 4))
    yield case("cross", "linalg_cross.default", leaf(2, 3), leaf(2, 3))
    yield case("cross.default", "cross.default", leaf(2, 3), leaf(2, 3), 1)
    yield case("put", "put.default", leaf(3, 4), torch.tensor([0, 5]), leaf(2))
    yield case("diagonal_scatter", "diagonal_scatter.default", leaf(3, 4), leaf(3))
    yield case("cartesian_prod", "cartesian_prod.default", [leaf(2), leaf(3)])
    for number, x in enumerate((leaf(3, 4), of([[0.0] * 4] * 3))):
        for op in ("linalg_norm.default", "frobenius_norm.dim"):
            yield case(f"{op} {number}", op, x, *([[0, 1]] if op == "frobenius_norm.dim" else []))
        yield case(f"dist of itself {number}", "dist.default", x, x.detach().clone(), 2)
    a, signs = leaf(3, 4), torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    yield case("margin_ranking tie", "margin_ranking_loss.default", b := leaf(3), b.detach().clone(), signs, 0.0, 0)
    yield case("hinge_embedding tie", "hinge_embedding_loss.default", of([1.0, 1.0, 0.5]), signs, 1.0, 0)
    yield case("triplet tie", "triplet_margin_loss.default", a, c := plain(3, 4), c.clone().requires_grad_(), 0.0)
    yield case("multi_margin tie", "multi_margin_loss.default", of([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), torch.tensor([0, 2]), 1, 1, None, 0)
    yield case("kl_div zeros", "kl_div.default", leaf(3), torch.tensor([0.0, 0.3, 0.7], dtype=torch.float64), 0)
    yield case("_unsafe_index", "_unsafe_index.Tensor", leaf(4, 3), [torch.tensor([3, 0, 1])])
    yield case("float_power", "float_power.Tensor_Tensor", leaf(3, low=0.2), leaf(3))
    yield case("gradient", "gradient.scalarint", leaf(5))
    yield case("trapezoid.x", "trapezoid.x", leaf(3, 4), leaf(3, 4))


def program(run):
    """A program of several ops, by its name."""
    return Case(run.__name__, run)


def programs():
    a, c3, c = leaf(3, 4), leaf(3, 4), leaf(4)

    def used_often(call):
        x = call("sin.default", a)
        y = call("mul.Tensor", x, x)
        return call("add.Tensor", call("add.Tensor", y, x), call("mul.Tensor", a, x))

    def sums_that_cancel(call, x=of([1e8, 1.0], torch.float32)):
        parts = [call("mul.Tensor", x, factor) for factor in (plain(2, dtype=torch.float32), plain(2, dtype=torch.float32) * 1e8)]
        parts += [call("mul.Tensor", x, -parts[1].detach() / x.detach())]
        return call("add.Tensor", call("add.Tensor", parts[0], parts[1]), parts[2])

    def layers(call):
        hidden = call("relu.default", call("linear.default", a, c3, leaf(3)))
        return call("sum.default", call("tanh.default", call("mm.default", hidden, leaf(3, 2))))

    def written(call):
        x = call("mul.Tensor", a, 2.0)
        call("mul_.Tensor", x, c)
        call("relu_.default", x)
        return x

    def written_through_a_view(call):
        x = call("mul.Tensor", a, 2.0)
        row = call("select.int", x, 0, 1)
        call("mul_.Tensor", row, c)
        call("copy_.default", call("select.int", x, 0, 2), c)
        return call("sin.default", x)

    def detached(call):
        x = call("sin.default", a)
        return call("mul.Tensor", call("detach.default", x), x)

    def without_grad(call):
        x = call("sin.default", a)
        with torch.no_grad():
            y = call("cos.default", x)
            call("add_.Tensor", y, x)
        return call("mul.Tensor", x, y)

    def not_reached(call):
        return call("add.Tensor", a, call("sum.default", call("detach.default", c)))

    def reached_by_zeros(call):
        return call("add.Tensor", a, call("floor.default", c))

    def several_outputs(call):
        x = call("exp.default", a)
        return [x, call("sum.default", x), call("argmax.default", x, 1)]

    def an_input_as_output(call):
        return [a, call("mul.Tensor", a, c)]

    def integers_between(call):
        places = call("argmax.default", a, 1, True)
        return call("gather.default", a, 1, places)

    yield from map(program, (used_often, sums_that_cancel, layers, written, written_through_a_view, detached, without_grad, not_reached,
                             reached_by_zeros, several_outputs, an_input_as_output, integers_between))


def all_cases():
    for family in (unary, binary, choices, reductions, softmaxes, views, indexing, products, norms, convolutions, pools, losses, composites,
                   programs):
        yield from family()
