"""Embeds sentences of changing lengths with a BERT from a configuration, and compares them."""

import random

import torch
from transformers import BertConfig, BertModel


def mean_pooling(hidden, mask):
    mask = mask.unsqueeze(-1).float()
    return (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


def main():
    torch.manual_seed(0)
    generator = random.Random(0)
    config = BertConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512)
    model = BertModel(config).eval()
    rows = []
    with torch.no_grad():
        for _ in range(80):
            sentences = [[generator.randrange(1000) for _ in range(generator.randint(5, 40))] for _ in range(8)]
            longest = max(map(len, sentences))
            ids = torch.tensor([sentence + [0] * (longest - len(sentence)) for sentence in sentences])
            mask = torch.tensor([[1] * len(sentence) + [0] * (longest - len(sentence)) for sentence in sentences])
            rows.append(mean_pooling(model(input_ids=ids, attention_mask=mask).last_hidden_state, mask))
    table = torch.nn.functional.normalize(torch.cat(rows), dim=1)
    print(table.shape, (table @ table.T).shape)


main()
