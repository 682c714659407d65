"""Small networks on the GPU: an MLP, a convolution with batch norm, attention, an embedding."""
import torch
import torch.nn.functional as F
from torch import nn


def told(name, tensor):
    values = tensor.detach().double().flatten()
    print(name, tuple(tensor.shape), tensor.dtype, tensor.device, f"{values.abs().sum().item():.3g}", f"{values.abs().max().item():.3g}")


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Written(nn.Module):
    """Attention as it is written out."""

    def forward(self, q, k, v, mask):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return F.softmax(scores.masked_fill(mask, float("-inf")), -1) @ v


def main():
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    mlp = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 32), nn.ReLU(), nn.LayerNorm(32)).cuda().eval()
    image = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16),
                          nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)).cuda().eval()
    attention = Attention(64, 4).cuda().eval()
    words = nn.Sequential(nn.Embedding(100, 64), Attention(64, 4), nn.Linear(64, 100)).cuda().eval()
    written = Written()
    x, pixels = torch.randn(16, 64).cuda(), torch.randn(4, 3, 32, 32).cuda()
    tokens = torch.arange(48).view(3, 16).cuda()
    q, k, v = (torch.randn(2, 4, 20, 16).cuda() for _ in range(3))
    mask = torch.ones(20, 20, dtype=torch.bool).triu(1).cuda()
    with torch.no_grad():
        for _ in range(4):
            told("mlp", mlp(x))
            told("image", image(pixels))
            told("attention", attention(x.view(4, 4, 64)))
            told("words", words(tokens))
            told("written", written(q, k, v, mask))
        half = mlp.to(torch.bfloat16)
        for _ in range(3):
            print("half", half(x.to(torch.bfloat16)).shape)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            print("autocast", attention(x.view(4, 4, 64)).dtype)
        told("image in training", image.train()(pixels))
    with torch.inference_mode():
        told("inference", attention(x.view(4, 4, 64)))


main()
