"""Complex elements and their parts, transforms, selections and matrices that torch computes, at sizes that change."""
import torch


def rotated(x, frequencies):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    angles = torch.outer(torch.arange(x.shape[-2]), frequencies)
    turns = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(pairs * turns).flatten(-2).type_as(x) * 2


GIVING = """
torch.view_as_real(torch.complex(x, y) * 2)
torch.view_as_complex(torch.stack([x, y], -1)) + 1
torch.complex(x, y).real * 2
torch.complex(x, y).imag.relu() + x.sum()
(torch.polar(x, y) * torch.complex(y, x)).abs().sum(-1)
torch.fft.fft(x).abs() + 1
torch.fft.ifft(x, dim=0).real
torch.fft.rfft(x).abs().log1p()
torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1]) * 2
torch.fft.fft2(x).imag + 1
torch.fft.fftn(torch.complex(x, y)).abs()
torch.fft.hfft(x) - 1
torch.fft.fftshift(torch.fft.fft(x).abs())
torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(y))
torch.kthvalue(x, 2)[0] * 2
torch.kthvalue(x, 2, 0, True)[1] + 1
torch.mode(x.round())[0] + 1
torch.searchsorted(x.sort()[0], y) * 2
torch.bucketize(x, torch.arange(4.0)) + 1
torch.linalg.inv(m) @ x.t()
torch.linalg.cholesky(m).sum(0)
torch.linalg.solve(m, x.t()) * 2
torch.linalg.solve_triangular(m.triu(), x.t(), upper=True) * 2
torch.linalg.det(m / m.norm()) * 100
torch.linalg.slogdet(m)[1] + 1
torch.logdet(m) * 2
torch.linalg.eigvalsh(m) + 1
torch.linalg.svdvals(x) + 1
torch.linalg.eigh(m)[0] * 2
torch.matrix_exp(m / m.norm()) + 1
rotated(torch.cat([x, y], 1).view(2, -1, 2), torch.ones(1))
""".strip().splitlines()
# Views of other elements leave the graph, are written behind it, and write what they are views of.
KEPT = """
z = torch.complex(x, y) * 2; r = torch.view_as_real(z); return z + 1, r, z
z = torch.complex(x, y) * 2; return z.real, z.imag, z
r = torch.stack([x, y], -1) * 2; z = torch.view_as_complex(r); return z, r, z * 2
z = torch.complex(x, y) * 2; r = torch.view_as_real(z); r += 1; return z * 2, r, z
z = torch.complex(x, y) * 2; r = z.real; z.mul_(2); return r + 1, r, z
z = torch.complex(x, y) * 2; z.imag.fill_(3); return z + 1, z.real, z
z = torch.complex(x, y) * 2; z[0] = 1; r = torch.view_as_real(z); return r + 1, r, z
""".strip().splitlines()


def told(tensor):
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return tensor.dtype, tuple(tensor.shape), [round(value, 3) + 0.0 for value in parts.double().flatten().tolist()]


def function_of(body):
    """A function of its own for every line: each has few ways to be called."""
    names = {"torch": torch, "rotated": rotated}
    exec(f"def f(x, y, m):\n    {body}", names)
    return names["f"]


def arguments(width):
    chosen = torch.Generator().manual_seed(width)
    x, y = torch.rand(4, width, generator=chosen), torch.rand(4, width, generator=chosen)
    square = torch.rand(width, width, generator=chosen)
    return x, y, square @ square.t() + torch.eye(width)


for expression in GIVING:
    function = function_of(f"return {expression}, x + 1")
    for width in (6, 6, 6, 8, 10, 12, 4):
        print(expression, [told(result) for result in function(*arguments(width))])
for body in KEPT:
    function = function_of(body)
    for width in (6, 6, 6, 8):
        results = function(*arguments(width))
        results[1].mul_(2)  # seen by what it is a view of
        print(body, [told(result) for result in results], [result._version for result in results], [result._base is results[2] for result in results])
