"""The cases: every op over dtypes, layouts, zero-size, NaN and odd shapes; then small programs of several ops."""
import itertools

import torch

import contraction_cases
import formula_cases
import image_cases
import layout_cases
import matrix_cases
import recurrent_cases
from case import FLOATS, INTS, NAN, SHAPES, Case, layouts, tensor
from convolution_cases import convolutions, images, named_convolutions
from pool_cases import pools, pools_of_all_dims, resampled


def unary():
    ops = """abs neg floor ceil round trunc sign square frac sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan
    asin acos atan sinh cosh tanh sigmoid erf erfc logical_not isnan isinf isfinite relu relu6 silu hardswish hardsigmoid mish selu
    log_sigmoid gelu hardtanh leaky_relu elu celu softplus nan_to_num logit bitwise_not clone contiguous alias detach""".split()
    for op in ops:
        name = op + ".default"
        for dtype in FLOATS + INTS + [torch.bool]:
            for shape in SHAPES:
                x = tensor(shape, dtype, special=op != "gelu")  # torch's vector erf gives NaN at infinity
                yield Case(f"{name} {dtype} {shape}", lambda call, n=name, x=x: call(n, x))
        for layout, x in layouts(tensor):
            yield Case(f"{name} {layout}", lambda call, n=name, x=x: call(n, x))
        in_place = op + "_.default"
        if hasattr(getattr(torch.ops.aten, op + "_", None), "default"):
            for dtype in (torch.float32, torch.bfloat16, torch.int32):
                def run(call, n=in_place, x=tensor((3, 4), dtype)):
                    y = call("t.default", x)
                    return [call(n, y), x]
                yield Case(f"{in_place} {dtype}", run)


PAIRS = [((3, 5), (3, 5)), ((3, 5), (5,)), ((3, 1), (1, 5)), ((), (3,)), ((2, 3, 4), (3, 1)), ((0, 3), (1, 3)), ((), ())]


def binary():
    ops = """add sub rsub mul div fmod remainder pow eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor""".split()
    plain = "maximum minimum fmax fmin atan2 logical_and logical_or logical_xor floor_divide".split()
    dtypes = FLOATS + INTS + [torch.bool]
    for op in ops + plain:
        name = op + (".Tensor_Tensor" if op == "pow" else ".Tensor" if op in ops else ".default")
        for a, b in itertools.product(dtypes, dtypes):
            x, y = tensor((3, 5), a, 1, 4), tensor((5,), b, 1, 4)
            yield Case(f"{name} {a} {b}", lambda call, n=name, x=x, y=y: call(n, x, y))
            yield Case(f"{name} {a} 0-dim {b}", lambda call, n=name, x=x, y=tensor((), b, 1, 4): call(n, x, y))
        for first, second in PAIRS:
            x, y = tensor(first, special=True), tensor(second)
            yield Case(f"{name} {first} {second}", lambda call, n=name, x=x, y=y: call(n, x, y))
        for (left, x), (right, y) in itertools.product(layouts(tensor), layouts(tensor)):
            if x.shape == y.shape:
                yield Case(f"{name} {left} {right}", lambda call, n=name, x=x, y=y: call(n, x, y))
        scalar = op + (".Tensor_Scalar" if op == "pow" else ".Scalar")
        if op in ops:
            for dtype, number in itertools.product(dtypes, (2, 2.5, True, -1, 0.5)):
                x = tensor((3, 4), dtype, 1, 4)
                yield Case(f"{scalar} {dtype} {number}", lambda call, n=scalar, x=x, v=number: call(n, x, v))
                if op != "pow":
                    yield Case(f"{name} {dtype} number {number}", lambda call, n=name, x=x, v=number: call(n, x, v))
        if op in "add sub mul div".split():
            for dtype in (torch.float32, torch.bfloat16, torch.int64):
                def run(call, n=op + "_.Tensor", x=tensor((4, 6), dtype), y=tensor((3,), dtype, 1, 3)):
                    view = call("slice.Tensor", x, 1, 0, 6, 2)
                    call(n, view, y)
                    return [call("mul.Tensor", x, 2), x]
                yield Case(f"{op}_ through a slice {dtype}", run)
    for op, other in (("pow_.Scalar", 3), ("pow_.Tensor", tensor((4,), low=1)), ("bitwise_and_.Scalar", 3), ("__iand__.Tensor", None), ("floor_divide_.Scalar", 2),
                      ("div_.Tensor_mode", tensor((4,), low=1)), ("clamp_.default", 0.5), ("masked_fill_.Scalar", None), ("lerp_.Scalar", None), ("atan2_.default", tensor((4,)))):
        def run(call, n=op, other=other, x=tensor((3, 4), low=0.5), i=tensor((3, 4), torch.int64, 1, 9)):
            if n == "masked_fill_.Scalar":
                return [call(n, x, i > 4, 2.5), x]
            if n == "lerp_.Scalar":
                return [call(n, x, x + 1, 0.25), x]
            if "and" in n:
                return [call(n, i, i + 1 if other is None else other), i]
            extra = {"rounding_mode": "floor"} if "mode" in n else {}
            return [call(n, x, other, **extra), x]
        yield Case(f"{op} in place", run)
    for op, mode in itertools.product(("div.Tensor_mode", "div.Scalar_mode"), (None, "floor", "trunc")):
        for dtype in dtypes:
            x, y = tensor((3, 4), dtype, -9, 9), tensor((3, 4), dtype, 1, 4) if "Tensor" in op else 3
            yield Case(f"{op} {mode} {dtype}", lambda call, n=op, x=x, y=y, m=mode: call(n, x, y, rounding_mode=m))
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        for alpha in (1, 2, 3):
            for op in ("add.Tensor", "sub.Tensor", "rsub.Tensor"):
                x, y = tensor((3, 4), dtype), tensor((4,), dtype)
                yield Case(f"{op} alpha {alpha} {dtype}", lambda call, n=op, x=x, y=y, a=alpha: call(n, x, y, alpha=a))
    for dtype, op in itertools.product((torch.float16, torch.bfloat16), ("add.Tensor", "sub.Tensor", "rsub.Tensor")):
        x, y = torch.linspace(-3, 5, 64).to(dtype), torch.linspace(7, -2, 64).to(dtype)
        yield Case(f"{op} alpha 0.3 {dtype}", lambda call, n=op, x=x, y=y: call(n, x, y, alpha=0.3))


