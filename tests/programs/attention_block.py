"""A two-layer attention block written with matmul, softmax and masks: one graph, no break, three calls, one entry."""
import math
import torch

class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(mask, float("-inf"))
        mixed = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, length, width)
        return self.out(mixed)

class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(approximate="tanh"),
                                       torch.nn.Linear(4 * width, width))

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))

class Block(torch.nn.Module):
    def __init__(self, width=32, heads=4, layers=2, length=12):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).triu(1))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, self.mask[:x.size(1), :x.size(1)])
        return x

torch.manual_seed(0)
model = Block().eval()
with torch.no_grad():
    for _ in range(3):
        x = torch.randn(2, 12, 32)
        print(round(model(x).abs().mean().item(), 4))
