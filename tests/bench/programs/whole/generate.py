"""Generates text, token after token, with a transformer that keeps keys and values, and samples with a temperature."""

import math

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.projection, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache):
        batch, length, width = x.shape
        query, key, value = self.projection(self.before(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        scores = query @ key.transpose(-1, -2) / math.sqrt(key.shape[-1])
        if length > 1:
            scores = scores + torch.full((length, length), -math.inf).triu(1)
        x = x + self.out((scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.between(x)))), (key, value)


class Language(nn.Module):
    def __init__(self, vocabulary=512, width=128, layers=4, heads=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(1024, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.last = nn.LayerNorm(width)
        self.scores = nn.Linear(width, vocabulary)

    def forward(self, tokens, place, caches):
        x = self.tokens(tokens) + self.places(torch.arange(place, place + tokens.shape[1]))
        kept = []
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache)
            kept.append(cache)
        return self.scores(self.last(x[:, -1])), kept


@torch.no_grad()
def generate(network, tokens, count, temperature):
    caches = [None] * len(network.blocks)
    given, place = tokens, 0
    for _ in range(count):
        scores, caches = network(given, place, caches)
        place += given.shape[1]
        chances = (scores / temperature).softmax(-1)
        given = torch.multinomial(chances, 1)
        tokens = torch.cat([tokens, given], 1)
    return tokens


torch.manual_seed(0)
network = Language().eval()
for request in range(2):
    print(generate(network, torch.randint(0, 512, (1, 8 + request)), 120, 0.8).shape)