def several():
    x, y, z = tensor((3, 4)), tensor((4,)), tensor((3, 1))
    for dtype in FLOATS + [torch.int64]:
        a, b, c = (t.to(dtype) for t in (x, y, z))
        yield Case(f"where.self {dtype}", lambda call, a=a, b=b: call("where.self", a > 0, a, b))
        yield Case(f"where.Scalar {dtype}", lambda call, a=a: call("where.Scalar", a > 0, 1.5, 2))
        yield Case(f"where.ScalarOther {dtype}", lambda call, a=a: call("where.ScalarOther", a > 0, a, 0.0))
        yield Case(f"where.ScalarSelf {dtype}", lambda call, a=a: call("where.ScalarSelf", a > 0, 1, a))
        for low, high in ((-1, 1), (None, 0.5), (0, None), (2, -2), (None, NAN), (NAN, None), (NAN, 1), (0, NAN)):
            yield Case(f"clamp.default {low} {high} {dtype}", lambda call, a=a, l=low, h=high: call("clamp.default", a, l, h))
        yield Case(f"clamp.Tensor {dtype}", lambda call, a=a, b=b, c=c: call("clamp.Tensor", a, b, c))
        yield Case(f"clamp_min.default {dtype}", lambda call, a=a: call("clamp_min.default", a, 0.5))
        yield Case(f"clamp_max.Tensor {dtype}", lambda call, a=a, b=b: call("clamp_max.Tensor", a, b))
        yield Case(f"addcmul {dtype}", lambda call, a=a, b=b, c=c: call("addcmul.default", a, b, c, value=2))
        yield Case(f"addcdiv {dtype}", lambda call, a=a, b=b, c=c: call("addcdiv.default", a, b, c, value=0.5))
        for weight in (0.25, 0.75):
            yield Case(f"lerp.Scalar {weight} {dtype}", lambda call, a=a, b=b, w=weight: call("lerp.Scalar", a, b, w))
        yield Case(f"lerp.Tensor {dtype}", lambda call, a=a, b=b, c=c: call("lerp.Tensor", a, b, c))
        yield Case(f"masked_fill {dtype}", lambda call, a=a: call("masked_fill.Scalar", a, a > 0, -float("inf") if a.is_floating_point() else 7))
        yield Case(f"masked_fill.Tensor {dtype}", lambda call, a=a: call("masked_fill.Tensor", a, a[0] > 0, torch.tensor(3, dtype=a.dtype)))
        yield Case(f"threshold {dtype}", lambda call, a=a: call("threshold.default", a, 0.5, 2))
        yield Case(f"prelu {dtype}", lambda call, a=a, b=b: call("prelu.default", a, b))
        yield Case(f"glu {dtype}", lambda call, a=a: call("glu.default", a))
        yield Case(f"gelu tanh {dtype}", lambda call, a=a: call("gelu.default", a, approximate="tanh"))
        for other in FLOATS + INTS + [torch.bool]:
            yield Case(f"to.dtype {dtype} {other}", lambda call, a=a, o=other: call("to.dtype", a, o))
            yield Case(f"_to_copy {dtype} {other}", lambda call, a=a, o=other: call("_to_copy.default", a.t(), dtype=o))
        yield Case(f"type_as {dtype}", lambda call, a=a: call("type_as.default", a, torch.zeros(1)))
        for args in ((), (2,)):
            yield Case(f"tril {args} {dtype}", lambda call, a=a, s=args: call("tril.default", a, *s))
            yield Case(f"triu {args} {dtype}", lambda call, a=a, s=args: call("triu.default", a, *s))
    for name in ("dropout.default",):
        yield Case(name, lambda call: call(name, x, 0.5, False))


