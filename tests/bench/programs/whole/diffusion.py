"""Makes pictures by a denoising diffusion model: a small U-Net, run for every step of the schedule."""

import math

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, inside, outside, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inside), nn.Conv2d(inside, outside, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, outside), nn.Conv2d(outside, outside, 3, padding=1)
        self.time = nn.Linear(time, outside)
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()
        self.act = nn.SiLU()

    def forward(self, x, time):
        y = self.conv1(self.act(self.norm1(x))) + self.time(self.act(time))[:, :, None, None]
        return self.conv2(self.act(self.norm2(y))) + self.skip(x)


class UNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.width = width
        self.embed = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.down = nn.ModuleList([Residual(width, width, 4 * width), Residual(width, 2 * width, 4 * width)])
        self.middle = Residual(2 * width, 2 * width, 4 * width)
        self.up = nn.ModuleList([Residual(4 * width, width, 4 * width), Residual(2 * width, width, 4 * width)])

    def forward(self, x, step):
        half = self.width // 2
        angles = step[:, None].float() * torch.exp(-math.log(10000) * torch.arange(half) / half)[None]
        time = self.embed(torch.cat([angles.sin(), angles.cos()], -1))
        x, kept = self.first(x), []
        for block in self.down:
            x = block(x, time)
            kept.append(x)
            x = nn.functional.avg_pool2d(x, 2)
        x = self.middle(x, time)
        for block in self.up:
            x = nn.functional.interpolate(x, scale_factor=2, mode="nearest")
            x = block(torch.cat([x, kept.pop()], 1), time)
        return self.last(x)


@torch.no_grad()
def sample(network, count, steps=100):
    betas = torch.linspace(1e-4, 0.02, steps)
    alphas = 1 - betas
    products = alphas.cumprod(0)
    x = torch.randn(count, 3, 32, 32)
    for step in reversed(range(steps)):
        noise = network(x, torch.full((count,), step))
        x = (x - betas[step] / (1 - products[step]).sqrt() * noise) / alphas[step].sqrt()
        if step > 0:
            x = x + betas[step].sqrt() * torch.randn_like(x)
    return x.clamp(-1, 1)


torch.manual_seed(0)
network = UNet().eval()
for _ in range(2):
    print(sample(network, 2).shape)
