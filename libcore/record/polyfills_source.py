"""What functions and iterators of C do, in Python, where tensors may pass through them (polyfills.cpp).

The walker follows Python code, and knows what an instruction does with a tensor; a function of C it would
have to be told about one by one. While a segment is recorded, a call of one of these runs its Python form.
Only what differs in nothing but speed and type stands here. The build makes this file a string constant.
"""

import builtins
import collections
import functools
import itertools
import operator
import sys

MISSING = object()
TABLE = {}  # by the function or type; (type, name) for a method of a class
COMPENSATES = builtins.sum([0.1] * 10) == 1.0  # since CPython 3.12: sum() keeps what adding floats rounds off


def stands_for(*objects):
    def enter(function):
        for one in objects:
            TABLE[one] = function
        return function
    return enter


# -- builtins


@stands_for(builtins.any)
def any(iterable, /):
    for item in iterable:
        if item:
            return True
    return False


@stands_for(builtins.all)
def all(iterable, /):
    for item in iterable:
        if not item:
            return False
    return True


@stands_for(builtins.sum)
def sum(iterable, /, start=0):
    row, plain = [], COMPENSATES  # numbers behind a float or complex number, which CPython adds as one
    for item in iterable:
        plain = plain and (type(item) is float or type(item) is complex or isinstance(item, int))
        if plain and (type(start) is float or type(start) is complex):
            row.append(item)
        else:
            if row:
                start, row = constant_sum(row, start), []
            start = start + item
    return constant_sum(row, start) if row else start


def constant_sum(row, start):
    return builtins.sum(row, start)


@stands_for(builtins.list)
def list_(iterable=(), /):
    return [item for item in iterable]


@stands_for(builtins.tuple)
def tuple_(iterable=(), /):
    return (*[item for item in iterable],)


@stands_for(builtins.dict)
def dict_(pairs, /, **named):
    made = {key: value for key, value in pairs}
    for key, value in named.items():
        made[key] = value
    return made


def order(keys, reverse):
    """The places of `keys` in their order. A constant: which it is, the keys decide."""
    return tuple(builtins.sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse))


def deciding(keys):
    """Of tuples whose first items are words that all differ, those alone decide the order."""
    words = []
    for key in keys:
        if type(key) is not tuple or not key or type(key[0]) is not str:
            return keys
        words.append(key[0])
    return words if len(set(words)) == len(words) else keys


@stands_for(builtins.sorted)
def sorted(iterable, /, *, key=None, reverse=False):
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    return [items[place] for place in order(deciding(keys), reverse)]


@stands_for(builtins.map)
def map(function, iterable, /, *more):
    if not more:
        for item in iterable:
            yield function(item)
    else:
        for items in zip(iterable, *more):
            yield function(*items)


@stands_for(builtins.filter)
def filter(function, iterable, /):
    for item in iterable:
        if item if function is None or function is bool else function(item):
            yield item


@stands_for(builtins.zip)
def zip(*iterables, strict=False):
    iterators = [iter(one) for one in iterables]
    while iterators:
        items = []
        for iterator in iterators:
            item = next(iterator, MISSING)
            if item is MISSING:
                if not strict:
                    return
                place = len(items)
                if place:
                    before = " " if place == 1 else "s 1-"
                    raise ValueError(f"zip() argument {place + 1} is shorter than argument{before}{place}")
                for iterator in iterators[1:]:
                    place += 1
                    if next(iterator, MISSING) is not MISSING:
                        before = " " if place == 1 else "s 1-"
                        raise ValueError(f"zip() argument {place + 1} is longer than argument{before}{place}")
                return
            items.append(item)
        yield tuple(items)


@stands_for(builtins.enumerate)
def enumerate(iterable, start=0):
    for item in iterable:
        yield start, item
        start += 1


@stands_for(builtins.abs)
def abs(x, /):
    return x.__abs__()


@stands_for(builtins.pow)
def pow(base, exp, mod=None):
    return base ** exp if mod is None else constant_pow(base, exp, mod)


def constant_pow(base, exp, mod):
    return builtins.pow(base, exp, mod)


@stands_for(builtins.reversed)
def reversed(sequence, /):
    kind = type(sequence)
    if kind is tuple or kind is range or kind is str or not hasattr(kind, "__reversed__"):
        return reversed_items(sequence)
    if issubclass(kind, list) and kind.__reversed__ is list.__reversed__:
        return reversed_items(sequence)
    if kind is dict or kind is collections.OrderedDict or kind in VIEWS:
        return reversed_items(list(sequence))
    return sequence.__reversed__()


VIEWS = tuple([type(view) for one in ({}, collections.OrderedDict()) for view in (one.keys(), one.values(), one.items())])


