"""Sums, norms, softmax, statistics and positions of extremes on the GPU."""
import torch
import torch.nn.functional as F


def told(name, tensor):
    values = tensor.detach().double().flatten()
    print(name, tuple(tensor.shape), tensor.dtype, tensor.device, f"{values.abs().sum().item():.3g}", f"{values.abs().max().item():.3g}")


def softmax(x):
    return F.softmax(x * 0.5, -1)


def normed(x, r, weight, bias):
    return F.layer_norm(x + r, x.shape[-1:], weight, bias)


def rms(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def sums(x):
    return x.sum(), x.sum(0), x.sum(1), x.mean(), x.amax(0), x.amin(1)


def positions(x):
    return x.argmax(1), x.argmin(0), x.max(1).indices


def statistics(x):
    return x.var(0), x.std(), torch.var_mean(x, 1)[1]


def loss(logits, target):
    return F.cross_entropy(logits, target)


def prefix(x):
    return torch.cumsum(x, 1) * 2


def main():
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.bfloat16):
        for rows, columns in ((64, 256), (33, 127), (3, 5000), (5000, 3), (257, 1024), (1, 1)):
            x = torch.randn(rows, columns).to("cuda", dtype)
            r = torch.randn(rows, columns).to("cuda", dtype)
            weight, bias = torch.rand(columns).to("cuda", dtype), torch.rand(columns).to("cuda", dtype)
            for _ in range(3):
                told("softmax", softmax(x))
                told("normed", normed(x, r, weight, bias))
                told("rms", rms(x, weight))
                if dtype == torch.float32:
                    for part in sums(x):
                        told("sums", part)
                    for part in positions(x):
                        told("positions", part)
                    if rows > 1 and columns > 1:
                        for part in statistics(x):
                            told("statistics", part)
                    told("loss", loss(x, torch.arange(rows, device="cuda") % columns))
                    told("prefix", prefix(x))


main()
