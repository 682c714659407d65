"""Layers that keep their attention for whoever asks: in one attribute each, with dropout in front of it, and memory that
another stack made. The program goes backward from the loss, from what was kept, and to it."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, heads, width, rate):
        super().__init__()
        self.heads, self.rate, self.kept = heads, rate, None
        self.parts = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        batch, width = query.size(0), query.size(2)
        split = [part(x).view(batch, -1, self.heads, width // self.heads).transpose(1, 2)
                 for part, x in zip(self.parts, (query, key, value))]
        scores = split[0] @ split[1].transpose(2, 3) / math.sqrt(width // self.heads)
        if mask is not None:
            scores = scores.masked_fill(mask, -1e9)
        self.kept = F.dropout(scores.softmax(-1), self.rate, self.training)
        return self.parts[3]((self.kept @ split[2]).transpose(1, 2).reshape(batch, -1, width))


class Layer(nn.Module):
    def __init__(self, attention, width, rate, crosses):
        super().__init__()
        self.own, self.cross = attention, copy.deepcopy(attention) if crosses else None
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(rate), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.rate = rate

    def forward(self, x, memory=None, mask=None):
        y = self.norms[0](x)
        x = x + F.dropout(self.own(y, y, y, mask), self.rate, self.training)
        if self.cross is not None:
            x = x + F.dropout(self.cross(self.norms[1](x), memory, memory), self.rate, self.training)
        return x + self.feed(self.norms[2](x))


class Translator(nn.Module):
    def __init__(self, words, width, rate):
        super().__init__()
        self.words = nn.Embedding(words, width)
        attention = Attention(2, width, rate)
        self.encoder = nn.ModuleList(Layer(copy.deepcopy(attention), width, rate, False) for _ in range(2))
        self.decoder = nn.ModuleList(Layer(copy.deepcopy(attention), width, rate, True) for _ in range(2))
        self.out = nn.Linear(width, words)

    def forward(self, source, target, mask):
        memory = F.dropout(self.words(source), 0.1, self.training)
        for layer in self.encoder:
            memory = layer(memory)
        x = F.dropout(self.words(target), 0.1, self.training)
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return self.out(x)

    def attentions(self):
        return [m.kept for m in self.modules() if isinstance(m, Attention) and m.kept is not None]


def digest(model):
    total = sum(p.grad.double().abs().sum() for p in model.parameters() if p.grad is not None)
    model.zero_grad()
    return f"{total.item():.3f}"


def show(model, source, target, mask):
    logits = model(source, target[:, :-1], mask)
    return logits, F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())


for rate in (0.0, 0.1):
    model = Translator(17, 16, rate)
    source, target = torch.randint(0, 17, (3, 7)), torch.randint(0, 17, (3, 6))
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    for turn in range(4):
        torch.manual_seed(turn)
        logits, loss = show(model, source, target, mask)
        loss.backward()
        print("loss", f"{loss.item():.5f}", digest(model), [k.requires_grad for k in model.attentions()].count(True))
    for turn in range(3):
        torch.manual_seed(turn)
        logits, loss = show(model, source, target, mask)
        kept = model.attentions()
        (loss + sum((k * k).mean() for k in kept)).backward()
        print("with what was kept", f"{loss.item():.5f}", digest(model))
    for turn in range(3):
        torch.manual_seed(turn)
        logits, loss = show(model, source, target, mask)
        kept = model.attentions()
        for gradient in torch.autograd.grad(loss, [kept[0], kept[-1], kept[3]], retain_graph=turn > 0):
            print("to what was kept", tuple(gradient.shape), f"{gradient.double().abs().sum().item():.4f}")
    for turn in range(3):
        torch.manual_seed(turn)
        logits, loss = show(model, source, target, mask)
        kept = model.attentions()
        kept[1].retain_grad()
        kept[4].register_hook(lambda gradient: gradient * 3)
        loss.backward()
        print("watched", f"{kept[1].grad.double().abs().sum().item():.4f}", digest(model))
    torch.manual_seed(9)
    logits, loss = show(model, source, target, mask)
    kept = model.attentions()
    kept[2].square().sum().backward()
    print("from what was kept", digest(model))
    try:
        loss.backward()
        print("and from the loss", digest(model))
    except RuntimeError as error:
        print(str(error)[:46])
    model.eval()
    with torch.no_grad():
        print("eval", f"{show(model, source, target, mask)[1].item():.5f}")
