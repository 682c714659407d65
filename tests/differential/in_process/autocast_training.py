"""Regions of torch.autocast on the CPU: what ops convert is part of the graph, whose entries serve the same dtype alone."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def shown(name, *tensors):
    # Sums of 16-bit products differ in their last places.
    print(name, [(str(t.dtype), tuple(t.shape), round(float(t.double().sum()), 0) + 0) for t in tensors])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.first, self.second = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        return x + self.second(F.gelu(self.first(self.norm(x))))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.projection, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = (y.view(*x.shape[:2], 4, 8).transpose(1, 2) for y in self.projection(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).flatten(2)) + (q @ k.transpose(-1, -2)).softmax(-1).mean()


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 1)

    def forward(self, x):
        y = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        return torch.cat([y, self.second(y)], 1).mean((2, 3))


def losses(x):
    target = torch.zeros_like(x)
    classes = torch.arange(x.shape[0]) % x.shape[1]
    return (F.mse_loss(x, target) + F.smooth_l1_loss(x, target) + F.cross_entropy(x, classes) +
            F.binary_cross_entropy_with_logits(x, target) + F.kl_div(x.log_softmax(-1), target + 0.1, reduction="batchmean") +
            F.nll_loss(x.log_softmax(-1), classes))


def mixed(x, w):
    y = x @ w
    return torch.stack([y, x]).sum(0) + torch.cat([y, y]).sum() + y.prod(-1, keepdim=True) + F.softmax(y, -1)


def inner(x, w):
    a = x @ w
    with torch.autocast("cpu", enabled=False):
        b = x @ w
    return a.float() + b


def einsum(x, w):
    return torch.einsum("ij,jk->ik", x, w).relu() + 1


def of_kinds(x, w):
    """Each to the dtype that torch has for it, arguments of the other one too."""
    y, images = x @ w, x.view(1, 1, 1, 4, 8)
    results = [F.prelu(x, torch.tensor([0.2])), torch.addmm(y, x, w), torch.baddbmm(y[None], x[None], w[None]),
               F.avg_pool3d(images.bfloat16(), 1, 2), F.conv_transpose2d(images[0], torch.ones(1, 2, 2, 2)),
               torch.trace(y), torch.cdist(y, y), F.pad(y[None], (1, 1), mode="reflect"), F.pad(y, (1, 1)),
               torch.linalg.vecdot(x, x), F.instance_norm(y[None]), F.group_norm(y[None], 2), F.layer_norm(y, (8,)),
               F.interpolate(y[None, None], scale_factor=2.0), y.cumsum(0), y.std(-1), y + x, torch.where(x > 0, x, y),
               F.embedding(torch.tensor([1, 2]), x), y.sum(), y.mean(0), x.mv(w[0]), torch.outer(x[0], x[1])]
    return results


def wide(x):
    return F.linear(x.double(), torch.ones(4, x.shape[-1], dtype=torch.float64)).relu()


models = {"block": (Block(), (4, 6, 32)), "attention": (Attention(), (2, 6, 32)), "images": (Convolutions(), (2, 3, 8, 8))}
for name, (net, shape) in models.items():
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    for turn in range(8):
        x = torch.randn(shape)
        dtype = torch.float16 if turn == 6 else torch.bfloat16
        with torch.autocast("cpu", dtype=dtype, enabled=turn not in (3, 4)):
            y = net(x)
            loss = losses(y.flatten(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shown(name, y.detach())
        print(name, turn, loss.dtype, round(loss.item()), {str(p.grad.dtype) for p in net.parameters()})
    with torch.no_grad():
        for turn in range(4):
            with torch.autocast("cpu", torch.bfloat16, enabled=turn % 2 == 0):
                shown(name, net(torch.ones(shape)))
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for turn in range(3):
            shown(name, net(torch.ones(shape)))

w = torch.randn(8, 8)
for f in (mixed, inner, einsum):
    for turn in range(5):
        with torch.autocast("cpu", torch.bfloat16, enabled=turn != 2):
            shown(f.__name__, f(torch.randn(4, 8), w))
for turn in range(4):
    with torch.autocast("cpu", torch.bfloat16, enabled=turn != 1):
        if turn != 1:
            shown("kinds", *of_kinds(torch.linspace(-1, 1, 32).view(4, 8), torch.eye(8) * 0.5))
for turn in range(3):
    with torch.autocast("cpu", torch.bfloat16):
        shown("wide", wide(torch.randn(4, 8)))


@torch.autocast("cpu", torch.bfloat16)
def decorated(x, w):
    return (x @ w).relu() * 2


for turn in range(4):
    shown("decorated", decorated(torch.randn(4, 8), w))

# Backward inside of the region, and twice.
net = Block()
for turn in range(4):
    with torch.autocast("cpu", torch.bfloat16):
        x = torch.randn(4, 6, 32, requires_grad=True)
        y = net(x).sum()
        gradient, = torch.autograd.grad(y, x, create_graph=turn % 2 == 1)
        shown("inside", gradient.detach())
    if turn % 2 == 1:
        gradient.pow(2).sum().backward()
        shown("twice", x.grad)
print(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), (torch.randn(2, 2) @ torch.randn(2, 2)).dtype)
