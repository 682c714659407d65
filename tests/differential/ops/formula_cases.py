"""Cases of ops that are taken apart into formulas: special functions, scans, order, distances, losses, signs."""
import itertools

import torch

from case import FLOATS, NAN, Formula, layouts, tensor

INFINITY = float("inf")
EDGES = [NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1e-30, -1e-30]
# By op: the interval that its arguments come from.
SPECIAL = {
    "i0": (-20, 20), "special_i0e": (-40, 40), "special_i1": (-20, 20), "special_i1e": (-40, 40), "special_entr": (-1, 4),
    "special_ndtri": (0, 1), "special_erfcx": (-3, 60), "special_log_ndtr": (-30, 8), "erfinv": (-0.99, 0.99),
    "lgamma": (0.1, 30), "digamma": (0.1, 30),
}
NEGATIVE = {"lgamma": (-6, 0), "digamma": (-6, 0)}


def special():
    for op, (low, high) in SPECIAL.items():
        name = op + ".default"
        for dtype in FLOATS + [torch.int64, torch.uint8, torch.bool]:
            for shape in [(), (7,), (3, 5), (0, 4), (40, 50)]:
                yield Formula(f"{name} {dtype} {shape}", lambda call, n=name, x=tensor(shape, dtype, low, high): call(n, x))
        for dtype in FLOATS:
            edges = torch.tensor(EDGES, dtype=dtype)
            yield Formula(f"{name} edges {dtype}", lambda call, n=name, x=edges: call(n, x))
        for layout, x in layouts(tensor):
            yield Formula(f"{name} {layout}", lambda call, n=name, x=x.abs() / 4: call(n, x))
        for dtype in (torch.float32, torch.float64):
            x = torch.logspace(-6, 1.2, 60, dtype=torch.float64).to(dtype)
            yield Formula(f"{name} small {dtype}", lambda call, n=name, x=x: call(n, x))
    for op, (low, high) in NEGATIVE.items():
        for dtype in FLOATS[:2]:
            x = tensor((40, 10), dtype, low, high)
            x = x[((x - x.round()).abs() > 0.02).nonzero(as_tuple=True)]
            yield Formula(f"{op} below 0 {dtype}", lambda call, n=op + ".default", x=x: call(n, x))
            yield Formula(f"{op} whole {dtype}", lambda call, n=op + ".default", x=torch.arange(-9, 13, dtype=dtype): call(n, x))


def polygammas():
    for n in (0, 1, 2, 3, 4, 7):
        for dtype in FLOATS + [torch.int64]:
            yield Formula(f"polygamma {n} {dtype}", lambda call, n=n, x=tensor((4, 30), dtype, 0.3, 20): call("polygamma.default", n, x))
        for dtype in FLOATS[:2]:
            x = tensor((300,), dtype, -4, 0.2)
            x = x[((x - x.round()).abs() > 0.1).nonzero(as_tuple=True)]
            yield Formula(f"polygamma {n} below 0 {dtype}", lambda call, n=n, x=x: call("polygamma.default", n, x))
        edges = torch.tensor([0.0, 1.0, 2.0, 0.5, 100.0, NAN])
        yield Formula(f"polygamma {n} edges", lambda call, n=n, x=edges: call("polygamma.default", n, x))
    for p in (1, 2, 3, 5):
        for dtype in FLOATS[:2] + [torch.int64]:
            yield Formula(f"mvlgamma {p} {dtype}", lambda call, p=p, x=tensor((3, 5), dtype, p, 9): call("mvlgamma.default", x, p))


ROWS = [((7,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 17, 3), 1), ((4, 40), -1), ((), 0), ((3, 1), 1)]


def ties(shape, dtype):
    """Few values, so that many are equal."""
    return tensor(shape, dtype, -2, 2) if not dtype.is_floating_point else tensor(shape, torch.int64, -2, 2).to(dtype)


