"""Objects that the program goes over by methods of its own: __next__, __getitem__ without __iter__, and generators that
are left inside a `try` whose clauses take no end of them, as collections.abc.Sequence has; and such that `finally` ends."""
import collections.abc
import functools
import operator

import torch


class Count:
    def __init__(self, last):
        self.at, self.last = 0, last

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= self.last:
            raise StopIteration
        self.at += 1
        return self.at


class Doubled:
    """Ends by the IndexError of what is inside."""

    def __init__(self, inside):
        self.inside = inside

    def __getitem__(self, place):
        return self.inside[place] * 2


class Sized(Doubled):
    def __len__(self):
        return len(self.inside)


class Pair:
    def __init__(self, *parts):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)


class Wrapped:
    def __init__(self, inside):
        self.inside = iter(inside)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.inside) + 1


class Failing:
    def __getitem__(self, place):
        if place == 2:
            raise ValueError(f"no item {place}")
        return place


class Layers(collections.abc.Sequence):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, place):
        if place >= self.count:
            raise IndexError("out of range")
        return {"factor": place + 1}


def over_next(x):
    for k in Count(3):
        x = x + k
    return x.relu()


def by_next(x):
    it = iter(Count(5))
    x = x * next(it) + next(it)
    rest = [x + k for k in it]
    return sum(rest), next(it, None), next(it, 7)


def over_items(x):
    return torch.stack([row for row in Doubled([x, x + 1])])


def sized_items(x):
    first, second = Sized([x, x + 1])
    return first - second, list(Sized([x])), tuple(Sized([1, 2])), max(Sized([1, 5, 3])), [*Sized([x, x])]


def of_pairs(x):
    for k in Pair(1, 2):
        x = x * k
    return list(Pair(x, 2)), tuple(Wrapped([1, 2, x]))


def joined(x):
    for place, (k, row) in enumerate(zip(Count(9), Doubled([x, x]))):
        x = x + place * k * row
    for k, row in zip((1, 2), Sized([x, x, x])):
        x = x + k * row
    return x, sorted(Doubled([3, 1])), [*Count(2), *Doubled([4])]


def under_way(x):
    for k in Count(4):
        x = x + k
        print("at", k, x.sum().item())
    for row in Doubled([x, x * 2, x * 3]):
        x = x + row
        print("row", x.sum().item())
    return x


def failing(x):
    try:
        for k in Failing():
            x = x + k
    except ValueError as error:
        return x, str(error)
    return x


class Older:
    def __init__(self):
        self.count = Count(100)

    def step(self, x):
        return x + next(self.count)


older = Older()


def of_older(x):
    return older.step(x).relu()


def left_early(x):
    total = 0
    for k in Count(3):
        if k == 2:
            break
        total += k
    else:
        total = 100
    return x * total


def nested(x):
    for k in Count(2):
        for m in Count(2):
            x = x + k * m
    return x


def of_layers(x):
    kinds = ["plain" for _ in Layers(3)]
    for kind, layer in zip(kinds, Layers(3)):
        x = x * layer["factor"] if kind == "plain" else x
    return x.relu()


log = []


def finished(x):
    try:
        yield x + 1
        yield x + 2
    finally:
        log.append("finished")


def caught(x):
    try:
        yield x + 1
        yield x + 2
    except BaseException as error:
        log.append(type(error).__name__)
        raise


def passing(x):
    try:
        try:
            yield x + 1
            yield x + 2
        except (KeyError, IndexError):
            log.append("never")
    except ValueError:
        log.append("nor this")


def handled(x):
    try:
        yield x + 1
        yield x + 2
    except (ValueError, GeneratorExit):
        log.append("handled")


def abandoned(x, make):
    for _, y in zip((1,), make(x)):
        x = x * y
    log.append("behind")
    return x, len(log)


def with_more_arguments(x):
    scaled = functools.reduce(operator.add, map(lambda place: x * place, range(1, 4)), x)
    same = functools.reduce(operator.and_, map(operator.eq, (2, 3), (2, 3)), True)
    first = next(filter(lambda y: y.dim() == 1, [x.sum(), x]), None)
    return scaled + sum(map(float, (1, 2)), 3), same, first


def kept_beside_others(x):
    lengths = map(len, ([1], [1, 2]))
    pair = tuple_of(lengths, 3)
    return x * next(lengths), pair[1]


def tuple_of(*items):
    return items


functions = [with_more_arguments, kept_beside_others, over_next, by_next, over_items, sized_items, of_pairs, joined, under_way, failing, of_older, left_early, nested, of_layers]
with torch.no_grad():
    for turn in range(4):
        for function in functions:
            print(function.__name__, function(torch.arange(3.0) + turn))
        for make in (finished, caught, passing, handled):
            log.clear()  # each call finds what the first one did, so that entries could serve it
            print(make.__name__, abandoned(torch.arange(3.0) + turn, make), log)
