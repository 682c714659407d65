"""Iterators of C that a function keeps in a variable and goes over: itertools.chain, map and filter in loops, comprehensions
and unpacking, twice, in part, behind a break; and where the program looks at the iterator itself. load_state_dict is one of
those who do."""
import itertools
import torch
from torch import nn
torch.manual_seed(0)
net = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
more, target = nn.Linear(8, 8), nn.Linear(8, 8)


def chained(x):
    layers = itertools.chain(net, [more])
    for layer in layers:
        x = torch.relu(layer(x))
    return x


def mapped(x):
    parts = map(torch.tanh, x.chunk(2))
    a, b = parts
    return a + b


def filtered(x):
    wide = filter(lambda m: m.bias is not None, net)
    return torch.stack([m(x) for m in wide]).sum(0)


def twice(x):
    parts = map(torch.sin, x.chunk(2))
    out = [p * 2 for p in parts]
    for p in parts:
        out.append(p)
    return torch.cat(out)


def half(x):
    parts = itertools.chain(x.chunk(2), x.chunk(4))
    for p in parts:
        x = x + p.sum()
        break
    for p in parts:
        x = x * p.mean()
    return x


def looked_at(x):
    parts = map(torch.sin, x.chunk(2))
    kind = type(parts).__name__
    return torch.cat([p for p in parts]), kind


def shown(x):
    parts = map(torch.sin, x.chunk(2))
    names = [type(v).__name__ for v in locals().values()]
    return torch.cat([p for p in parts]), names


def printed(x):
    parts = itertools.chain(x.chunk(2))
    for p in parts:
        print(p.shape)
        x = x + p.sum()
    return x


def loaded(x):
    target.load_state_dict({name: value * 0.5 + 1 for name, value in more.state_dict().items()})
    return target(x)


def raises(x):
    parts = map(lambda p: p.view(3), x.chunk(2))
    for p in parts:
        x = x + p
    return x

x = torch.ones(4, 8)
with torch.no_grad():
    for i in range(6):
        for f in (chained, mapped, filtered, twice, half, looked_at, shown, printed, loaded):
            r = f(x + i)
            print(f.__name__, *(round(t.sum().item(), 3) if isinstance(t, torch.Tensor) else t for t in (r if isinstance(r, tuple) else (r,))))
        try:
            raises(x)
        except RuntimeError as e:
            print(e)
