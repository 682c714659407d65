"""Whether an input is a leaf of autograd's graph is no part of its type: an entry of a leaf serves no result of an op."""
import torch


def told(x):
    y = x * 2
    return y + 1 if x.is_leaf else y - 1


leaf = torch.ones(3, requires_grad=True)
result, plain = leaf * 1, torch.ones(3)
with torch.no_grad():
    for x in (leaf, leaf, result, leaf, result, plain, result):
        print(told(x))
