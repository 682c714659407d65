"""Sizes that the program marks: f is one entry for every batch of at least 2 and one for batch 1, from the first call on; g, whose input is marked static, is an entry for each of its sizes."""
import torch


def f(x):
    return (x * 2 + x.shape[0]).relu().sum(-1)


def g(x):
    return (x * 3 + 1).tanh()


torch.manual_seed(0)
for batch in (6, 7, 9, 1, 2):
    x, y = torch.rand(batch, 5), torch.rand(batch, 5)
    torch._dynamo.mark_dynamic(x, 0) if batch > 1 else None
    torch._dynamo.mark_static(y)
    print(batch, round(f(x).sum().item(), 3), round(g(y).sum().item(), 3))
