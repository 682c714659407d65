"""Gradients lie in memory as torch lays them out: as what they are gradients of, images with channels last too.
Those of slices, joined parts and averages are left out: torch's are contiguous there whatever lies in front."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def shown(name, f, x):
    y = f(x)
    tangent = torch.empty_like(y).copy_(torch.linspace(-1, 1, y.numel()).view(y.shape))
    g, = torch.autograd.grad(y, x, tangent)
    places = torch.linspace(0, 1, g.numel()).view(g.shape)
    print(name, tuple(g.stride()), tuple(y.stride()), round(float((g * places).sum()), 2) + 0)


def product(x):
    return (x.t() @ x).sin()


def swapped(x):
    return x.transpose(0, 1).exp() * 2


def affine(x):
    return F.linear(x, torch.ones(3, x.size(-1)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.second(F.silu(self.norm(self.first(x))) + x)


images = {"hardswish": nn.Hardswish(), "convolution": nn.Conv2d(4, 6, 3, padding=1), "norm": nn.BatchNorm2d(4),
          "block": Block(), "largest": nn.MaxPool2d(2), "averages": nn.AvgPool2d(2), "groups": nn.GroupNorm(2, 4)}
for _ in range(3):
    for name, module in images.items():
        for format in (torch.contiguous_format, torch.channels_last):
            shown(name, module, torch.randn(2, 4, 6, 6).contiguous(memory_format=format).requires_grad_())
    for function in (product, swapped, affine):
        for x in (torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(4, 12)[:, ::2]):
            shown(function.__name__, function, x.requires_grad_())
model, image = Block().to(memory_format=torch.channels_last), torch.randn(2, 4, 6, 6)
for _ in range(3):
    model(image.contiguous(memory_format=torch.channels_last)).square().mean().backward()
    print([(tuple(p.grad.stride()), round(float(p.grad.sum()), 2) + 0) for p in model.parameters()])
