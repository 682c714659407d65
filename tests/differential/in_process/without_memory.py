"""Tensors without data (device meta), as loaders of checkpoints make them: their ops run as they stand, without a word."""
import torch


def double(x):
    return x * 2 + 1


def gathered(module):
    return {name: value.detach() + 0 for name, value in module.state_dict().items()}


def shown(value):
    return value.device.type, tuple(value.shape), value.stride(), value.dtype


with torch.no_grad():
    for n in (3, 4, 5, 6, 7):
        print(shown(double(torch.ones(n, 2, device="meta"))), double(torch.full((n,), 2.0)).sum().item())
    for _ in range(4):
        with torch.device("meta"):
            module = torch.nn.Linear(3, 2)
        print({name: shown(value) for name, value in gathered(module).items()})
        module.to_empty(device="cpu").weight.fill_(0.5)
        module.bias.fill_(1)
        print(gathered(module), module(torch.ones(1, 3)))