def reductions():
    dims = [None, [], [0], [1], [-1], [0, 1], [0, 2]]
    for dtype in FLOATS + INTS + [torch.bool]:
        for shape in [(), (5,), (3, 4), (2, 3, 4), (0, 3), (3, 0), (17, 33)]:
            x = tensor(shape, dtype)
            for op in ("sum", "mean", "prod", "amax", "amin", "max", "min", "any", "all", "argmax", "argmin", "var", "std", "count_nonzero"):
                if op == "prod" and dtype.itemsize == 2 and len(shape) > 1 and shape[0] == 17:
                    continue  # torch rounds its partial products
                yield Case(f"{op}.default {dtype} {shape}", lambda call, n=op + ".default", x=x: call(n, x))
            for dim, keep in itertools.product(dims[1:], (False, True)):
                if dim and max(dim) >= max(len(shape), 1):
                    continue
                tag = f"{dtype} {shape} {dim} {keep}"
                for op in ("sum.dim_IntList", "mean.dim", "amax.default", "amin.default", "any.dims", "all.dims", "var.dim", "std.dim", "logsumexp.default"):
                    if op in ("var.dim", "std.dim"):
                        yield Case(f"{op} {tag}", lambda call, n=op, x=x, d=dim, k=keep: call(n, x, d, True, k))
                    else:
                        yield Case(f"{op} {tag}", lambda call, n=op, x=x, d=dim, k=keep: call(n, x, d, k))
                for op in ("var.correction", "std.correction", "var_mean.correction", "std_mean.correction"):
                    for c in (0, 2):
                        yield Case(f"{op} {tag} {c}", lambda call, n=op, x=x, d=dim, k=keep, c=c: call(n, x, d, correction=c, keepdim=k))
                for p in (1, 2, 3, 0, float("inf"), -float("inf")):
                    yield Case(f"linalg_vector_norm {tag} {p}", lambda call, x=x, d=dim, k=keep, p=p: call("linalg_vector_norm.default", x, p, d, k))
                if len(dim) == 1:
                    for op in ("max.dim", "min.dim", "argmax.default", "argmin.default", "prod.dim_int", "any.dim", "all.dim"):
                        yield Case(f"{op} {tag}", lambda call, n=op, x=x, d=dim[0], k=keep: call(n, x, d, k))
            for dim in range(max(len(shape), 1)):
                for op in ("cumsum.default", "cumprod.default") + (("softmax.int", "log_softmax.int") if dtype.is_floating_point else ()):
                    yield Case(f"{op} {dtype} {shape} {dim}", lambda call, n=op, x=x, d=dim: call(n, x, d))
                for op in ("_softmax.default", "_log_softmax.default") if dtype.is_floating_point else ():
                    yield Case(f"{op} {dtype} {shape} {dim}", lambda call, n=op, x=x, d=dim: call(n, x, d, False))
    # Long enough for several threads.
    long, longer = tensor((3000, 16)), tensor((20, 70, 33))
    for dim in range(2):
        yield Case(f"cumsum long {dim}", lambda call, d=dim: call("cumsum.default", long, d))
    for dim in range(3):
        yield Case(f"cumsum longer {dim}", lambda call, d=dim: call("cumsum.default", longer, d))
    x = tensor((4, 6), special=True)
    for op in ("amax.default", "amin.default", "argmax.default", "argmin.default"):
        yield Case(f"{op} NaN", lambda call, n=op: call(n, x, [1] if "am" in n and "arg" not in n else 1))
    for layout, x in layouts(tensor):
        for op in ("sum.dim_IntList", "mean.dim", "amax.default", "var.dim"):
            yield Case(f"{op} {layout}", lambda call, n=op, x=x: call(n, x, [0]))
        yield Case(f"softmax.int {layout}", lambda call, x=x: call("softmax.int", x, -1))
        yield Case(f"cumsum {layout}", lambda call, x=x: call("cumsum.default", x, 0))


