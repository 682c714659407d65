"""Writes into parts of tensors, of complex ones too, and numbers, indices and dtypes that ops take beside tensors."""
import hashlib
import warnings

import numpy
import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore")


def told(result):
    if isinstance(result, torch.Tensor):
        wide = result.to(torch.complex128) if result.dtype.is_complex else result.double()
        return result.dtype, tuple(result.shape), [f"{v:.5g}" for v in wide.flatten().tolist()[:24]]
    return result


# Writes into part of a complex tensor.
def sliced_copy(f):
    y = torch.zeros_like(f)
    y[..., :3] = f[..., :3] * 2
    return y


def selected_number(f):
    y = f.clone()
    y[..., 1] = 0
    return y


def sliced_product(f):
    y = f.clone()
    y[..., :3] *= 2
    return y


def sliced_method(f):
    y = f * 2
    y[:, :3].add_(1)
    return y


def transposed_input(f):
    f.t().add_(1)
    return f


def written_input(f):
    f[1:].mul_(2j)
    f.add_(f)
    return f * 1


def transposed_slice(f):
    y = f * 1
    y.t()[1:3].copy_(torch.ones(2, f.shape[0]))
    return y


def zeroed(f):
    y = f * 1
    y.zero_()
    return y + f


def filled_diagonal(f):
    y = f * 1
    y.fill_(2.5)
    y.diagonal().mul_(3)
    return y


def split_pieces(f):
    y = f * 1
    first, second = y.split(2, 1)
    second.add_(1j)
    first.copy_(second)
    return y


def unbound_and_narrowed(f):
    y = f * 1
    y.unbind(0)[1].mul_(2)
    y.narrow(1, 1, 2).sub_(1)
    y.chunk(2, 0)[0].add_(f[:2])
    return y


def reshaped(f):
    y = f * 1
    y.view(-1)[3:9].mul_(3)
    y.unsqueeze(0)[0, 2].fill_(7)
    return y


def parts(f):
    y = f * 1
    torch.view_as_real(y).add_(1)
    y.real.mul_(2)
    return y


def real_from_complex(f):
    y = torch.zeros(4, 4)
    y[1:].copy_(f.abs()[1:])
    return y + f.real


for function in (sliced_copy, selected_number, sliced_product, sliced_method, transposed_input, written_input, transposed_slice,
                 zeroed, filled_diagonal, split_pieces, unbound_and_narrowed, reshaped, parts, real_from_complex):
    for dtype in (torch.complex64, torch.float32):
        if dtype is torch.float32 and function in (written_input, split_pieces, parts, real_from_complex):
            continue
        for turn in range(4):
            torch.manual_seed(turn)
            given = torch.randn(4, 4, dtype=dtype)
            with torch.no_grad():
                print(function.__name__, told(function(given)), told(given))


# Arguments that are numbers, or tensors without elements or dims.
def number_copied(t):
    return t.copy_(2.5)


def whole_number_copied(t):
    return t.to(torch.int32).copy_(7) + t.to(torch.bool).copy_(3)


def nothing_gathered(x, index):
    return torch.gather(x, 0, index)


def nothing_scattered(x, index):
    return torch.scatter(x, 0, index, x), torch.scatter_add(x, 0, index, x), x.scatter(0, index, 2.0)


def likeness(a, b):
    return F.cosine_similarity(a, b, dim=0)


none = torch.empty(2, 0, dtype=torch.int64)
for turn in range(4):
    x = torch.arange(3.) + turn
    print("numbers", told(number_copied(x.clone())), told(whole_number_copied(x)))
    print("empty", told(nothing_gathered(x, none)), [told(r) for r in nothing_scattered(x, none)])
    print("no dims", told(likeness(torch.tensor(2. + turn), torch.tensor(-3.))))


# Sizes that stand where numbers do.
def fractional_correction(x):
    return torch.var(x, dim=0, correction=1.5), torch.std(x, dim=0, correction=0.25), *torch.var_mean(x, dim=0, correction=2.5), \
        *torch.std_mean(x, dim=0, correction=1.5)


