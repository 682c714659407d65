"""Prepares a data set: reads records, cleans them in Python, makes tensors of them, and collects statistics."""

import json
import random

import torch


def records(count):
    generator = random.Random(0)
    for number in range(count):
        words = [generator.choice("alpha beta gamma delta epsilon zeta".split()) for _ in range(generator.randint(3, 30))]
        yield json.dumps({"id": number, "text": " ".join(words), "values": [generator.random() for _ in range(16)]})


def encode(text, vocabulary):
    return torch.tensor([vocabulary.setdefault(word, len(vocabulary)) for word in text.split()])


def normalise(values):
    values = torch.tensor(values)
    return (values - values.mean()) / (values.std() + 1e-6)


def histogram(numbers, bins):
    counts = [0] * bins
    for number in numbers:
        counts[int(number * bins) % bins] += 1
    return counts


def main():
    vocabulary, lengths, rows, seen = {}, [], [], []
    for line in records(6000):
        record = json.loads(line)
        tokens = encode(record["text"], vocabulary)
        lengths.append(len(tokens))
        rows.append(normalise(record["values"]))
        seen.extend(record["values"])
    table = torch.stack(rows)
    print(len(vocabulary), max(lengths), sum(lengths), table.shape, f"{table.std():.2f}")
    print(histogram(seen, 8))


main()