def norms():
    for dtype in FLOATS:
        x, w, b = tensor((2, 6, 4), dtype), tensor((4,), dtype), tensor((4,), dtype)
        image, c, d = tensor((2, 6, 3, 5), dtype), tensor((6,), dtype), tensor((6,), dtype, 0.5, 2)
        for weight, bias in ((w, b), (None, None), (w, None)):
            yield Case(f"layer_norm {dtype} {weight is None}", lambda call, x=x, w=weight, b=bias: call("layer_norm.default", x, [4], w, b))
            yield Case(f"rms_norm {dtype} {weight is None}", lambda call, x=x, w=weight: call("rms_norm.default", x, [4], w))
            if dtype in (torch.float32, torch.float64):
                yield Case(f"native_layer_norm {dtype} {weight is None}", lambda call, x=x, w=weight, b=bias: call("native_layer_norm.default", x, [4], w, b, 1e-5))
        yield Case(f"layer_norm 2 {dtype}", lambda call, x=x: call("layer_norm.default", x, [6, 4]))
        for source in (image, image.to(memory_format=torch.channels_last)):
            yield Case(f"group_norm {dtype} {source.stride()}", lambda call, x=source, c=c: call("group_norm.default", x, 3, c, c))
            yield Case(f"batch_norm {dtype} {source.stride()}", lambda call, x=source, c=c, d=d: call("batch_norm.default", x, c, c, c, d, False, 0.1, 1e-5, False))
        if dtype == torch.float32:
            yield Case("batch_norm training", lambda call, x=image, c=c, d=d: call("batch_norm.default", x, c, d, c.clone(), d.clone(), True, 0.1, 1e-5, False))


def products():
    for dtype in FLOATS:
        t = lambda *s: tensor(s, dtype, -1, 1)
        for op, args in {
            "mm.default": (t(3, 4), t(4, 5)), "bmm.default": (t(2, 3, 4), t(2, 4, 5)), "addmm.default": (t(5), t(3, 4), t(4, 5)),
            "baddbmm.default": (t(2, 3, 5), t(2, 3, 4), t(2, 4, 5)), "mv.default": (t(3, 4), t(4)), "dot.default": (t(4), t(4)),
            "outer.default": (t(3), t(4)), "linear.default": (t(2, 3, 4), t(5, 4), t(5)),
        }.items():
            yield Case(f"{op} {dtype}", lambda call, n=op, a=args: call(n, *a))
        for a, b in [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4,)),
                     ((4,), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 6)), ((0, 4), (4, 5)), ((3, 0), (0, 5))]:
            yield Case(f"matmul {a} {b} {dtype}", lambda call, x=t(*a), y=t(*b): call("matmul.default", x, y))
        for a, w, bias in [((4,), (5, 4), True), ((3, 4), (5, 4), False), ((2, 3, 4), (4,), False), ((0, 4), (5, 4), True), ((2, 2, 3, 4), (5, 4), True)]:
            yield Case(f"linear {a} {w} {bias} {dtype}", lambda call, x=t(*a), w=t(*w), b=t(5) if bias else None: call("linear.default", x, w, b))
        q, k, v = t(2, 4, 3, 8), t(2, 4, 5, 8), t(2, 4, 5, 8)
        mask = torch.rand(3, 5) > 0.4
        mask[1] = False
        for name, extra in {"plain": {}, "causal": {"is_causal": True}, "mask": {"attn_mask": mask}, "float mask": {"attn_mask": t(3, 5)}, "scale": {"scale": 0.3}}.items():
            yield Case(f"attention {name} {dtype}", lambda call, x=extra, q=q, k=k, v=v: call("scaled_dot_product_attention.default", q, k, v, **x))
        yield Case(f"attention grouped {dtype}", lambda call, q=q, k=t(2, 2, 5, 8), v=t(2, 2, 5, 8): call("scaled_dot_product_attention.default", q, k, v, enable_gqa=True))
        yield Case(f"addmm beta {dtype}", lambda call, s=t(3, 5), a=t(3, 4), b=t(4, 5): call("addmm.default", s, a, b, beta=0.5, alpha=2))