def sizes_as_numbers(x):
    n = x.shape[0]
    return (torch.full((3,), n, dtype=torch.float32), x.clone().fill_(n), x.masked_fill(x > 2, n), F.pad(x, (1, 1), value=n),
            torch.add(x, x, alpha=n), F.leaky_relu(-x, n), x.clamp(max=n - 2), x.scatter(0, torch.tensor([1]), n),
            torch.linalg.vector_norm(x, ord=n), torch.addmv(x, torch.ones(n, 2), torch.ones(2), beta=n), x.clone().copy_(n))


for size in (4, 6, 8, 10, 7):
    x = torch.arange(float(size))
    print("corrections", [told(r) for r in fractional_correction(x)])
    print("sizes", [told(r) for r in sizes_as_numbers(x)])


# Dtypes that graphs do not know.
def unknown_dtypes(x):
    return (x.sum().to(torch.uint64), x.sum().to(torch.uint16), x.abs().to(torch.uint32), x.sum().to(torch.float8_e4m3fn),
            x.to(torch.float8_e5m2), x.sum().chalf(), torch.hash_tensor(x))


def from_unknown(x):
    return x.clone().view(-1).to(torch.float32) + 1


for turn in range(4):
    x = torch.arange(1., 5.) * (turn + 1)
    print("dtypes", [(r.dtype, tuple(r.shape), r.to(torch.complex64 if r.dtype.is_complex else torch.float32).tolist()) for r in unknown_dtypes(x)])
    print("from dtypes", [told(from_unknown(x.to(dtype))) for dtype in (torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn)])
    print("quantised", told(torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()))


# Division of 16-bit floats, which rounds on the way.
def divided(a, b):
    return (torch.div(a, b, rounding_mode="trunc"), torch.div(a, b, rounding_mode="floor"), torch.floor_divide(a, b), a // b,
            a % b, torch.fmod(a, b), torch.true_divide(a, b))


def digest(tensor):
    numbers = tensor.float().numpy()
    numbers[numpy.isnan(numbers)] = numpy.nan  # of one kind: which NaN it is counts for nobody
    return tensor.dtype, hashlib.sha1(numbers.tobytes()).hexdigest()[:12]


for dtype in (torch.bfloat16, torch.float16):
    for shape in ((3000,), (1,), ()):
        for turn in range(4):
            torch.manual_seed(turn)
            a, b = (torch.randn(3000) * 8).to(dtype), torch.randn(shape).to(dtype)
            a[:4] = torch.tensor([0., -0., float("inf"), float("nan")])
            print("divided", shape, [digest(r) for r in divided(a, b)])
            if shape == (3000,):
                b[:50] = 0
                print("by zero", [digest(r) for r in divided(a, b)[:4]], [digest(r) for r in divided(b, a)[:4]])


# Results in tensors that are given.
def maximum_given(x):
    values, places = torch.empty(3), torch.empty(3, dtype=torch.int64)
    torch.max(x, 1, out=(values, places))
    return values + places


def sum_given(x):
    total = torch.empty(3, 4)
    torch.add(x, 1, out=total)
    return total * 2


for turn in range(4):
    x = torch.arange(12.).reshape(3, 4) * (turn - 1.5)
    print("out", told(maximum_given(x)), told(sum_given(x)))


# Ops that change in place how their tensor lies.
def dims_changed(x):
    a, b, c = x * 1, x * 2, x[:1] * 3
    a.t_()
    b.unsqueeze_(0)
    b.transpose_(1, 2)
    b.add_(1)
    c.squeeze_(0)
    return a + 0, b, c, a.is_contiguous()


def results_given(x):
    product, total, part = torch.empty(3, 3), torch.empty(3), torch.zeros(3, 8)
    torch.mm(x, x.t(), out=product)
    torch.sum(x, 1, out=total)
    torch.exp(x, out=part[:, ::2])
    total.mul_(2)
    longer = torch.empty(0)
    torch.add(x, 1, out=longer)
    return product, total, part, longer


