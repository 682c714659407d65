"""What programs say in Python between their tensors: unions in annotations, members of enumerations, matches,
dicts of pairs, sets, namespaces, cached properties, operators from the right; and one graph of it."""

import collections.abc
import enum
import functools
import gc
import operator
import types
import typing

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(3, 4), torch.randn(3, 4)


def told(value):
    if isinstance(value, torch.Tensor):
        return f"{value.double().sum().item():.4f} {tuple(value.shape)}"
    if isinstance(value, dict):
        return {key: told(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [told(one) for one in value]
    return value


def tell(function, *arguments, whole=True):
    """Three calls of it; and of how many graphs it is to a back end of torch.compile's, where torch can follow it."""
    graphs = []

    def count(graph, examples):
        graphs.append(graph)
        return graph.forward

    with torch.no_grad():
        for _ in range(3):
            print(function.__name__, told(function(*arguments)))
        if whole:
            print(function.__name__, "whole", told(torch.compile(function, backend=count)(*arguments)), len(graphs))


# -- annotations that are evaluated, types that are subscripted

def annotated(x):
    def inner(a: torch.Tensor | None, b: int | str | None = None, *, c: list[int] | dict[str, int] | None = None) -> torch.Tensor | None:
        return a * 2

    def takes(f: collections.abc.Callable[[int], int], s: collections.abc.Sequence[int]) -> int | float:
        return f(len(s))

    return inner(x) + takes(lambda n: n + 1, [1, 2])


tell(annotated, x)


# Unions of classes whose class is not type: it has type's operator until it gets one of its own.
class Kind(type):
    pass


class Part(metaclass=Kind):
    pass


def joined(x):
    either = torch.Tensor | collections.abc.Sequence[int] | collections.abc.Sequence
    return typing.cast(Part | None, x) * len(typing.get_args(either))


def joined_from_the_right(x):
    return typing.cast(int | Part, x) * 2


tell(joined, x)
tell(joined_from_the_right, x, whole=False)
asked = []


def own_operator(self, other):
    asked.append(other)
    return self


with torch.no_grad():
    for turn in range(9):
        if turn == 3:
            Kind.__or__ = own_operator
        if turn == 6:
            Kind.__ror__ = own_operator
        print(told(joined(x)), told(joined_from_the_right(x)), len(asked))


# Types that were made on the way lie on the stack where a segment ends.
def behind(x, kind):
    pair = (collections.abc.Sequence[torch.Tensor], int | None, list[int])
    y = x * 2
    print("ends", told(y), pair)
    return y + len(pair), pair, typing.cast(collections.abc.Sequence[int], kind), ends(collections.abc.Sequence[int], y)


def ends(kind, y):
    print(kind)
    return y + 1


for _ in range(3):
    gc.collect()
    with torch.no_grad():
        print(told(behind(x, 1)))


# -- enumerations

class Kind(enum.Enum):
    MEAN = "mean"
    SUM = "sum"


class Dim(enum.IntEnum):
    ROWS = 0
    COLUMNS = 1


def reduced(x, kind):
    if Kind(kind) is Kind.MEAN:
        return x.mean(Dim.ROWS) * 2
    return x.sum(dim=Dim.COLUMNS) + Dim.COLUMNS


tell(reduced, x, "mean")
tell(reduced, x, "sum")
for kind in ("mean", "sum", "none", "mean"):
    try:
        print(told(reduced(x, kind)))
    except ValueError as error:
        print(error)


# -- match

def matched(x, what):
    match what:
        case []:
            return x
        case [scale]:
            return x * scale
        case [scale, *more]:
            return x * scale + len(more)
        case {"op": "add", "by": by}:
            return x + by
        case {"op": "scale", **more}:
            return x * more["by"]
        case str():
            return x - 1
    return -x


for what in ([], [3], (2, 1, 1), {"op": "add", "by": 4}, {"op": "scale", "by": 5}, {"op": "add"}, "text", 7):
    for _ in range(2):
        print("matched", told(matched(x, what)))


def by_sequence(x, what):
    match what:
        case [a]:
            return x * a
        case [a, *more]:
            return x * a + len(more)


def by_mapping(x, what):
    match what:
        case {"op": "scale", **more}:
            return x * more["by"]
        case {"op": "add", "by": by}:
            return x + by


tell(by_sequence, x, [3, 4])
tell(by_mapping, x, {"op": "add", "by": y})


# -- dicts of pairs

def of_pairs(x, y):
    named = dict(zip(("a", "b"), (x + 1, y * 2)))
    more = dict(((name, value - 1) for name, value in named.items()), c=x)
    return more["a"] + more["b"] * more["c"], named, list(more)


tell(of_pairs, x, y)


# -- sets that are made here

def of_sets(x):
    some = {1, 2} | {3}
    rest = some - {1}
    some.add(4)
    both = some.intersection(rest)
    return x * len(some) + len(both) + (1 if rest.issubset(some) else 0) + (5 if rest.isdisjoint({1}) else 0), sorted(some ^ rest), sorted(both)


tell(of_sets, x)


allowed = {1, 2}


def of_a_set_from_outside(x):
    return x * len(allowed | {3}) + len({9}.union(allowed)) + (10 if {5}.isdisjoint(allowed) else 0)


for more in (1, 5, 7):
    allowed.add(more)
    for _ in range(2):
        with torch.no_grad():
            print(told(of_a_set_from_outside(x)))


# -- namespaces, which are written

options = types.SimpleNamespace(scale=2.0, calls=0)


def counted(x):
    options.calls += 1
    options.last = x * options.scale
    return options.last + options.calls


tell(counted, x, whole=False)
print(options.calls, told(options.last))


# -- a property that is computed once

class Cached(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))

    @functools.cached_property
    def doubled(self):
        return self.weight.detach() * 2

    def forward(self, x):
        return x * self.doubled + self.doubled.sum()


def cached(x):
    return Cached.forward(module, x)


module = Cached(4)
tell(cached, x)
for _ in range(3):
    fresh = Cached(4)
    with torch.no_grad():
        print(told(fresh(x)), told(fresh(x)), "doubled" in vars(fresh))


# -- operators that the right operand knows

class Vector:
    def __init__(self, tensor):
        self.tensor = tensor

    def __add__(self, other):
        if not isinstance(other, (Vector, int)):
            return NotImplemented
        return Vector(self.tensor + (other.tensor if isinstance(other, Vector) else other))

    __radd__ = __add__

    def __rsub__(self, other):
        return Vector(other - self.tensor)

    def __rtruediv__(self, other):
        return Vector(other / self.tensor)


class Wide(Vector):
    def __radd__(self, other):
        return Wide(self.tensor * 100)

    def __rmul__(self, other):
        return Wide(self.tensor * 1000)


def from_right(x):
    vector = Vector(x)
    return (1 + vector).tensor, (2.5 - vector).tensor, (1 / vector).tensor, sum([vector, vector]).tensor, (3 * Wide(x)).tensor


tell(from_right, x)
for _ in range(3):
    print(told((Vector(x) + Wide(x)).tensor), told((1 + Wide(x)).tensor))
    try:
        1.5 + Vector(x)
    except TypeError as error:
        print(error)


def both_ways(x):
    return (Vector(x) + Wide(x)).tensor + 1


for _ in range(3):
    print(told(both_ways(x)))


# -- a child of a Sequential by its place, a tensor's type by name

layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


def by_place(x):
    return layers[-1](layers[1](layers[0](x))), x.type(), operator.index(Dim.COLUMNS)


tell(by_place, x)