VIEWS = {
    "view.default": [[12, 2], [-1, 6], [4, 3, 2, 1]], "reshape.default": [[12, 2], [-1], [2, 2, 6]], "flatten.using_ints": [(), (1,), (0, 1)],
    "unflatten.int": [(0, [2, 2]), (-1, [-1, 3])], "expand.default": [[5, 4, 6], [-1, 6]], "permute.default": [[1, 0]], "transpose.int": [(0, 1), (-1, 0)],
    "t.default": [()], "numpy_T.default": [()], "mT.default": [()], "swapaxes.default": [(0, 1)], "movedim.int": [(0, 1), (1, 0)], "movedim.intlist": [([0, 1], [1, 0])],
    "squeeze.default": [()], "squeeze.dim": [(0,), (1,)], "squeeze.dims": [([0, 1],), ([],)], "unsqueeze.default": [(0,), (1,), (-1,)], "select.int": [(0, 1), (1, -1)],
    "slice.Tensor": [(0, 1, 3), (1, None, None, 2), (1, -3), (0, 5, 9), (1, 0, 100, 3), (0, 2, 1)], "narrow.default": [(0, 1, 2), (1, 0, 3)],
    "diagonal.default": [(), (1,), (-2,), (9,)], "unfold.default": [(1, 3, 2), (0, 2, 1)], "split.Tensor": [(3, 1), (2,)], "split.sizes": [([2, 1, 3], 1)],
    "split_with_sizes.default": [([1, 3],)], "chunk.default": [(2, 1), (4, 1), (3,)], "unbind.int": [(), (1,)], "alias.default": [()], "detach.default": [()],
    "broadcast_to.default": [([2, 4, 6],)], "ravel.default": [()], "as_strided.default": [([3, 2], [2, 1], 1)], "_unsafe_view.default": [[24]],
}
WRITABLE = {"view.default", "permute.default", "transpose.int", "t.default", "select.int", "slice.Tensor", "narrow.default", "unsqueeze.default", "diagonal.default",
            "squeeze.dim", "unbind.int", "split.Tensor", "chunk.default", "flatten.using_ints", "unflatten.int", "movedim.int", "reshape.default"}


def views():
    for op, variants in VIEWS.items():
        for args in variants:
            args = (args,) if isinstance(args, list) else args
            for layout, x in layouts(tensor):
                if x.dim() == 2:
                    yield Case(f"{op} {args} {layout}", lambda call, n=op, x=x, a=args: call(n, x, *a))
            if op not in WRITABLE:
                continue
            def write(call, n=op, a=args, x=tensor((4, 6))):
                pieces = call(n, x, *a)
                piece = pieces[-1] if isinstance(pieces, (list, tuple)) else pieces
                before = call("mul.Tensor", x, 1.0)
                call("add_.Tensor", piece, 1)
                call("mul_.Tensor", x, 2)
                call("relu_.default", piece)
                return [before, call("neg.default", piece), call("exp.default", x)]
            yield Case(f"write through {op} {args}", write)
    for args in ((0, 1, 1), (-1, 1, 2), (0, 0, 1)):
        def windows(call, x=tensor(()), a=args):
            y = call("unfold.default", x, *a)
            call("add_.Tensor", y, 1)
            return [y, call("mul.Tensor", x, 2)]
        yield Case(f"unfold.default {args} of one element", windows)
    x = tensor((2, 3, 4, 5))
    for layout in (x, x.to(memory_format=torch.channels_last), x.permute(0, 2, 1, 3)):
        for size in ([6, 20], [2, 3, 20], [2, 12, 5], [-1], [2, 3, 4, 5, 1], [2, 1, 3, 4, 5]):
            yield Case(f"reshape {size} {layout.stride()}", lambda call, x=layout, s=size: call("reshape.default", x, s))
        for args in ((1,), (2, 3), (0, 1)):
            yield Case(f"flatten {args} {layout.stride()}", lambda call, x=layout, a=args: call("flatten.using_ints", x, *a))
        for form in (torch.contiguous_format, torch.channels_last):
            yield Case(f"contiguous {form} {layout.stride()}", lambda call, x=layout, f=form: call("contiguous.default", x, memory_format=f))
            yield Case(f"clone {form} {layout.stride()}", lambda call, x=layout, f=form: call("clone.default", x, memory_format=f))


