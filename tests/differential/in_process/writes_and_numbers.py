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