def scans():
    for op in ("cummax.default", "cummin.default", "logcumsumexp.default"):
        for dtype in FLOATS + [torch.int64, torch.uint8]:
            for shape, dim in ROWS:
                yield Formula(f"{op} {dtype} {shape} {dim}", lambda call, n=op, x=ties(shape, dtype), d=dim: both(call, n, x, d))
        for dtype in FLOATS[:2]:
            special = tensor((3, 9), dtype, special=True)
            for x in (special, special.flip(1)):
                yield Formula(f"{op} NaN {dtype}", lambda call, n=op, x=x: both(call, n, x, 1))
            yield Formula(f"{op} infinite {dtype}", lambda call, n=op, x=torch.tensor([-INFINITY, -INFINITY, 1.0, INFINITY, INFINITY, 2.0], dtype=dtype): both(call, n, x, 0))
        for layout, x in layouts(tensor):
            yield Formula(f"{op} {layout}", lambda call, n=op, x=x: both(call, n, x, 0))
    for dtype in FLOATS:
        y, x = tensor((3, 5), dtype), tensor((3, 5), dtype)
        for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
            for dim in (0, 1, -1):
                yield Formula(f"{name} {dtype} {dim}", lambda call, n=name, y=y, d=dim: call(n + ".dx", y, dx=0.5, dim=d))
                yield Formula(f"{name} x {dtype} {dim}", lambda call, n=name, y=y, x=x, d=dim: call(n + ".x", y, x, dim=d))
            yield Formula(f"{name} row {dtype}", lambda call, n=name, y=y, x=x[0]: call(n + ".x", y, x))
            yield Formula(f"{name} one point {dtype}", lambda call, n=name, y=y[:, :1]: call(n + ".dx", y))
            yield Formula(f"{name} few places {dtype}", lambda call, n=name, y=tensor((2, 3, 5), dtype), x=x[:, :1].contiguous(): call(n + ".x", y, x, dim=1))


def both(call, name, *args, **kwargs):
    result = call(name, *args, **kwargs)
    return list(result) if isinstance(result, tuple) else result


def orders():
    for dtype in FLOATS + [torch.int64, torch.uint8]:
        for shape, dim in ROWS + [((90,), 0), ((5, 200), 1)]:
            x = ties(shape, dtype)
            if dim < len(shape):
                yield Formula(f"median {dtype} {shape}", lambda call, x=x: call("median.default", x))
                yield Formula(f"nanmedian {dtype} {shape}", lambda call, x=x: call("nanmedian.default", x))
                yield Formula(f"msort {dtype} {shape}", lambda call, x=x: call("msort.default", x))
    for dtype in FLOATS[:2]:
        x = tensor((4, 9), dtype, special=True)
        nothing = torch.full((3, 4), NAN, dtype=dtype)
        for given in (x, nothing):
            for op in ("median.default", "nanmedian.default", "msort.default"):
                yield Formula(f"{op} NaN {dtype}", lambda call, n=op, x=given: call(n, x))
            for op in ("quantile", "nanquantile"):
                yield Formula(f"{op} NaN {dtype}", lambda call, n=op, x=given: call(n + ".scalar", x, 0.3, 1))
        for op in ("quantile", "nanquantile"):
            for way in ("linear", "lower", "higher", "nearest", "midpoint"):
                for dim, keep in ((None, False), (None, True), (0, False), (1, True), (2, False)):
                    y = tensor((3, 4, 5), dtype)
                    more = torch.tensor([0.0, 0.25, 0.4, 1.0], dtype=dtype)
                    for q in (more, more[1]):
                        yield Formula(f"{op} {way} {dim} {keep} {q.dim()} {dtype}", lambda call, n=op, w=way, y=y, q=q, d=dim, k=keep: call(n + ".default", y, q, d, k, interpolation=w))
                    yield Formula(f"{op} {way} {dim} {keep} number {dtype}", lambda call, n=op, w=way, y=y, d=dim, k=keep: call(n + ".scalar", y, 0.7, d, k, interpolation=w))
            yield Formula(f"{op} of a scalar {dtype}", lambda call, n=op, y=tensor((), dtype): call(n + ".scalar", y, 0.7, 0, True))


