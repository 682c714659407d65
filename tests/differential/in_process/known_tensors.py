"""Branches on tensors that are made of constants alone, beside others that only look like it."""
import torch


def is_packed(x):
    positions = torch.arange(x.shape[1]).unsqueeze(0)
    steps = torch.diff(positions, prepend=positions[:, :1] - 1, dim=-1)
    if ((steps != 1).cumsum(-1)[:, -1] == 0).all():
        return x * 2
    return x - 1


def counted(x):
    mask = torch.ones(x.shape).tril()
    if bool(mask.sum() > 3) and int(mask.sum()) > 2:
        return x + mask.sum().item()
    return x + float(mask.max())


def written(x, y):
    flags = torch.zeros(2)
    flags += y  # what is written decides
    if flags.any():
        return x + 1
    return x - 1


def written_by_view(x, y):
    flags = torch.zeros(4)
    first = flags[:2]
    first.copy_(y)
    if flags.sum() > 0:
        return x + 1
    return x - 1


def drawn(x):
    if torch.rand(()) > 0.5:
        return x + 1
    return x - 1


def mixed(x):
    mask = torch.arange(4) + (x.sum() > 0)
    if mask[0]:
        return x + 1
    return x - 1


def several(x):
    try:
        if torch.arange(3) > 1:
            return x
    except RuntimeError as error:
        return x, str(error)[:30]
    return x + 1


torch.manual_seed(0)
with torch.no_grad():
    for turn in range(4):
        for size in (2, 5):
            x = torch.randn(size, size + 1) - (turn % 2)
            y = torch.full((2,), float(turn % 2))
            print(is_packed(x).sum().item(), counted(x).sum().item(), written(x, y).sum().item(),
                  written_by_view(x, y).sum().item(), drawn(x).sum().item(), mixed(x).sum().item())
            print([torch.is_tensor(part) or part for part in several(x)])
