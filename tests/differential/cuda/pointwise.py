"""Functions of tensors of every dtype on the GPU, of several sizes and layouts."""
import torch
import torch.nn.functional as F


def told(name, tensor):
    """Enough to tell a wrong result, and too little to tell how a sum was rounded."""
    values = tensor.detach().double().flatten()
    print(name, tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device,
          f"{values.abs().sum().item():.3g}" if values.numel() else "-", f"{values.abs().max().item():.3g}" if values.numel() else "-")


def activated(x, bias, residual):
    return F.gelu(x + bias, approximate="tanh") + residual


def mixed(x, y):
    return torch.where(x > y, x * 2 + 1, y - x).clamp(-3, 3)


def integers(x):
    return (x * 3 + 1) // 2 % 7, (x & 5) | 2, x > 3


def chained(x):
    return torch.sigmoid(x) * torch.tanh(x) + torch.exp(-x * x) - torch.rsqrt(x * x + 1) + torch.log1p(x.abs()) + torch.erf(x)


def transposed(x, y):
    return x.t() * 2 + y


def broadcast(rows, columns, scale):
    return rows[:, None] * columns[None, :] * scale


def main():
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        for rows, columns in ((64, 256), (33, 127), (1, 1), (0, 8), (700, 1030)):
            x = torch.randn(rows, columns).to("cuda", dtype)
            bias, residual = torch.randn(columns).to("cuda", dtype), torch.randn(rows, columns).to("cuda", dtype)
            for _ in range(3):
                told("activated", activated(x, bias, residual))
                told("mixed", mixed(x, residual))
                told("chained", chained(x))
                told("transposed", transposed(x, residual.t().contiguous()))
                told("part", mixed(x[:, 1:], residual[:, :-1]))
    for dtype in (torch.int64, torch.int32, torch.uint8):
        x = torch.arange(1000).to("cuda", dtype)
        for _ in range(3):
            for result in integers(x):
                told("integers", result)
    told("broadcast", broadcast(torch.arange(70.0).cuda(), torch.arange(50.0).cuda(), 0.5))
    told("broadcast", broadcast(torch.arange(70.0).cuda(), torch.arange(50.0).cuda(), 3))


main()