def joins():
    for dtype in FLOATS + [torch.int64, torch.bool]:
        x, y = tensor((2, 3), dtype), tensor((4, 3), dtype)
        yield Case(f"cat {dtype}", lambda call, x=x, y=y: call("cat.default", [x, y]))
        yield Case(f"cat 1 {dtype}", lambda call, x=x: call("cat.default", [x, x.t().contiguous().t(), x], 1))
        yield Case(f"cat mixed {dtype}", lambda call, x=x: call("cat.default", [x, torch.ones(1, 3), torch.zeros(0)], 0))
        yield Case(f"stack {dtype}", lambda call, x=x: call("stack.default", [x, x], -1))
        yield Case(f"repeat {dtype}", lambda call, x=x: call("repeat.default", x, [2, 1, 3]))
        yield Case(f"repeat_interleave {dtype}", lambda call, x=x: call("repeat_interleave.self_int", x, 2, 1))
        yield Case(f"repeat_interleave flat {dtype}", lambda call, x=x: call("repeat_interleave.self_int", x, 3))
        for op, args in (("repeat.default", [[1, 1]]), ("repeat.default", [[2, 1, 1]]), ("repeat_interleave.self_int", [1, 0]),
                         ("repeat_interleave.self_int", [2, 0])):
            # What is written is the result alone, wherever its elements come from.
            def written(call, x=x.t(), op=op, args=args):
                y = call(op, x, *args)
                call("zero_.default", call("select.int", y, 0, 0))
                return y
            yield Case(f"{op} {args} then write {dtype}", written)
        yield Case(f"flip {dtype}", lambda call, x=x: call("flip.default", x, [0, -1]))
        yield Case(f"roll {dtype}", lambda call, x=x: call("roll.default", x, [1, -2], [0, 1]))
        yield Case(f"roll flat {dtype}", lambda call, x=x: call("roll.default", x, [2]))
        yield Case(f"pad {dtype}", lambda call, x=x: call("constant_pad_nd.default", x, [1, 2, 0, 1], 1))
        yield Case(f"pad negative {dtype}", lambda call, x=x: call("constant_pad_nd.default", x, [-1, 1]))
        yield Case(f"slice_scatter {dtype}", lambda call, x=y, s=x: call("slice_scatter.default", x, s, 0, 0, 4, 2))
        yield Case(f"select_scatter {dtype}", lambda call, x=y, s=x[0]: call("select_scatter.default", x, s, 0, -1))


def factories():
    x = tensor((3, 4))
    for name, args, extra in [("zeros", ([2, 3],), {}), ("ones", ([2],), {"dtype": torch.int32}), ("full", ([2, 2], 7), {}), ("full", ([2], 1.5), {}),
                              ("full", ([], True), {}), ("full_like", (x, 3), {}), ("zeros_like", (x.t(),), {}), ("ones_like", (x,), {"dtype": torch.bool}),
                              ("new_zeros", (x, [2]), {}), ("new_full", (x, [2], 4), {}), ("new_ones", (x, [0, 2]), {}), ("scalar_tensor", (3,), {}),
                              ("arange", (5,), {}), ("arange", (2.5,), {}), ("arange", (5,), {"dtype": torch.float32}), ("eye", (3,), {}),
                              ("linspace", (0, 1, 5), {}), ("linspace", (-2.0, 3.0, 1), {}), ("linspace", (-2.0, 3.0, 8), {"dtype": torch.float64})]:
        yield Case(f"{name} {args} {extra}", lambda call, n=name + ".default", a=args, e=extra: call(n, *a, **e))
    yield Case("arange.start", lambda call: call("arange.start", 2, 7))
    yield Case("arange.start_step", lambda call: call("arange.start_step", 7, -2, -3))
    yield Case("arange.start_step real", lambda call: call("arange.start_step", 0, 1, 0.3))
    yield Case("eye.m", lambda call: call("eye.m", 2, 4))


