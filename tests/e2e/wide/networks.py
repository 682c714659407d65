"""Small networks in the style of public code."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from wide.programs import program


@program
def einops_vit():
    from einops import rearrange, repeat, reduce
    from einops.layers.torch import Rearrange

    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(32, 96, bias=False)

        def forward(self, x):
            q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=4), self.qkv(x).chunk(3, dim=-1))
            return rearrange((q @ k.transpose(-1, -2)).softmax(-1) @ v, "b h n d -> b n (h d)")

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Sequential(Rearrange("b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=8, p2=8), nn.Linear(192, 32))
            self.c = nn.Parameter(torch.randn(1, 1, 32))
            self.a = A()

        def forward(self, im):
            x = self.p(im)
            x = torch.cat((repeat(self.c, "1 1 d -> b 1 d", b=x.shape[0]), x), 1)
            return reduce(self.a(x) + x, "b n d -> b d", "mean")

    return M(), (torch.randn(2, 3, 32, 32),)


@program
def geometric_like():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x, ei):
            src, dst = ei
            h = self.l(x)
            out = torch.zeros_like(h).index_add_(0, dst, h[src])
            deg = torch.zeros(x.size(0)).scatter_add_(0, dst, torch.ones(dst.numel())).clamp(min=1)
            m = torch.full((x.size(0), 4), -1e9).scatter_reduce(0, dst[:, None].expand(-1, 4), h[src], "amax")
            return out / deg[:, None], m, torch.bincount(dst, minlength=x.size(0))

    return M(), (torch.randn(5, 4), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))


@program
def encoder_layers():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2), (torch.randn(2, 5, 16),)


@program
def transformer_full():
    m = nn.Transformer(16, 4, 1, 1, 32, batch_first=True)

    def f(s, t):
        return m(s, t, tgt_mask=nn.Transformer.generate_square_subsequent_mask(t.size(1)))

    m.eval()
    return f, (torch.randn(2, 5, 16), torch.randn(2, 4, 16))


@program
def multihead():
    return nn.MultiheadAttention(16, 4, batch_first=True), (torch.randn(2, 5, 16),) * 3


@program
def diffusion_sampler():
    class U(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = nn.Linear(8, 8)
            self.c = nn.Conv2d(3, 8, 3, padding=1)
            self.d = nn.Conv2d(8, 3, 3, padding=1)

        def forward(self, x, t):
            h = 4
            e = torch.exp(torch.arange(h) * -(math.log(1e4) / (h - 1)))
            e = t[:, None] * e[None]
            e = torch.cat((e.sin(), e.cos()), -1)
            return self.d(F.silu(self.c(x) + self.t(e)[:, :, None, None]))

    u = U().eval()
    betas = torch.linspace(1e-4, 0.02, 5)
    ac = torch.cumprod(1 - betas, 0)

    def extract(a, t, shape):
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))

    def f(x):
        for i in reversed(range(5)):
            t = torch.full((x.shape[0],), i, dtype=torch.long)
            n = u(x, t)
            x = (x - n * (1 - extract(ac, t, x.shape)).sqrt()) / extract(ac, t, x.shape).sqrt()
        return x

    return f, (torch.randn(2, 3, 8, 8),)
