"""Composites that multiply and measure matrices, and those that rearrange elements or write them where indices say."""
import torch

from case import FLOATS, INTS, Case, tensor

WIDE = [torch.float32, torch.float64]
ALL = FLOATS + INTS + [torch.bool]


def case(name, op, *args, **kwargs):
    return Case(name, lambda call: call(op, *args, **kwargs))


def part(name, op, place, *args, **kwargs):
    """One of several results."""
    return Case(name, lambda call: call(op, *args, **kwargs)[place])


def copies():
    for dtype in ALL:
        x = tensor((3, 1, 4), dtype).transpose(0, 2)
        rows = tensor((4, 6), dtype)
        given = {"alias_copy.default": (x,), "detach_copy.default": (x,), "lift_fresh_copy.default": (x,), "expand_copy.default": (x, [2, 4, 5, -1]),
                 "permute_copy.default": (x, [2, 0, 1]), "t_copy.default": (rows,), "transpose_copy.int": (x, 0, -1), "select_copy.int": (x, 0, -1),
                 "slice_copy.Tensor": (x, 0, 1, None, 2), "narrow_copy.default": (x, 2, 1, 2), "squeeze_copy.default": (x,), "squeeze_copy.dim": (x, 1),
                 "squeeze_copy.dims": (x, [0, 1]), "unsqueeze_copy.default": (x, -1), "view_copy.default": (rows, [3, -1]), "unfold_copy.default": (x, 0, 2, 1),
                 "diagonal_copy.default": (x, 1, 0, 2), "as_strided_copy.default": (rows, [3, 2], [2, 5], 1)}
        for op, args in given.items():
            yield case(f"{op} {dtype}", op, *args)
        for op, args in {"unbind_copy.int": (x, 2), "split_copy.Tensor": (x, 3), "split_with_sizes_copy.default": (x, [1, 3])}.items():
            yield case(f"{op} {dtype}", op, *args)


def other_names():
    for dtype in ALL:
        x, y = tensor((3, 4), dtype), tensor((4,), dtype)
        yield case(f"swapdims {dtype}", "swapdims.default", x, 0, -1)
        yield case(f"moveaxis {dtype}", "moveaxis.int", x, 0, 1)
        yield case(f"moveaxis of two {dtype}", "moveaxis.intlist", x, [0, 1], [1, 0])
        yield case(f"concatenate {dtype}", "concatenate.default", [x, x], 1)
        yield case(f"ger {dtype}", "ger.default", y, x[0])
        yield case(f"linalg_diagonal {dtype}", "linalg_diagonal.default", tensor((2, 3, 4), dtype), offset=1)
        yield case(f"msort {dtype}", "msort.default", x)
        if dtype.is_floating_point:
            yield case(f"vdot {dtype}", "vdot.default", y, x[0])
            yield case(f"linalg_matmul {dtype}", "linalg_matmul.default", tensor((2, 3, 4), dtype), y)
    for dims in 2, 3:
        images, grid = tensor((2, 3, 4, 5, 6)[:dims + 2]), tensor((2, 2, 3, 4, 3)[:dims + 1] + (dims,), low=-1.2, high=1.2)
        for mode in 0, 1:
            for corners in False, True:
                yield case(f"grid_sampler_{dims}d {mode} {corners}", f"grid_sampler_{dims}d.default", images, grid, mode, 0, corners)