def indices():
    for dtype in FLOATS + [torch.int64]:
        x, row = tensor((4, 5), dtype), torch.tensor([2, 0, -1, 2])
        index = torch.randint(0, 4, (3, 5))
        yield Case(f"gather {dtype}", lambda call, x=x: call("gather.default", x, 0, index))
        yield Case(f"gather narrow {dtype}", lambda call, x=x: call("gather.default", x, 1, index[:2, :2]))
        yield Case(f"take_along_dim {dtype}", lambda call, x=x: call("take_along_dim.default", x, index, 0))
        yield Case(f"index_select {dtype}", lambda call, x=x: call("index_select.default", x, 1, row.abs()))
        yield Case(f"embedding {dtype}", lambda call, x=x: call("embedding.default", x, index))
        yield Case(f"scatter.src {dtype}", lambda call, x=x: call("scatter.src", x, 1, torch.tensor([[1, 0], [2, 3]]), x + 1))
        yield Case(f"scatter.value {dtype}", lambda call, x=x: call("scatter.value", x, 0, index[:1], 9))
        yield Case(f"scatter_add {dtype}", lambda call, x=x: call("scatter_add.default", x, 0, index, x + 1))
        yield Case(f"index_copy {dtype}", lambda call, x=x: call("index_copy.default", x, 1, row.abs(), (x + 1)[:, :4]))
        yield Case(f"index_copy one {dtype}", lambda call, x=x: call("index_copy.default", x, -2, torch.tensor(2), (x + 1)[:1]))
        for name, items in {"one": [row], "second": [None, row], "two": [row, row], "apart": None, "matrix": [index]}.items():
            source = tensor((4, 5, 6), dtype)
            items = [row, None, row] if items is None else items
            yield Case(f"index {name} {dtype}", lambda call, x=source, i=items: call("index.Tensor", x, i))
            # An element that is picked twice gets the same twice: torch promises no order.
            for values in (torch.tensor(7, dtype=dtype), (source + 1)[tuple(slice(None) if i is None else i for i in items)]):
                yield Case(f"index_put {name} {values.dim()} {dtype}",
                           lambda call, x=source, i=items, v=values: call("index_put.default", x, i, v))
        for place in (0, 1):
            yield Case(f"topk {dtype} {place}", lambda call, x=x, p=place: call("topk.default", x, 2)[p])
            yield Case(f"topk least {dtype} {place}", lambda call, x=x, p=place: call("topk.default", x, 3, 0, False, False)[p])
            yield Case(f"sort {dtype} {place}", lambda call, x=x, p=place: call("sort.default", x, 0)[p])
            yield Case(f"sort.stable {dtype} {place}",
                       lambda call, x=x, p=place: call("sort.stable", x, stable=True, dim=1, descending=True)[p])
        yield Case(f"argsort {dtype}", lambda call, x=x: call("argsort.default", x, 1))
        yield Case(f"argsort.stable {dtype}", lambda call, x=x: call("argsort.stable", x, stable=True, dim=0))
    yield Case("one_hot", lambda call: call("one_hot.default", torch.tensor([[0, 2], [3, 1]]), 5))


def losses():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for reduction in (0, 1, 2):
            a, b = tensor((3, 4), dtype), tensor((3, 4), dtype)
            p, q = tensor((3, 4), dtype, 0.1, 0.9), tensor((3, 4), dtype, 0, 1)
            for op in ("mse_loss.default", "l1_loss.default", "smooth_l1_loss.default", "huber_loss.default"):
                yield Case(f"{op} {dtype} {reduction}", lambda call, n=op, a=a, b=b, r=reduction: call(n, a, b, r))
            yield Case(f"binary_cross_entropy {dtype} {reduction}", lambda call, p=p, q=q, r=reduction: call("binary_cross_entropy.default", p, q, None, r))
            yield Case(f"with_logits {dtype} {reduction}", lambda call, a=a, q=q, r=reduction: call("binary_cross_entropy_with_logits.default", a, q, None, None, r))
            target = torch.tensor([1, 3, -100])
            w = tensor((4,), dtype, 0.5, 2)
            for weight in (None, w):
                yield Case(f"cross_entropy {dtype} {reduction} {weight is None}", lambda call, a=a, w=weight, r=reduction: call("cross_entropy_loss.default", a, target, w, r))
                yield Case(f"nll_loss {dtype} {reduction} {weight is None}", lambda call, a=a, w=weight, r=reduction: call("nll_loss.default", a, target, w, r))
            yield Case(f"cross_entropy images {dtype} {reduction}", lambda call, x=tensor((2, 3, 4), dtype), r=reduction: call("cross_entropy_loss.default", x, torch.randint(0, 3, (2, 4)), None, r))
            yield Case(f"cross_entropy shares {dtype} {reduction}", lambda call, a=a, q=q, r=reduction: call("cross_entropy_loss.default", a, q, None, r))
        yield Case(f"cosine_similarity {dtype}", lambda call, a=tensor((3, 4), dtype), b=tensor((1, 4), dtype): call("cosine_similarity.default", a, b))


