"""Functions whose graphs check_devices.py makes kernels of for a GPU: each kind of schedule, float32 and bfloat16."""
import torch
import torch.nn.functional as F


def pointwise(x, bias, residual):
    return F.gelu(x + bias, approximate="tanh") + residual


def scaled(x, factor):
    return torch.where(x > 0, x * factor, x.exp() - 1)


def softmax(x):
    return F.softmax(x * 0.5, -1)


def normed(x, residual, weight):
    return F.layer_norm(x + residual, x.shape[-1:], weight, weight)


def columns(x):
    return x.sum(0), x.amax(0)


def everything(x):
    return x.sum(), x.mean()


def positions(x):
    return x.argmax(1), x.max(1).indices


def prefix(x):
    return torch.cumsum(x, 1) * 2


def transposed(x, y):
    return x.t() * 2 + y


def angles(x):
    return torch.sin(x) + torch.erf(x) * torch.log1p(x.abs()) + torch.fmod(x, 0.3)


def linear(x, weight, bias):
    return F.gelu(F.linear(x, weight, bias), approximate="tanh")


def one_row(x, weight):
    return F.silu(F.linear(x[:1], weight))


def words(tokens, table):
    return F.embedding(tokens, table) * 2


def written(cache, place, row):
    return cache.index_copy(0, place, row * 2)


def image(x, weight, bias):
    y = F.max_pool2d(F.relu(F.conv2d(x, weight, bias, padding=1)), 3, 2, 1)
    return F.relu(F.conv2d(y, weight[:, :, :1, :1]) + y).mean((2, 3))


# Not in a function, which would be one graph.
torch.set_grad_enabled(False)
torch.manual_seed(0)
for dtype in (torch.float32, torch.bfloat16):
    for rows, width in ((64, 256), (7, 1001)):
        x, residual, weight = torch.randn(rows, width).to(dtype), torch.randn(rows, width).to(dtype), torch.rand(width).to(dtype)
        pointwise(x, weight, residual)
        scaled(x, 0.5)
        softmax(x)
        normed(x, residual, weight)
        columns(x)
        everything(x)
        positions(x)
        prefix(x)
        transposed(x, residual.t().contiguous())
        angles(x)
        linear(x, torch.randn(257, width).to(dtype), torch.randn(257).to(dtype))
        one_row(x, torch.randn(64, width).to(dtype))
        words(torch.arange(rows), x)
        written(x, torch.tensor([3]), residual[:1])
    image(torch.randn(2, 64, 12, 12).to(dtype), torch.randn(64, 64, 3, 3).to(dtype), torch.randn(64).to(dtype))
