"""Transforms, complex numbers and linear algebra."""

import torch
import torch.nn.functional as F
from torch import nn

from wide.programs import program


@program
def fno():
    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(8, 8, 4, 4, dtype=torch.cfloat) * 0.1)
            self.c = nn.Conv2d(8, 8, 1)

        def forward(self, x):
            f = torch.fft.rfft2(x)
            o = torch.zeros(x.size(0), 8, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat)
            o[:, :, :4, :4] = torch.einsum("bixy,ioxy->boxy", f[:, :, :4, :4], self.w)
            return F.gelu(torch.fft.irfft2(o, s=(x.size(-2), x.size(-1))) + self.c(x))

    return nn.Sequential(nn.Conv2d(3, 8, 1), S(), S(), nn.Conv2d(8, 1, 1)), (torch.randn(2, 3, 16, 16),)


@program
def fnet_mix():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = nn.LayerNorm(16)
            self.f = nn.Linear(16, 16)

        def forward(self, x):
            return self.f(self.n(x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real))

    return M(), (torch.randn(2, 8, 16),)


@program
def rope_complex():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            f = torch.outer(torch.arange(16), 1.0 / 10000 ** (torch.arange(0, 8, 2) / 8))
            self.register_buffer("cis", torch.polar(torch.ones_like(f), f))
            self.q = nn.Linear(32, 32)

        def forward(self, x):
            b, t, _ = x.shape
            q = self.q(x).view(b, t, 4, 8)
            qc = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
            return torch.view_as_real(qc * self.cis[:t].view(1, t, 1, 4)).flatten(3).type_as(x)

    return M(), (torch.randn(2, 16, 32),)


@program
def stft_mask():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(33, 33)
            self.register_buffer("w", torch.hann_window(64))

        def forward(self, x):
            z = torch.stft(x, 64, 16, window=self.w, return_complex=True)
            m = torch.sigmoid(self.l(z.abs().transpose(1, 2))).transpose(1, 2)
            return torch.istft(z * m, 64, 16, window=self.w, length=x.size(-1))

    return M(), (torch.randn(2, 640),)


@program
def complex_layers():
    class C(nn.Module):
        def __init__(self):
            super().__init__()
            self.r = nn.Linear(8, 8)
            self.i = nn.Linear(8, 8)

        def forward(self, z):
            return torch.complex(self.r(z.real) - self.i(z.imag), self.r(z.imag) + self.i(z.real))

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = C()
            self.b = C()

        def forward(self, z):
            return torch.abs(self.b(self.a(z) * 1j)) + torch.angle(z)

    return M(), (torch.randn(3, 8, dtype=torch.cfloat),)


@program
def s4d():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.la = nn.Parameter(torch.rand(8, 4))
            self.ai = nn.Parameter(torch.randn(8, 4))
            self.c = nn.Parameter(torch.view_as_real(torch.randn(8, 4, dtype=torch.cfloat)))
            self.d = nn.Parameter(torch.randn(8))

        def forward(self, u):
            L = u.size(-1)
            a = -torch.exp(self.la) + 1j * self.ai
            c = torch.view_as_complex(self.c)
            k = (
                2
                * torch.einsum(
                    "hn,hnl->hl", c * (torch.exp(a) - 1) / a, torch.exp(a.unsqueeze(-1) * torch.arange(L))
                ).real
            )
            y = torch.fft.irfft(torch.fft.rfft(k, n=2 * L) * torch.fft.rfft(u, n=2 * L), n=2 * L)[..., :L]
            return y + u * self.d.unsqueeze(-1)

    return M(), (torch.randn(2, 8, 16),)


@program
def linalg_whiten():
    class M(nn.Module):
        def forward(self, x):
            x = x - x.mean(0)
            c = x.T @ x / x.size(0) + 0.1 * torch.eye(x.size(1))
            l = torch.linalg.cholesky(c)
            w = torch.linalg.solve_triangular(l, x.T, upper=False)
            u, sv, v = torch.linalg.svd(c)
            e = torch.linalg.eigvalsh(c)
            return w.T, sv, e, torch.logdet(c), torch.linalg.inv(c), torch.linalg.det(c)

    return M(), (torch.randn(10, 4),)