def layouts():
    for dtype in ALL:
        x, cube = tensor((3, 4), dtype), tensor((2, 3, 4), dtype)
        for blocks in ([x, x[0], tensor((), dtype)], [x[:0], x.t()], [x], [x, torch.zeros(0, dtype=dtype), torch.ones(2, 1)]):
            yield case(f"block_diag {dtype} {[tuple(b.shape) for b in blocks]}", "block_diag.default", blocks)
        for lists in ([x[0], x[1, :2]], [x[0], x[:, 1], x[2, 1:]], [x[0], x[0, :0]]):
            yield case(f"cartesian_prod {dtype} {[len(b) for b in lists]}", "cartesian_prod.default", lists)
        yield case(f"cartesian_prod of one {dtype}", "cartesian_prod.default", [x[0]])
        for k in range(-2, 6):
            yield case(f"rot90 {k} {dtype}", "rot90.default", cube, k, [0, 2] if k % 2 else [-1, 1])
        for offset in (0, 1, -2):
            yield case(f"diagflat {offset} {dtype}", "diagflat.default", x.t(), offset)
        for op in ("fft_fftshift.default", "fft_ifftshift.default"):
            yield case(f"{op} {dtype}", op, cube)
            yield case(f"{op} of a dim {dtype}", op, cube, [1])
            yield case(f"{op} of dims {dtype}", op, cube, [-1, 0])
        for sizes in ([3, 4], [2, 1, 4], [1, 1], [4], [], [2, 3, 4]):
            yield case(f"sum_to_size {sizes} {dtype}", "sum_to_size.default", cube, sizes)
        for offset, dims in ((0, (0, 1)), (1, (1, 2)), (-1, (0, 2)), (2, (2, 0)), (-2, (2, 1)), (1, (-1, 1))):
            source = torch.diagonal(cube, offset, *dims) + 1 if dtype != torch.bool else ~torch.diagonal(cube, offset, *dims)
            yield case(f"diagonal_scatter {offset} {dims} {dtype}", "diagonal_scatter.default", cube, source, offset, *dims)
        for sizes, strides, first in (([2, 2], [6, 1], 3), ([3], [2], 1), ([2, 1, 3], [1, 0, 4], 0), ([], [], 5)):
            yield case(f"as_strided_scatter {sizes} {strides} {dtype}", "as_strided_scatter.default", cube, tensor(sizes, dtype), sizes, strides, first)


def products():
    for dtype in FLOATS:
        a, b, c = tensor((3, 4), dtype), tensor((4, 5), dtype), tensor((2, 3, 4), dtype)
        for left, right, dims in ((a, b, ([1], [0])), (c, a, ([1, 2], [0, 1])), (c, a, ([2], [1])), (a, b, ([], [])), (a, a, ([0, 1], [0, 1])),
                                  (c[:, :1], a, ([1], [0])), (a, c[..., :1], ([1], [2])), (c, c, ([-1, 0], [-1, 0]))):
            yield case(f"tensordot {tuple(left.shape)} {dims} {dtype}", "tensordot.default", left, right, *dims)
        d, v = tensor((5, 2), dtype), tensor((3,), dtype)
        for name in ([a, b], [a, b, d], [v, a, b], [v, a, b, d, tensor((2,), dtype)], [d, d.t(), d, d.t(), d], [v, a, tensor((4,), dtype)]):
            yield case(f"linalg_multi_dot {[tuple(m.shape) for m in name]} {dtype}", "linalg_multi_dot.default", name)
        yield case(f"chain_matmul {dtype}", "chain_matmul.default", [a, b, d, d.t()])
        for n in range(7):
            yield case(f"matrix_power {n} {dtype}", "matrix_power.default", tensor((2, 3, 3), dtype, -0.6, 0.6), n)
            yield case(f"linalg_matrix_power {n} {dtype}", "linalg_matrix_power.default", tensor((3, 3), dtype, -0.6, 0.6), n)
        weight = tensor((5, 4, 3), dtype)
        for lead in ((), (2,), (2, 3)):
            first, second = tensor((*lead, 4), dtype), tensor((*lead, 3), dtype)
            yield case(f"bilinear {lead} {dtype}", "bilinear.default", first, second, weight)
            yield case(f"bilinear {lead} bias {dtype}", "bilinear.default", first, second, weight, tensor((5,), dtype))
    for dtype in FLOATS + [torch.int64, torch.int8]:
        rows = tensor((3, 7), dtype)
        for x in (rows, rows[0], rows.t()):
            yield case(f"corrcoef {tuple(x.shape)} {dtype}", "corrcoef.default", x)
            for correction in (0, 1, 2):
                yield case(f"cov {tuple(x.shape)} {correction} {dtype}", "cov.default", x, correction=correction)
        x, y = tensor((4, 3), dtype), tensor((4, 3), dtype)
        yield case(f"linalg_cross {dtype}", "linalg_cross.default", x, y)
        yield case(f"linalg_cross wide {dtype}", "linalg_cross.default", x.t(), y[:1].t(), dim=0)
        yield case(f"cross {dtype}", "cross.default", x.t(), y.t())
        yield case(f"cross of a dim {dtype}", "cross.default", x, y, -1)


