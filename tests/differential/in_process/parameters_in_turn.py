"""Parameters of many sizes that one loop goes over, as an optimizer's step does: one entry serves all of a rank."""
import torch


def decay(param, grad, rate):
    param.mul_(1 - rate * 0.1).add_(grad, alpha=-rate)
    return param.sum()


def weigh(layer, x):
    return layer.weight * 2 + x


torch.manual_seed(0)
params = [torch.nn.Parameter(torch.randn(*shape)) for shape in
          ((4, 8), (8,), (3, 8), (3,), (5, 6), (7,), (6, 2), (9,), (2, 9), (11,), (12, 3), (13,))]
with torch.no_grad():
    for rate in (0.5, 0.25, 0.125):
        print([round(decay(p, torch.ones_like(p), rate).item(), 4) for p in params])
    # Those that a module is asked for are its weights: each size has an entry of its own.
    for n in (2, 3, 4, 2, 3, 4):
        print(weigh(torch.nn.Linear(n, n).requires_grad_(False), torch.ones(n)).shape)
