"""Gradients of nets over images: what is saved lies channels-last, pools gather, weights' gradients are written as the weights lie."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def show(name, tensor):
    flat = tensor.detach().double().flatten()
    print(name, tuple(tensor.shape), tensor.stride(), f"{flat.abs().sum():.4g} {flat[::7].sum():.3g}")


class Pooled(nn.Module):
    """Windows that overlap, reach over the edge, lie apart, and are long."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.last = nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.Conv2d(16, 8, 3, stride=2, padding=1, bias=False)

    def forward(self, x):
        x = F.max_pool2d(self.norm(self.conv(x)).relu(), 3, 2, 1)
        return F.max_pool2d(self.last(x), (2, 3), (3, 2), ceil_mode=True).flatten(1)


class Grouped(nn.Module):
    """Skip connections, groups of few channels, both ways to enlarge, depthwise and transposed convolutions."""

    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.first, self.second = nn.GroupNorm(4, 12), nn.GroupNorm(6, 12)
        self.up, self.out = nn.ConvTranspose2d(24, 6, 2, stride=2), nn.Conv2d(6, 2, 1)

    def forward(self, x):
        a = F.silu(self.first(self.down(x)))
        b = F.gelu(self.second(self.deep(F.avg_pool2d(a, 2))))
        b = F.interpolate(F.max_pool2d(b, 2, stride=1, padding=1), size=a.shape[2:], mode="bilinear")
        return self.out(self.up(torch.cat([a, b], 1))) + F.interpolate(x[:, :2], scale_factor=2)


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv3d(2, 4, 3, padding=1), nn.InstanceNorm3d(4, affine=True)

    def forward(self, x):
        return F.max_pool3d(self.norm(self.conv(x)).tanh(), 2, stride=(2, 1, 2))


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv1d(4, 8, 5, padding=2), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x):
        x = F.max_pool1d(F.leaky_relu(self.norm(self.conv(x))), 4, 2, 2)
        return self.head(x.mean(-1))


def train(net, make, wants_input=False):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(5):
        x = make(2 + step % 2).requires_grad_(wants_input)
        loss = net(x).square().mean()
        loss.backward()
        print(type(net).__name__, step, f"{loss.item():.4g}")
        if x.grad is not None:
            show("input", x.grad)
        for name, parameter in net.named_parameters():
            # A bias in front of normalisation has no gradient but rounding errors.
            if name not in ("conv.bias", "deep.bias", "down.bias"):
                show(name, parameter.grad)
        optimizer.step()
        optimizer.zero_grad()


train(Pooled(), lambda batch: torch.randn(batch, 3, 41, 36), True)
train(Pooled(), lambda batch: torch.randn(batch, 3, 32, 32).to(memory_format=torch.channels_last))
train(Grouped(), lambda batch: torch.randn(batch, 3, 16, 20), True)
train(Volume(), lambda batch: torch.randn(batch, 2, 6, 5, 6))
train(Sequence(), lambda batch: torch.randn(batch, 4, 23))
