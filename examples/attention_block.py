"""Two transformer layers at batch 4: layer norms, attention, a GELU MLP. Prints a checksum and the
time of one call, so that `python` and `penstock run` can be compared."""
import math
import time

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1 = nn.LayerNorm(width)
        self.norm_2 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        mixed = torch.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norm_1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(256, 8) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
block = Block().eval()
x = torch.randn(4, 128, 256)
with torch.no_grad():
    for _ in range(3):
        y = block(x)
    print("checksum", round(y.abs().mean().item(), 4))
    begin = time.perf_counter()
    for _ in range(20):
        block(x)
    print(f"{(time.perf_counter() - begin) / 20 * 1000:.2f} ms per call")