def measures():
    infinity = float("inf")
    for dtype in FLOATS:
        x, y = tensor((2, 3, 4), dtype, special=True), tensor((2, 3, 4), dtype)
        for order in (1, -1, infinity, -infinity):
            for keep in (False, True):
                yield case(f"linalg_matrix_norm {order} {keep} {dtype}", "linalg_matrix_norm.default", y, order, [2, 0], keep)
                yield case(f"linalg_norm {order} {keep} {dtype}", "linalg_norm.default", y[0], order, None, keep)
        yield case(f"linalg_matrix_norm fro {dtype}", "linalg_matrix_norm.str_ord", y)
        yield case(f"linalg_norm fro {dtype}", "linalg_norm.ord_str", y, "fro", [0, 2], True)
        yield case(f"linalg_norm of all {dtype}", "linalg_norm.default", y)
        yield case(f"linalg_norm of vectors {dtype}", "linalg_norm.default", y, 3, [1])
        yield case(f"linalg_norm wide {dtype}", "linalg_norm.default", y, None, [1, 2], dtype=torch.float64)
        yield case(f"frobenius_norm {dtype}", "frobenius_norm.dim", y, [1, 2])
        for order in (0, 0.5, 1, 2, 3, infinity):
            yield case(f"dist {order} {dtype}", "dist.default", y, y[:1] + 1, order)
            yield case(f"dist special {order} {dtype}", "dist.default", x, y, order)
            yield case(f"pairwise_distance {order} {dtype}", "pairwise_distance.default", y, y[0, :1], order, 1e-3, order == 1)
            if order:
                yield case(f"renorm {order} {dtype}", "renorm.default", y, order, 1, 2.5)
    for dtype in WIDE:
        x, y = tensor((2, 5, 3), dtype, special=True), tensor((4, 3), dtype)
        for order in (0, 0.5, 1, 2, 3, infinity):
            for mode in (None, 0, 2):
                yield case(f"cdist {order} {mode} {dtype}", "cdist.default", x, y, order, mode)
            yield case(f"cdist of itself {order} {dtype}", "cdist.default", y, y, order)
            yield case(f"pdist {order} {dtype}", "pdist.default", y, order)
            yield case(f"pdist of one {order} {dtype}", "pdist.default", y[:1], order)
            yield case(f"pdist special {order} {dtype}", "pdist.default", x[0], order)


def calculus():
    for dtype in FLOATS + INTS:
        x, at = tensor((3, 5), dtype), tensor((5,), dtype)
        for op in ("trapezoid", "trapz", "cumulative_trapezoid"):
            for dim in (0, -1):
                yield case(f"{op} dx {dim} {dtype}", f"{op}.dx", x, dx=0.5, dim=dim)
            yield case(f"{op} x {dtype}", f"{op}.x", x, at)
            yield case(f"{op} x of all {dtype}", f"{op}.x", x.t(), tensor((5, 3), dtype), dim=0)
            yield case(f"{op} of one {dtype}", f"{op}.dx", x[:, :1])
        for count in (None, 1, 4):
            yield case(f"vander {count} {dtype}", "vander.default", at, count)
            yield case(f"vander rising {count} {dtype}", "vander.default", at, count, True)
            if count != 1 and dtype not in (torch.float16, torch.bfloat16):
                yield case(f"linalg_vander of a number {count} {dtype}", "linalg_vander.default", x[0, 0], N=count or 3)
                yield case(f"linalg_vander {count} {dtype}", "linalg_vander.default", x, N=count)


def slopes():
    for dtype in FLOATS + [torch.int64, torch.int32, torch.int8]:
        x = tensor((3, 5), dtype)
        for place in (0, 1):
            for edge in (1, 2):
                yield part(f"gradient {place} {edge} {dtype}", "gradient.scalarint", place, x, edge_order=edge)
                yield part(f"gradient spaced {place} {edge} {dtype}", "gradient.scalararray", place, x, spacing=0.7, dim=[1, 0], edge_order=edge)
                yield part(f"gradient listed {place} {edge} {dtype}", "gradient.scalarrayint", place, x, spacing=[2.0, 3.0], edge_order=edge)
            yield part(f"gradient of dims {place} {dtype}", "gradient.array", place, x, dim=[-1, 0])
            yield part(f"gradient of dims, listed {place} {dtype}", "gradient.scalarrayarray", place, x, spacing=[2, 3], dim=[1, 0])
        yield part(f"gradient of a dim {dtype}", "gradient.scalarint", 0, x, spacing=3, dim=1)


