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


# How deep regions are nested is what it was, wherever segments end in one: torch drops by it what it has converted.
def ends_inside(x):
    with torch.autocast("cpu", enabled=False):
        y = layer(x.float())
        print(y.shape)
        z = layer(y) * 2
    return z


def by_hand(x):
    torch.autocast_increment_nesting()
    y = x * 2
    return y + torch.autocast_decrement_nesting()


region = torch.autocast("cpu", enabled=False)


def begins(x):
    y = x + 1
    region.__enter__()
    return y * 2


def ends(x):
    y = x + 1
    region.__exit__(None, None, None)
    return y * 2


for call in range(6):
    ends_inside(torch.ones(2, 4))
    print(by_hand(torch.ones(2)), ends(begins(torch.ones(2))))
    with torch.autocast("cpu", torch.bfloat16):
        print(round(float(layer(torch.ones(1, 4)).sum()), 1))
    layer.weight.data += 1  # what is converted is dropped at the region's end, or this is not seen
print(torch.autocast_increment_nesting(), torch.autocast_decrement_nesting())


# What autocasting on a GPU converts is there alone.
def on_gpus(x):
    return layer(x) * 2, torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")


for call in range(12):
    torch.set_autocast_enabled("cuda", call % 4 > 1)
    y, *state = on_gpus(torch.ones(2, 4))
    print(y.dtype, round(float(y.sum()), 3), state)
    with torch.autocast("cpu", torch.bfloat16):  # both at once
        print(on_gpus(torch.ones(2, 4))[0].dtype)
torch.set_autocast_enabled("cuda", False)
