"""A Llama written from scratch (rotary embeddings, grouped heads, RMS norm) that samples without a cache."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    freqs = torch.outer(torch.arange(end), freqs).float()
    return torch.cos(freqs), torch.sin(freqs)


def apply_rotary_emb(xq, xk, cos, sin):
    q_r, q_i = xq.float().reshape(xq.shape[:-1] + (-1, 2)).unbind(-1)
    k_r, k_i = xk.float().reshape(xk.shape[:-1] + (-1, 2)).unbind(-1)
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    q = torch.stack([q_r * cos - q_i * sin, q_r * sin + q_i * cos], dim=-1).flatten(3)
    k = torch.stack([k_r * cos - k_i * sin, k_r * sin + k_i * cos], dim=-1).flatten(3)
    return q.type_as(xq), k.type_as(xk)


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, dim // heads
        self.wq = nn.Linear(dim, heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(heads * self.head_dim, dim, bias=False)
        self.register_buffer("mask", torch.triu(torch.full((1, 1, 64, 64), float("-inf")), diagonal=1))

    def forward(self, x, cos, sin):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, self.heads, self.head_dim)
        xk = self.wk(x).view(bsz, seqlen, self.kv_heads, self.head_dim)
        xv = self.wv(x).view(bsz, seqlen, self.kv_heads, self.head_dim)
        xq, xk = apply_rotary_emb(xq, xk, cos, sin)
        n = self.heads // self.kv_heads
        xk = xk[:, :, :, None, :].expand(bsz, seqlen, self.kv_heads, n, self.head_dim).reshape(bsz, seqlen, self.heads, self.head_dim)
        xv = xv[:, :, :, None, :].expand(bsz, seqlen, self.kv_heads, n, self.head_dim).reshape(bsz, seqlen, self.heads, self.head_dim)
        xq, xk, xv = (v.transpose(1, 2) for v in (xq, xk, xv))
        scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(self.head_dim) + self.mask[:, :, :seqlen, :seqlen]
        out = torch.matmul(F.softmax(scores.float(), dim=-1).type_as(xq), xv)
        return self.wo(out.transpose(1, 2).contiguous().view(bsz, seqlen, -1))


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = Attention(dim, 4, 2)
        self.w1, self.w2, self.w3 = nn.Linear(dim, 64, bias=False), nn.Linear(64, dim, bias=False), nn.Linear(dim, 64, bias=False)
        self.attention_norm, self.ffn_norm = RMSNorm(dim), RMSNorm(dim)

    def forward(self, x, cos, sin):
        h = x + self.attention(self.attention_norm(x), cos, sin)
        n = self.ffn_norm(h)
        return h + self.w2(F.silu(self.w1(n)) * self.w3(n))


class Transformer(nn.Module):
    def __init__(self, vocab=61, dim=32, layers=2):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(layers))
        self.norm, self.output = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)
        cos, sin = precompute_freqs_cis(8, 64)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens):
        seqlen = tokens.shape[1]
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, self.cos[:seqlen], self.sin[:seqlen])
        return self.output(self.norm(h)[:, [-1], :])

    @torch.inference_mode()
    def generate(self, idx, count, temperature=1.0, top_k=None):
        for _ in range(count):
            logits = self(idx if idx.size(1) <= 64 else idx[:, -64:])[:, -1, :]
            if temperature == 0.0:
                _, next_id = torch.topk(logits, k=1, dim=-1)
            else:
                logits = logits / temperature
                if top_k is not None:
                    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                    logits[logits < v[:, [-1]]] = -float("Inf")
                next_id = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            idx = torch.cat((idx, next_id), dim=1)
        return idx


torch.manual_seed(4)
model = Transformer().eval()
print(model.generate(torch.tensor([[1, 5]]), 20, temperature=0.0)[0].tolist())
torch.manual_seed(8)
print(model.generate(torch.tensor([[1], [2]]), 20, temperature=0.8, top_k=12).tolist())