def pieces_written(x):
    y = x * 1
    y[:] = x.reshape(1, 1, 3, 4) + 1
    y[0] = x[:1].reshape(1, 1, 4)
    first, second = torch.tensor_split(y * 1, 2)
    return y, first, second, *torch.broadcast_tensors(x, x[0]), *torch.meshgrid(x[0], x[:, 1], indexing="ij")


def hidden_bases(x):
    return F.linear(x[0], x), F.max_pool1d(x[None], 2), F.instance_norm(x[None]), x.repeat_interleave(2)


for turn in range(4):
    x = torch.arange(12.).reshape(3, 4) * (turn - 1.5)
    with torch.no_grad():
        print("dims", [(told(r), r.stride()) if isinstance(r, torch.Tensor) else r for r in dims_changed(x)])
        print("given", [(told(r), r.stride()) for r in results_given(x)])
        print("pieces", [(told(r), r.stride(), r._base is None) for r in pieces_written(x)])
        print("bases", [(told(r), r._base is None, r.is_leaf) for r in hidden_bases(x)])


# Names that torch has for an op besides another, and ops that are formulas of others.
def named_twice(x):
    return (torch.multiply(x, 2), torch.true_divide(x, 3), torch.subtract(x, 1, alpha=2), torch.clip(x, -1, 1), torch.arctan(x),
            torch.greater(x, 0), torch.swapdims(x, 0, 1), torch.moveaxis(x, 0, 1), torch.concatenate([x, x], 1), torch.special.expit(x))


def formulas(x):
    y = x.abs() + 1
    return (torch.acosh(y), torch.asinh(x), torch.atanh(x / 20), torch.sinc(x), torch.deg2rad(x), torch.xlogy(x, y), torch.logaddexp(x, y),
            torch.logaddexp2(x, y), torch.hypot(x, y), torch.copysign(y, x), F.hardshrink(x), F.softshrink(x), torch.diag(y[0]),
            torch.diag_embed(y, 1), torch.diag_embed(y, -2), torch.trace(y), torch.tile(x, (2, 1, 2)), torch.hstack([x, y]), torch.vstack([x, y]),
            torch.dstack([x, y]), torch.column_stack([x, y]), torch.fliplr(x), torch.flipud(x), torch.atleast_3d(x), torch.kron(x, y),
            torch.nansum(x, 1), torch.nanmean(x, 0), torch.linalg.vecdot(x, y), x.index_fill(1, torch.tensor([0, 2]), 7),
            x.index_add(0, torch.tensor([0, 0, 2]), y, alpha=2), F.kl_div(x, y), F.soft_margin_loss(x, y), F.hinge_embedding_loss(x, y),
            F.poisson_nll_loss(x, y), F.margin_ranking_loss(x[0], y[0], y[1]), torch.special.ndtr(x), torch.sgn(x), torch.positive(x))


for turn in range(4):
    x = torch.arange(12.).reshape(3, 4) * (turn - 1.5) / 4
    print("names", [(told(r), r.stride()) for r in named_twice(x)])
    print("formulas", [(told(r), r.stride()) for r in formulas(x)])


# A batch without elements changes no running statistics.
def normalised(module, x):
    return module(x)


for norm, shape in ((torch.nn.BatchNorm1d(3, momentum=0.3, affine=False), (3,)), (torch.nn.BatchNorm1d(3), (3, 5)), (torch.nn.BatchNorm2d(3), (3, 2, 2))):
    for batch in (0, 2, 0, 0):
        with torch.no_grad():
            y = normalised(norm, torch.ones(batch, *shape) + torch.arange(3.0).reshape(3, *[1] * (len(shape) - 1)))
        print("batch of", batch, told(y), y.stride(), *map(told, norm.buffers()))