def reversed_items(sequence):
    for place in range(len(sequence) - 1, -1, -1):
        yield sequence[place]


# -- functools and itertools


@stands_for(functools.reduce)
def reduce(function, iterable, initial=MISSING, /):
    iterator = iter(iterable)
    if initial is MISSING:
        initial = next(iterator, MISSING)
        if initial is MISSING:
            raise TypeError("reduce() of empty iterable with no initial value")
    for item in iterator:
        initial = function(initial, item)
    return initial


@stands_for(itertools.chain)
def chain(*iterables):
    for iterable in iterables:
        for item in iterable:
            yield item


@stands_for((itertools.chain, "from_iterable"))
def chain_from_iterable(iterables, /):
    for iterable in iterables:
        for item in iterable:
            yield item


@stands_for(itertools.count)
def count(start=0, step=1):
    while True:
        yield start
        start += step


@stands_for(itertools.cycle)
def cycle(iterable, /):
    kept = []
    for item in iterable:
        yield item
        kept.append(item)
    while kept:
        for item in kept:
            yield item


@stands_for(itertools.repeat)
def repeat(object, times=MISSING):
    if times is MISSING:
        while True:
            yield object
    for _ in range(times):
        yield object


@stands_for(itertools.accumulate)
def accumulate(iterable, func=None, *, initial=None):
    iterator = iter(iterable)
    total = initial
    if initial is None:
        total = next(iterator, MISSING)
        if total is MISSING:
            return
    yield total
    for item in iterator:
        total = total + item if func is None else func(total, item)
        yield total


@stands_for(itertools.islice)
def islice(iterable, /, *bounds):
    limits = slice(*bounds)
    start = 0 if limits.start is None else limits.start
    step = 1 if limits.step is None else limits.step
    stop = limits.stop
    iterator = iter(iterable)
    place = 0
    wanted = start
    while stop is None or place < stop:
        item = next(iterator, MISSING)
        if item is MISSING:
            return
        if place == wanted:
            yield item
            wanted += step
            if stop is not None and wanted >= stop:
                place += 1
                while place < stop and next(iterator, MISSING) is not MISSING:
                    place += 1
                return
        place += 1


@stands_for(itertools.compress)
def compress(data, selectors):
    for item, chosen in zip(data, selectors):
        if chosen:
            yield item


@stands_for(itertools.starmap)
def starmap(function, iterable, /):
    for items in iterable:
        yield function(*items)


@stands_for(itertools.takewhile)
def takewhile(predicate, iterable, /):
    for item in iterable:
        if not predicate(item):
            return
        yield item


@stands_for(itertools.dropwhile)
def dropwhile(predicate, iterable, /):
    iterator = iter(iterable)
    for item in iterator:
        if not predicate(item):
            yield item
            break
    for item in iterator:
        yield item


@stands_for(itertools.filterfalse)
def filterfalse(predicate, iterable, /):
    for item in iterable:
        if not (item if predicate is None or predicate is bool else predicate(item)):
            yield item


@stands_for(itertools.zip_longest)
def zip_longest(*iterables, fillvalue=None):
    iterators = [iter(one) for one in iterables]
    while True:
        items = []
        left = 0
        for iterator in iterators:
            item = next(iterator, MISSING)
            if item is MISSING:
                items.append(fillvalue)
            else:
                items.append(item)
                left += 1
        if left == 0:
            return
        yield tuple(items)


@stands_for(itertools.pairwise)
def pairwise(iterable, /):
    iterator = iter(iterable)
    before = next(iterator, MISSING)
    if before is MISSING:
        return
    for item in iterator:
        yield before, item
        before = item


@stands_for(itertools.product)
def product(*iterables, repeat=1):
    pools = [tuple(one) for one in iterables] * repeat
    for places in itertools_product(tuple([len(pool) for pool in pools])):
        yield tuple([pools[k][place] for k, place in enumerate(places)])


def itertools_product(sizes):
    """All places in pools of such sizes. A constant, as are those below."""
    return tuple(itertools.product(*[range(size) for size in sizes]))


def itertools_choices(name, size, r):
    return tuple(getattr(itertools, name)(range(size), r))


@stands_for(itertools.permutations)
def permutations(iterable, r=None):
    pool = tuple(iterable)
    for places in itertools_choices("permutations", len(pool), len(pool) if r is None else r):
        yield tuple([pool[place] for place in places])


@stands_for(itertools.combinations)
def combinations(iterable, r):
    pool = tuple(iterable)
    for places in itertools_choices("combinations", len(pool), r):
        yield tuple([pool[place] for place in places])


@stands_for(itertools.combinations_with_replacement)
def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    for places in itertools_choices("combinations_with_replacement", len(pool), r):
        yield tuple([pool[place] for place in places])
