"""Facts that no guard can find again: each ends a segment, and nothing is recorded anew on every call."""
import functools
import itertools
import logging

import torch


class Keeps:
    def __init__(self, n, x):
        self.y = x * 2
        self.table = dict.fromkeys(range(n))
        self.z = self.y + 1


@functools.lru_cache(None)
def warning_once(self, *args, **kwargs):
    self.debug(*args, **kwargs)


logging.Logger.warning_once = warning_once
logger = logging.getLogger("tested")


class Sized:
    @functools.lru_cache(maxsize=None)
    def size(self):
        return 3

    @functools.cached_property
    def made(self):
        return 4

    @classmethod
    @functools.lru_cache(maxsize=None)
    def of_class(cls):
        return 5


class Thing:
    pass


known, numbers = [], itertools.count()


def constructs(x):
    return Keeps(3, x).z * 2


def warns(x):
    y = x * 2
    logger.warning_once("told")
    return y + 1


def asks_cache(x, sized):
    y = x * 2
    return y + sized.size() + sized.made + Sized.of_class()


def asks_id(x, thing):
    y = x + 1
    if id(thing) in known:
        y = y * 2
    return y * 3


def counts(x):
    y = x * 2
    return y + next(numbers)


def asks_code(x, function):
    y = x * function.__code__.co_argcount
    return function(y) + function.__code__.co_nlocals


def takes_methods(x):
    y = x + 1
    of_class, text, made = dict.fromkeys, str.maketrans, int.from_bytes
    print("over", of_class((1, 2)), text("a", "b"), made(b"\1", "big"))
    return y, of_class("ab", 1), Sized.of_class


def compares(x, thing):
    y = x * 3
    return y if thing is Thing else y + 1


def iterates(x, parts):
    y = x + 1
    for part in reversed(parts):
        y = y * part
    return y


class Counted:
    calls = 0


def changes_class(x):
    Counted.calls += 1
    y = x + 2
    return y * 2


def reads_module(x):
    y = x * 2
    return y + len(Counted.__dict__) + Counted.__dict__["calls"] % 2


for run in range(24):
    x = torch.ones(2)
    row = [constructs(x), warns(x), asks_cache(x, Sized()), asks_id(x, Thing()), counts(x), asks_code(x, lambda v: v + 1), compares(x, Thing())]
    print([part.tolist() for part in row], [part.tolist() for part in (iterates(x, [1, 2, run]), changes_class(x), reads_module(x))])
    y, table, method = takes_methods(x)
    print(y.tolist(), table, method())
