"""Trains a character-level transformer on a text made up, estimates its loss now and then, and samples from it."""

import math
import random

import torch
from torch import nn
from torch.nn import functional

LENGTH, WIDTH, HEADS, LAYERS = 48, 96, 4, 3


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (part.view(B, T, HEADS, C // HEADS).transpose(1, 2) for part in self.c_attn(x).split(C, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = functional.softmax(scores, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, letters):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(letters, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, letters, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        x = self.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    @torch.no_grad()
    def generate(self, idx, count, top_k=5):
        for _ in range(count):
            logits, _ = self(idx[:, -LENGTH:])
            logits = logits[:, -1, :] / 0.9
            least = torch.topk(logits, top_k).values
            logits[logits < least[:, [-1]]] = -float("inf")
            idx = torch.cat((idx, torch.multinomial(functional.softmax(logits, dim=-1), 1)), dim=1)
        return idx


def get_batch(data):
    ix = torch.randint(len(data) - LENGTH - 1, (12,))
    return torch.stack([data[i:i + LENGTH] for i in ix]), torch.stack([data[i + 1:i + 1 + LENGTH] for i in ix])


@torch.no_grad()
def estimate_loss(model, data):
    model.eval()
    losses = torch.zeros(8)
    for k in range(8):
        losses[k] = model(*get_batch(data))[1].item()
    model.train()
    return losses.mean()


def main():
    torch.manual_seed(0)
    words = ["penstock", "turbine", "sluice", "river", "gate", "valve"]
    text = " ".join(random.Random(0).choice(words) for _ in range(4000))
    letters = sorted(set(text))
    data = torch.tensor([letters.index(letter) for letter in text])
    model = GPT(len(letters))
    decays = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3)
    for step in range(120):
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * min(1, (step + 1) / 20)
        if step % 40 == 0:
            print(step, estimate_loss(model, data) < 4)
        _, loss = model(*get_batch(data))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(model.generate(torch.zeros((1, 1), dtype=torch.long), 100).shape)


main()
