"""Tensors as keys of dicts and sets, which compare by identity: parameters, one of them tied, and what the function makes;
and dict.update of all that it takes."""
import collections
import torch
from torch import nn

torch.set_grad_enabled(False)


def tied():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    return net


NET = tied()


def names_of(x):
    names = {}
    for name, parameter in NET.named_parameters(remove_duplicate=False):
        if parameter not in names:
            names[parameter] = []
        names[parameter].append(name)
    return x * len(names), list(names.values())


def made_here(x):
    x = x + 1
    y, z = x * 2, torch.relu(x)
    found = {x: "x", NET[0].weight: "w", NET[1].weight: "w again", NET[0].bias: "b"}
    found[y] = "y"
    found.setdefault(y, "no")
    found.setdefault(x.sum(), "sum")
    copied = {tensor: name for tensor, name in found.items()}
    several = {x, y, x.mean()}
    several.add(NET[0].bias)
    seen = [len(found), found[x], found[y], found.get(z, "none"), y in several, z in several, NET[0].bias in several,
            NET[1].bias in several, copied.pop(x), len(copied), NET[1].weight in found, len({y: one for one in range(3)}), len({y for _ in range(3)})]
    del found[y]
    try:
        found[y]
    except KeyError:
        seen.append("lacks it")
    return x.sum(), seen, y in found


def left_behind(x):
    y = x * 2
    return {y: x + 1, NET[0].weight: y}, {y, NET[0].bias}, y


def given(x, y):
    return x + y, {x: 1, y: 2}[y], len({x, y})


class OwnSetter(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, ("own", value))


class OwnOrdered(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, ("own", value))


class Mapping:
    def __init__(self, **items):
        self.items = items

    def keys(self):
        return list(self.items)

    def __getitem__(self, key):
        return self.items[key]


GLOBAL = {"there": 1}
ORDERED = OwnOrdered(a=1)


def refused(update, *arguments):
    try:
        update(*arguments)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    return "taken"


def updated(x):
    x = x + 1
    plain, own, ordered = {}, OwnSetter(), collections.OrderedDict()
    plain.update((str(number), x * number) for number in range(3))
    plain.update(zip("ab", (x, x * 2)), c=x)
    plain.update(Mapping(q=x * 3), r=4)
    plain.update([("s", 1), ["t", x]])
    plain.update(NET.named_parameters())
    own.update([("s", 1), ("t", x)])
    own.update(Mapping(q=x))
    own.update(w=1)
    ordered.update((key, value) for key, value in plain.items())
    ordered.update(Mapping(q=x * 5))
    ORDERED.update([("s", 1), ("t", x)])
    GLOBAL.update([("x", x.sum()), ("y", 3)])
    GLOBAL.update(map(lambda one: (one, x), "kl"))
    return plain, own, ordered, [refused(plain.update, one) for one in ([(1, 2, 3)], [3], 5)]


def shown(one):
    if isinstance(one, torch.Tensor):
        return [round(number, 4) for number in one.flatten().tolist()]
    if isinstance(one, dict):
        return {key if isinstance(key, str) else shown(key): shown(value) for key, value in one.items()} if all(
            isinstance(key, str) for key in one) else [(shown(key), shown(value)) for key, value in one.items()]
    if isinstance(one, (list, tuple)):
        return [shown(item) for item in one]
    return sorted(map(str, map(shown, one))) if isinstance(one, set) else one


for turn in range(4):
    x = torch.arange(3.0) * turn
    print(shown(names_of(x)), shown(made_here(x)), shown(given(x, x * 2)), shown(given(x, x)))
    by, several, key = left_behind(x)
    print(shown(by), shown(several), key in by, key in several)
    print(shown(updated(x)))
print(shown(GLOBAL), shown(ORDERED))
NET[1].weight = nn.Parameter(torch.ones(3, 3))
for turn in range(3):
    print(shown(names_of(x)), shown(made_here(x)))
