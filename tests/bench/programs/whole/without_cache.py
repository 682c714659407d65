"""Generates text without a cache: the network sees all tokens again at every step, as llama2.c's Python does."""

import torch
from torch import nn
from torch.nn import functional


def rotate(x, cos, sin):
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(3)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = Norm(width), Norm(width)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.w1, self.w2, self.w3 = (nn.Linear(width, 3 * width, bias=False), nn.Linear(3 * width, width, bias=False),
                                     nn.Linear(width, 3 * width, bias=False))

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        y = self.first(x)
        q, k, v = (layer(y).view(batch, length, self.heads, width // self.heads) for layer in (self.wq, self.wk, self.wv))
        q, k, v = rotate(q, cos, sin).transpose(1, 2), rotate(k, cos, sin).transpose(1, 2), v.transpose(1, 2)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(y.transpose(1, 2).contiguous().view(batch, length, width))
        y = self.second(x)
        return x + self.w2(functional.silu(self.w1(y)) * self.w3(y))


class Llama(nn.Module):
    def __init__(self, vocabulary=512, width=128, layers=4, heads=4, longest=256):
        super().__init__()
        self.tokens, self.norm = nn.Embedding(vocabulary, width), Norm(width)
        self.layers = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.output = nn.Linear(width, vocabulary, bias=False)
        angles = torch.outer(torch.arange(longest), 1.0 / 10000 ** (torch.arange(0, width // heads, 2) / (width // heads)))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens):
        x = self.tokens(tokens)
        length = tokens.shape[1]
        cos, sin = self.cos[:length, None], self.sin[:length, None]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.output(self.norm(x)[:, [-1]])

    @torch.inference_mode()
    def generate(self, idx, count, temperature=1.0, top_k=20):
        for _ in range(count):
            logits = self(idx)[:, -1, :] / temperature
            least, _ = torch.topk(logits, min(top_k, logits.size(-1)))
            logits[logits < least[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(functional.softmax(logits, -1), 1)), 1)
        return idx


torch.manual_seed(0)
model = Llama().eval()
for _ in range(2):
    print(model.generate(torch.randint(0, 512, (1, 6)), 150).shape)
