"""Regions of torch.autocast: those that turn it off change nothing and are part of a graph, others are torch's; the state
that they ask for changes between calls."""
import torch
from torch import nn

torch.set_grad_enabled(False)
torch.manual_seed(1)
layer = nn.Linear(4, 4).eval()


def regions(x, on=False, dtype=None):
    y = layer(x)
    with torch.autocast("cpu", enabled=on, dtype=dtype):
        y = layer(y) * 2
    with torch.amp.autocast(device_type="cpu", enabled=False):
        z = layer(x.float()) + torch.is_autocast_enabled("cpu")
    return y, z


@torch.autocast("cpu", enabled=False)
def decorated(x):
    return x @ x + 1, torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()


def sets(x):
    y = x * 2
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_cache_enabled(True)
    return y + 1, torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()


for call in range(10):
    if call == 5:
        torch.set_autocast_dtype("cpu", torch.float16)
    if call == 6:
        torch.set_autocast_cache_enabled(False)
    y, z = regions(torch.ones(2, 4), call in (2, 3), torch.bfloat16 if call == 3 else None)
    print(y.dtype, [round(number, 1) for number in y.float().flatten().tolist()], z.shape, decorated(torch.ones(2, 2)))
    if call != 5:
        print(sets(torch.ones(2)))
    print(torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled(), torch.is_autocast_enabled("cpu"))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print(decorated(torch.ones(2, 2)), layer(torch.ones(1, 4)).dtype)
torch.set_grad_enabled(True)