def places():
    for dtype in ALL:
        x, row = tensor((4, 5), dtype), torch.tensor([2, 0, 3, 2])
        more = ~x if dtype == torch.bool else x + 1
        wrapped = torch.tensor([-1, 0, -3])
        spots = torch.tensor([[3, -1], [7, 0]])
        yield case(f"index_fill {dtype}", "index_fill.int_Scalar", x, 1, wrapped, 7)
        yield case(f"index_fill tensor {dtype}", "index_fill.int_Tensor", x, 0, wrapped, more[1, 1])
        yield case(f"index_fill scalar {dtype}", "index_fill.int_Scalar", x[0, 0], 0, torch.tensor(0), 1)
        yield case(f"take {dtype}", "take.default", x.t(), spots)
        yield case(f"put {dtype}", "put.default", x, spots, more[0, :4])
        mask = tensor((4, 5), torch.bool)
        yield case(f"masked_scatter {dtype}", "masked_scatter.default", x, mask, more.t())
        yield case(f"masked_scatter of a row {dtype}", "masked_scatter.default", x, mask[0], tensor((5, 6), dtype))
        if dtype == torch.bool:
            continue  # sums of truth values are torch's
        yield case(f"index_add {dtype}", "index_add.default", x, 0, row, more)
        yield case(f"index_add scaled {dtype}", "index_add.default", x.t(), 1, row, more.t(), alpha=3)
        yield case(f"index_add int32 {dtype}", "index_add.default", x, -1, row[:2].int(), more[:, :2])
        yield case(f"index_add scalar {dtype}", "index_add.default", x[0, 0], 0, torch.tensor([0]), more[0, 0])
        yield case(f"put adding {dtype}", "put.default", x, torch.tensor([[3, -1], [3, 0]]), more[0, :4], True)
        index = torch.tensor([[1, 0, 1], [2, 2, 2]])
        for reduce in ("sum", "mean", "prod", "amax", "amin"):
            for own in (True, False):
                yield case(f"scatter_reduce {reduce} {own} {dtype}", "scatter_reduce.two", x, 0, index, more, reduce, include_self=own)
                yield case(f"scatter_reduce narrow {reduce} {own} {dtype}", "scatter_reduce.two", x.t(), 1, index[:, :2], more.t(), reduce, include_self=own)
                if reduce != "sum":
                    yield case(f"index_reduce of a number {reduce} {own} {dtype}", "index_reduce.default", x[0, 0], 0, row[1:2], more[0, 0], reduce, include_self=own)
                    yield case(f"index_reduce {reduce} {own} {dtype}", "index_reduce.default", x, 0, row, more, reduce, include_self=own)
                    yield case(f"index_reduce int32 {reduce} {own} {dtype}", "index_reduce.default", x, 1, row[:2].int(), more[:, :2], reduce, include_self=own)
        yield case(f"scatter adding {dtype}", "scatter.reduce", x, 1, index, more, reduce="add")
        yield case(f"scatter adding a number {dtype}", "scatter.value_reduce", x, 1, index, 3, reduce="add")
        yield case(f"index_copy of a number {dtype}", "index_copy.default", x[0, 0], 0, row[1:2], more[0, 0])
        yield case(f"scatter multiplying {dtype}", "scatter.reduce", x, 1, index, more, reduce="multiply")
        yield case(f"index_put adding {dtype}", "index_put.default", x, [None, wrapped], more[:, :3], True)
        yield case(f"index_put adding twice {dtype}", "index_put.default", x, [row, wrapped[[0, 0, 2, 0]]], more[0, 1], True)
        inside = torch.tensor([[True, False], [True, True]])
        far = torch.tensor([[3, 90], [-4, 1]])
        yield case(f"_unsafe_masked_index {dtype}", "_unsafe_masked_index.default", x, inside, [far, far.t().clamp(-5, 4)], 2)
        yield case(f"_unsafe_masked_index of columns {dtype}", "_unsafe_masked_index.default", x, inside, [None, far], 0)
        yield case(f"_unsafe_masked_index_put_accumulate {dtype}", "_unsafe_masked_index_put_accumulate.default", x, inside, [far, far], more[:2, :2])


def special_places():
    for dtype in FLOATS:
        x, more = tensor((4, 5), dtype, special=True), tensor((4, 5), dtype, special=True).flip(1)
        for reduce in ("prod", "amax", "amin"):
            for own in (True, False):
                yield case(f"index_reduce special {reduce} {own} {dtype}", "index_reduce.default", x, 0, torch.tensor([2, 0, 0, 2]), more, reduce, include_self=own)


def all_matrices():
    for family in (copies, other_names, layouts, products, measures, calculus, slopes, places, special_places):
        for one in family():
            yield Case(f"composite {one.name}", one.run)