def distances():
    for dtype in FLOATS:
        a, b, c = tensor((4, 6), dtype), tensor((4, 6), dtype), tensor((4, 6), dtype)
        for p in (0, 1, 2, 3.5, INFINITY, -INFINITY):
            yield Formula(f"dist {p} {dtype}", lambda call, a=a, b=b, p=p: call("dist.default", a, b, p))
            yield Formula(f"pairwise_distance {p} {dtype}", lambda call, a=a, b=b[0], p=p: call("pairwise_distance.default", a, b, p, 1e-3, True))
            if p >= 0:
                yield Formula(f"pdist {p} {dtype}", lambda call, a=a, p=p: call("pdist.default", a, p))
        for p in (1, 2, 3.5, INFINITY):
            for dim in (0, 1, -1):
                yield Formula(f"renorm {p} {dim} {dtype}", lambda call, a=a, p=p, d=dim: call("renorm.default", a, p, d, 2.5))
        for reduction in range(3):
            for swap in (False, True):
                yield Formula(f"triplet {reduction} {swap} {dtype}", lambda call, a=a, b=b, c=c, s=swap, r=reduction: call("triplet_margin_loss.default", a, b, c, 0.7, 2, 1e-6, s, r))
            sign = torch.tensor([1, -1, 1, -1])
            yield Formula(f"cosine_embedding {reduction} {dtype}", lambda call, a=a, b=b, r=reduction: call("cosine_embedding_loss.default", a, b, sign, 0.1, r))
            yield Formula(f"cosine_embedding of one {reduction} {dtype}", lambda call, a=a, b=b, r=reduction: call("cosine_embedding_loss.default", a[0], b[0], sign[0], 0.1, r))
            yield Formula(f"poisson {reduction} {dtype}", lambda call, a=a, b=b.abs() * 2, r=reduction: call("poisson_nll_loss.default", a, b, True, True, 1e-8, r))
            target, some = torch.tensor([1, 5, 0, 2]), torch.tensor([[1, 3, 3, -1, 2, 0], [0, 1, 2, 3, 4, 5], [-1, 0, 1, 2, 3, 4], [5, -1, -1, 2, 2, 2]])
            for p, weight in ((1, None), (2, tensor((6,), dtype, 0.5, 2))):
                yield Formula(f"multi_margin {reduction} {p} {dtype}", lambda call, a=a, w=weight, p=p, r=reduction: call("multi_margin_loss.default", a, target, p, 0.8, w, r))
            yield Formula(f"multi_margin of one {reduction} {dtype}", lambda call, a=a[0], r=reduction: call("multi_margin_loss.default", a, target[1], 1, 1, None, r))
            yield Formula(f"multilabel_margin {reduction} {dtype}", lambda call, a=a, r=reduction: call("multilabel_margin_loss.default", a, some, r))
            yield Formula(f"multilabel_margin of one {reduction} {dtype}", lambda call, a=a[0], r=reduction: call("multilabel_margin_loss.default", a, some[0], r))
        lacking = tensor((4, 6), dtype, special=True)
        yield Formula(f"multi_margin NaN {dtype}", lambda call, a=lacking: call("multi_margin_loss.default", a, target))
        for x in (lacking, lacking[:, 0], tensor((), dtype)):
            yield Formula(f"nansum {x.dim()} {dtype}", lambda call, x=x: call("nansum.default", x))
            yield Formula(f"nanmean {x.dim()} {dtype}", lambda call, x=x: call("nanmean.default", x))


def numbers():
    kinds = FLOATS + [torch.int64, torch.uint8, torch.bool]
    for dtype in kinds:
        x = tensor((3, 4), dtype)
        for other in kinds:
            y = tensor((4,), other, 0, 4)
            yield Formula(f"ldexp {dtype} {other}", lambda call, x=x, y=y: call("ldexp.Tensor", x, y))
            if dtype == other:
                yield Formula(f"ldexp 0-dim {dtype}", lambda call, x=x, y=y[1].clone(): call("ldexp.Tensor", x, y))
            yield Formula(f"float_power {dtype} {other}", lambda call, x=x, y=y: call("float_power.Tensor_Tensor", x, y))
        for number in (2, 0.5, -1, 3, 2.7, True):
            yield Formula(f"float_power {dtype} {number}", lambda call, x=x, v=number: call("float_power.Tensor_Scalar", x, v))
            yield Formula(f"float_power {number} by {dtype}", lambda call, x=x, v=number: call("float_power.Scalar", v, x))
        yield Formula(f"angle {dtype}", lambda call, x=tensor((3, 4), dtype, special=True): call("angle.default", x))
        mask = torch.rand(3, 4) > 0.5
        yield Formula(f"masked_scatter {dtype}", lambda call, x=x, m=mask, s=tensor((2, 7), dtype): call("masked_scatter.default", x, m, s))
        yield Formula(f"masked_scatter row {dtype}", lambda call, x=x, m=mask[0], s=tensor((12,), dtype): call("masked_scatter.default", x, m, s))
    for dtype in FLOATS[:2]:
        x = torch.cat([tensor((40,), dtype, -40, 40), torch.tensor(EDGES, dtype=dtype), torch.tensor([0.5, 1.5, 2.5, 0.125, 1e20], dtype=dtype)])
        for digits in (0, 1, 3, -1, -2):
            yield Formula(f"round {digits} {dtype}", lambda call, x=x, n=digits: call("round.decimals", x, decimals=n))
    for dtype in FLOATS:
        limits = torch.finfo(dtype)
        x = torch.cat([tensor((40,), dtype, -40, 40), torch.tensor(EDGES, dtype=dtype), torch.tensor([limits.max, limits.tiny, limits.min, limits.eps], dtype=dtype), torch.tensor([limits.tiny], dtype=dtype) / 5])
        yield Formula(f"frexp {dtype}", lambda call, x=x: both(call, "frexp.Tensor", x))
        scores = tensor((4, 5), dtype)
        scores[1] = -INFINITY
        scores[2, 1:] = -INFINITY
        for dim in (0, 1, -1):
            yield Formula(f"_safe_softmax {dim} {dtype}", lambda call, x=scores, d=dim: call("_safe_softmax.default", x, d))
        yield Formula(f"_safe_softmax to float64 {dtype}", lambda call, x=scores: call("_safe_softmax.default", x, 1, torch.float64))
        image, c, w = tensor((2, 3, 4, 5), dtype), tensor((3,), dtype), tensor((3,), dtype, 0.5, 2)
        if dtype.itemsize > 2:
            for training in (False, True):
                yield Formula(f"native_batch_norm {training} {dtype}", lambda call, x=image, c=c, w=w, t=training: both(call, "native_batch_norm.default", x, w, c, c.clone(), w.clone(), t, 0.1, 1e-5))
            yield Formula(f"native_batch_norm plain {dtype}", lambda call, x=image: both(call, "native_batch_norm.default", x, None, None, None, None, True, 0.1, 1e-5))
        pooled, places = torch.ops.aten.max_pool2d_with_indices(image, [2, 3], [1, 1])
        yield Formula(f"max_pool2d_with_indices_backward {dtype}", lambda call, x=image, g=pooled, i=places: call("max_pool2d_with_indices_backward.default", g, x, [2, 3], [1, 1], [0, 0], [1, 1], False, i))