def programs():
    x, y = tensor((4, 6)), tensor((6, 6))

    def mutate_twice(call, x=x.clone()):
        call("add_.Tensor", x, 1)
        y = call("mul.Tensor", x, 2)
        call("zero_.default", x)
        return [y, call("add.Tensor", x, y)]

    def copy_into_column(call, x=x.clone()):
        column = call("select.int", x, 1, 2)
        call("copy_.default", column, call("sum.dim_IntList", x, [1]))
        call("fill_.Scalar", call("slice.Tensor", x, 0, 0, 2), 3)
        return [call("mul.Tensor", x, 1.0), column]

    def alias_output(call, x=x.clone()):
        view = call("transpose.int", x, 0, 1)
        call("mul_.Tensor", x, 3.0)
        return [view, call("view.default", x, [24]), call("add.Tensor", view, 1)]

    def written_temporary(call, x=x):
        z = call("mul.Tensor", x, 2)
        half = call("chunk.default", z, 2, 1)
        call("sub_.Tensor", half[0], half[1])
        return [z, call("tanh.default", half[1])]

    def same_twice(call, x=x):
        return [call("add.Tensor", x, 1), call("add.Tensor", x, 1), call("clone.default", x)]

    def attention_block(call, x=x, y=y):
        q, k = call("mm.default", x, y), call("matmul.default", x, call("t.default", y))
        weights = call("softmax.int", call("div.Tensor", call("matmul.default", q, call("transpose.int", k, 0, 1)), 2.4), -1)
        return call("layer_norm.default", call("add.Tensor", call("matmul.default", weights, x), x), [6])

    for run in (mutate_twice, copy_into_column, alias_output, written_temporary, same_twice, attention_block):
        yield Case(f"program {run.__name__}", run)


def differences():
    for dtype in FLOATS + [torch.int64, torch.bool]:
        x = tensor((3, 5), dtype)
        for dim in (0, 1, -1):
            yield Case(f"diff {dim} {dtype}", lambda call, x=x, dim=dim: call("diff.default", x, 1, dim))
        for n in (0, 2, 4, 5, 9):
            yield Case(f"diff {n} times {dtype}", lambda call, x=x, n=n: call("diff.default", x, n))
        yield Case(f"diff permuted {dtype}", lambda call, x=x.t(): call("diff.default", x))
        yield Case(f"diff joined {dtype}", lambda call, x=x: call("diff.default", x, 1, -1, x[:, :1], torch.zeros(3, 2)))
        yield Case(f"diff behind {dtype}", lambda call, x=x: call("diff.default", x, 2, 0, None, x))
    yield Case("diff of nothing", lambda call: call("diff.default", torch.zeros(0)))


def memberships():
    for dtype in FLOATS + [torch.int64, torch.int8]:
        x = tensor((4, 5), dtype)
        tested = torch.cat([x[1, 2:4], x[:2, 0], torch.ones(2, dtype=dtype)])
        for some in (tested, tested[:1], tested[:0], tested.reshape(2, 3)):
            yield Case(f"isin {tuple(some.shape)} {dtype}", lambda call, x=x, t=some: call("isin.Tensor_Tensor", x, t))
        yield Case(f"isin inverted {dtype}", lambda call, x=x.t(), t=tested: call("isin.Tensor_Tensor", x, t, invert=True))
        yield Case(f"isin number {dtype}", lambda call, x=x: call("isin.Tensor_Scalar", x, 1))
        yield Case(f"isin none {dtype}", lambda call, x=x[:0], t=tested: call("isin.Tensor_Tensor", x, t))
    nan = torch.tensor([float("nan"), 1.0, -0.0])
    yield Case("isin nan", lambda call, x=nan: call("isin.Tensor_Tensor", x, torch.tensor([float("nan"), 0.0])))
    huge = torch.tensor([2**53, 2**53 + 1])
    yield Case("isin huge", lambda call, x=huge: call("isin.Tensor_Tensor", x, x[1:]))


def all_cases():
    for family in (unary, binary, several, reductions, norms, products, views, joins, factories, indices, losses, images, convolutions,
                   named_convolutions, pools, pools_of_all_dims, resampled, programs, differences, memberships):
        yield from family()
    yield from (Case(name, run) for name, run in image_cases.all_images())
    yield from (Case(name, run) for name, run in contraction_cases.all_contractions())
    yield from (Case(name, run) for name, run in recurrent_cases.cells())
    yield from matrix_cases.all_matrices()
    yield from (Case(name, run) for name, run in layout_cases.all_layouts())
    yield from formula_cases.all_formulas()
