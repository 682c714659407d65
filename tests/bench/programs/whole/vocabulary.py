"""Learns a byte-pair vocabulary in plain Python and encodes a text with it; torch holds the result."""

import collections
import random

import torch


class Encoder:
    def __init__(self):
        self.merges, self.cache = {}, {}

    @staticmethod
    def pairs(word):
        return zip(word, word[1:])

    def merge(self, word, pair, symbol):
        result, at = [], 0
        while at < len(word):
            if at + 1 < len(word) and (word[at], word[at + 1]) == pair:
                result.append(symbol)
                at += 2
            else:
                result.append(word[at])
                at += 1
        return tuple(result)

    def learn(self, counts, size):
        words = {tuple(word.encode()): count for word, count in counts.items()}
        for symbol in range(256, size):
            seen = collections.Counter()
            for word, count in words.items():
                for pair in self.pairs(word):
                    seen[pair] += count
            if not seen:
                break
            pair = min(seen, key=lambda one: (-seen[one], one))
            self.merges[pair] = symbol
            words = {self.merge(word, pair, symbol): count for word, count in words.items()}

    def encode(self, word):
        if word in self.cache:
            return self.cache[word]
        symbols = tuple(word.encode())
        for pair, symbol in self.merges.items():
            symbols = self.merge(symbols, pair, symbol)
        self.cache[word] = symbols
        return symbols


def main():
    generator = random.Random(0)
    syllables = ["pen", "stock", "tur", "bine", "slu", "ice", "ri", "ver", "ga", "te"]
    words = ["".join(generator.choice(syllables) for _ in range(generator.randint(1, 4))) for _ in range(1500)]
    text = [generator.choice(words) for _ in range(20000)]
    encoder = Encoder()
    encoder.learn(collections.Counter(text), 330)
    rows = [torch.tensor(encoder.encode(word)) for word in text]
    table = torch.nn.utils.rnn.pad_sequence(rows[:4000], batch_first=True)
    print(len(encoder.merges), table.shape, sum(map(len, rows)))


main()