def sides():
    kinds = FLOATS + [torch.int64, torch.uint8, torch.bool]
    for dtype in kinds:
        x = tensor((3, 4), dtype, special=True)
        for op in ("isneginf", "isposinf", "aminmax"):
            yield Formula(f"{op} {dtype}", lambda call, n=op, x=x: both(call, n + ".default", x))
        yield Formula(f"heaviside {dtype}", lambda call, x=x, y=tensor((4,), dtype): call("heaviside.default", x, y))
        for dim in (0, 1):
            yield Formula(f"aminmax {dim} {dtype}", lambda call, x=x, d=dim: both(call, "aminmax.default", x, dim=d, keepdim=bool(d)))
        for op in ("special_xlog1py", "special_xlogy"):
            yield Formula(f"{op} {dtype} number", lambda call, n=op, x=x: call(n + ".other_scalar", x, 2.5))
            yield Formula(f"{op} number {dtype}", lambda call, n=op, x=tensor((3, 4), dtype, 0, 3): call(n + ".self_scalar", 2, x))
    for dtype in FLOATS:
        x, y = tensor((3, 4), dtype), tensor((3, 4), dtype)
        yield Formula(f"aminmax of a scalar {dtype}", lambda call, x=x[0, 0].clone(): both(call, "aminmax.default", x))
        yield Formula(f"rrelu {dtype}", lambda call, x=x: call("rrelu.default", x, 0.1, 0.5))
        for dim in (0, -1):
            soft = torch.softmax(y, dim)
            yield Formula(f"_softmax_backward_data {dim} {dtype}", lambda call, g=x, o=soft, d=dim, t=dtype: call("_softmax_backward_data.default", g, o, d, t))
            yield Formula(f"_log_softmax_backward_data {dim} {dtype}", lambda call, g=x, o=soft.log(), d=dim, t=dtype: call("_log_softmax_backward_data.default", g, o, d, t))
        for p in (1, 2, 3, INFINITY):
            yield Formula(f"norm {p} as float64 {dtype}", lambda call, x=x, p=p: call("norm.ScalarOpt_dtype", x, p, dtype=torch.float64))


def smoothed():
    """Losses of classes that are smoothed, or whose targets are shares of classes that have weights."""
    for dtype in FLOATS:
        x, images, weight = tensor((5, 4), dtype), tensor((2, 4, 3), dtype), tensor((4,), dtype, 0.5, 2)
        classes, map_of_classes = torch.tensor([1, 3, -100, 0, 2]), torch.randint(0, 4, (2, 3))
        shares, map_of_shares = torch.softmax(tensor((5, 4), dtype), 1), torch.softmax(tensor((2, 4, 3), dtype), 1)
        for reduction, given in itertools.product(range(3), (None, weight)):
            tag = f"{reduction} {given is None} {dtype}"
            for share in (0.2, 0.0):
                for source, target in ((x, shares), (images, map_of_shares)):
                    yield Formula(f"cross_entropy shares {source.dim()} {share} {tag}", lambda call, x=source, t=target, w=given, r=reduction, s=share: call("cross_entropy_loss.default", x, t, w, r, -100, s))
            for source, target in ((x, classes), (images, map_of_classes), (x[0], classes[0])):
                yield Formula(f"cross_entropy smoothed {source.dim()} {tag}", lambda call, x=source, t=target, w=given, r=reduction: call("cross_entropy_loss.default", x, t, w, r, -100, 0.3))


def all_formulas():
    for family in (special, polygammas, scans, orders, distances, numbers, sides, smoothed):
        yield from family()
