"""What programs say in Python between their tensors, continued: decorators made on the way, class patterns, generators
unpacked into named tuples, flags, heaps and ordered lists, operations of sets and keys, globals that count calls; and
one graph of each."""

import bisect
import collections
import contextlib
import enum
import functools
import heapq
import itertools
import operator
import re
import typing

import torch

torch.manual_seed(0)
x, y = torch.randn(3, 4), torch.randn(3, 4)


def told(value):
    if isinstance(value, torch.Tensor):
        return f"{value.double().sum().item():.4f} {tuple(value.shape)}"
    if isinstance(value, dict):
        return {key: told(one) for key, one in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__, *[told(one) for one in value]
    if isinstance(value, (list, tuple)):
        return [told(one) for one in value]
    return value


def tell(function, *arguments, whole=False):
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


# -- decorators inside a function

def wrapped_inside(x):
    def doubled(function):
        @functools.wraps(function)
        def wrapper(*arguments, **named):
            return function(*arguments, **named) * 2
        return wrapper

    @doubled
    def shift(x, by=1):
        """Moves."""
        return x + by

    return shift(x, by=3) + len(shift.__name__) + len(shift.__doc__), shift.__wrapped__ is not shift


tell(wrapped_inside, x)


def old(x):
    """It is older than the segment."""
    return x * 3


old.mark = 4


def wrapped_old(x):
    @functools.wraps(old)
    def wrapper(x):
        return old(x) + wrapper.mark
    return wrapper(x), wrapper


def shown(x):
    made, wrapper = wrapped_old(x)
    return made, wrapper.__name__, wrapper.__qualname__, wrapper.__doc__, wrapper.mark, wrapper.__wrapped__ is old, wrapper.__module__


tell(shown, x)
old.mark, old.__name__ = 5, "renamed"
tell(shown, x)


def given_out(x):
    y = x + 1
    return y * 2, wrapped_old(x)[1]


for _ in range(3):
    made, wrapper = given_out(x)
    print(told(made), wrapper.__name__, wrapper.__doc__, wrapper.mark, told(wrapper(x)))


# A function that its own variable holds is one object behind the segment.
def refers_to_itself(x):
    y = x + 1

    def count(n):
        return n if n == 0 else count(n - 1) + count.step

    count.step = 3
    return y * 2, count


for _ in range(3):
    made, count = refers_to_itself(x)
    print(told(made), count(4), count.__closure__[0].cell_contents is count)


def managed_inside(x):
    left = [1, 2]

    @contextlib.contextmanager
    def scope(factor):
        try:
            yield factor * 2
        finally:
            left.pop()

    with scope(2) as factor:
        x = x * factor
    return x + len(left)


tell(managed_inside, x)


# -- patterns of classes

class Convolution:
    __match_args__ = ("size", "stride")

    def __init__(self, size, stride=1):
        self.size, self.stride = size, stride


class Lazy:
    @property
    def size(self):
        return 7


LAYERS = [Convolution(3), Convolution(5, 2), "pool", 4, 2.5, None, [1, 2, 3], {"op": "act", "fn": "relu", "z": 1}, Lazy()]


def patterns(x, layers):
    for layer in layers:
        match layer:
            case Convolution(3):
                x = x + 1
            case Convolution(size, stride=2):
                x = x * size
            case Lazy(size=7):
                x = x - 7
            case "pool" | "avg":
                x = x - 1
            case int(value) if value > 3:
                x = x * value
            case float() | None:
                x = x + 0.5
            case [first, *rest]:
                x = x + first * len(rest)
            case {"op": str(op), "fn": fn, **others}:
                x = getattr(torch, fn)(x) + len(others) + len(op)
            case _:
                x = x * 0
    return x


tell(patterns, x, LAYERS)
LAYERS[0].size = 4
tell(patterns, x, LAYERS)
del LAYERS[1].stride
tell(patterns, x, LAYERS)
LAYERS[3] = 3
tell(patterns, x, LAYERS)


def pattern_of_argument(x, layer):
    x = x + 1
    match layer:
        case Convolution(size, stride):
            return x * size + stride
        case Convolution(stride=stride):
            return x - stride
        case int(n):
            return x * n
    return x


for layer in (Convolution(2, 3), Convolution(4, 5), 6, True, "none", Convolution(2, 3)):
    tell(pattern_of_argument, x, layer)


# -- generators unpacked

class Pair(typing.NamedTuple):
    left: torch.Tensor
    right: torch.Tensor
    name: str = "pair"


def mapped_fields(x):
    pair = Pair(x, x + 1)
    return Pair(*(one * 2 if isinstance(one, torch.Tensor) else one for one in pair))


tell(mapped_fields, x, whole=True)


def like(tree, function):
    if isinstance(tree, torch.Tensor):
        return function(tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(like(one, function) for one in tree))
    return tree


def tree(x):
    return like(Pair(x, Pair(x, x + 1)), lambda one: one - 1)


tell(tree, x, whole=True)


# -- flags

class Access(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 8


def flags(x):
    access = Access.READ | Access.RUN
    return x * access.value + (Access.READ in access) + bool(access & Access.WRITE) + (Bits.LOW | Bits.HIGH), str(access)


tell(flags, x)


# -- lists in order

def queue(x):
    heap = []
    for rank, name in ((3, "c"), (1, "a"), (2, "b"), (0, "z")):
        heapq.heappush(heap, (rank, name))
    while heap:
        rank, name = heapq.heappop(heap)
        x = x * rank + ord(name)
    return x


tell(queue, x)


def heaps(x):
    heap = [5, 4, 3, 9, 1]
    heapq.heapify(heap)
    x = x + heapq.heapreplace(heap, 7)
    x = x * heapq.heappushpop(heap, 2)
    return x + heapq.heappushpop(heap, -1), heap, x * sum(heapq.nlargest(2, heap)), heapq.nsmallest(2, heap), list(heapq.merge([1, 4], [2, 3]))


tell(heaps, x)


def places(x):
    edges = [1, 3, 3, 5]
    x = x * bisect.bisect(edges, 3) + bisect.bisect_left(edges, 3)
    bisect.insort(edges, 4)
    bisect.insort_left(edges, -2, key=abs)
    return x - bisect.bisect_right(edges, 3, 1, 4), edges, bisect.bisect_left(edges, 9, key=lambda v: v * 2)


tell(places, x)


def outside(x, edges):
    x = x + 1
    bisect.insort(edges, len(edges))
    return x * bisect.bisect(edges, 2)


edges = [0, 5]
tell(outside, x, edges)
print(edges)


def copies(x):
    first, second = itertools.tee([x, x + 1, x + 2])
    next(second)
    x = x + sum(a * b for a, b in zip(first, second))
    third, fourth, fifth = itertools.tee((n for n in range(4)), 3)
    return x * sum(third) + list(fourth)[1] + len(list(fifth)), operator.countOf([1, 2, 1], 1), operator.indexOf("abc", "c")


tell(copies, x)


# -- sets, keys, and words

def sets(x):
    some = {1, 2, 3}
    kept = some
    some |= {7}
    x = x * len(kept)
    some -= {2}
    some &= {1, 3, 7, 9}
    some ^= {3}
    x = x + len(some)
    return x * some.issubset([1, 7, 8]) + (3 in some), kept, some.union([5], (6,)), some.isdisjoint({2})


tell(sets, x)


def keys(x):
    one, other = {"p": 1, "q": 2}, {"q": 3, "r": 4}
    x = x * len(one.keys() & other.keys()) + len(one.keys() | other.keys())
    return x - len(one.keys() ^ {"p"}), sorted(one.keys() - other.keys())


tell(keys, x)



def keys_of(x, given):
    x = x + 1
    return x * len(given.keys() & {"p", "q"}) + len(given.keys() | {"z": 0}.keys())


for given in ({"p": 1}, {"p": 1, "q": 2}, {}, {"p": 3}):
    tell(keys_of, x, given)

NAMES = re.compile(r"(\w+)\.(\d+)")


def words(x):
    x = x + len(NAMES.split("layer.3"))
    x = x * len(NAMES.sub("_", "layer.3.bias"))
    return x + len(NAMES.findall("a.1 b.2")), NAMES.findall("a.1 b.2")


tell(words, x)


def found(x):
    match = NAMES.match("layer.3")
    x = x * int(match.group(2))
    return x + match.end(), match.group(1), match


for _ in range(3):
    made, name, match = found(x)
    print(told(made), name, match.groups())


def numbers(x):
    number = complex(1, 2)
    x = x * number.conjugate().imag
    return x + range(2, 9, 2).index(6) + slice(1, None, 2).indices(5)[1]


tell(numbers, x)


class Box:
    def __init__(self, **named):
        vars(self).update(named)


def attributes(x):
    box = Box(a=2, b=x)
    x = x + 1
    return x * box.a + box.b, sorted(vars(box))


tell(attributes, x)

# -- globals

CALLS = 0
HISTORY = []
LAST = None


def counting(x):
    global CALLS, LAST
    CALLS += 1
    y = x + 1
    LAST = y
    CALLS = CALLS + 1
    return y * 2


for _ in range(4):
    print(told(counting(x)), CALLS, told(LAST))


def counts_inside(x):
    return counting(x) - counting(x * 2)


for _ in range(4):
    print(told(counts_inside(x)), CALLS, told(LAST))
