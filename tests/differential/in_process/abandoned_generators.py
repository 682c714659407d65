"""Generators that are let go of inside a block, whose end runs there and then; and what generators write outside."""
import contextlib

import torch

log = []


def cleaning(x, log):
    try:
        yield x + 1
        yield x + 2
    finally:
        log.append("left")


def inside_with(x, log):
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(log.append, "closed")
        yield x * 3


def deleted(x, log):
    it = cleaning(x, log)
    y = next(it)
    del it
    return y * 2 + len(log)


def never_named(x, log):
    y = next(cleaning(x, log))
    return y * 2 + len(log)


def broken_out_of(x, log):
    for v in cleaning(x, log):
        break
    return v * 3 + len(log)


def returned_out_of(x, log):
    for v in cleaning(x, log):
        return v * 3


def numbered(x, log):
    for i, v in enumerate(cleaning(x, log)):
        break
    return v * 3 + i + len(log)


def paired(x, log):
    for v, w in zip(cleaning(x, log), [1, 2]):
        break
    return v * w + len(log)


def any_of(x, log):
    found = any(v is not None for v in cleaning(x, log))
    return x * 3 + found + len(log)


def replaced(x, log):
    it = cleaning(x, log)
    y = next(it)
    it = cleaning(x, log)
    y = y + next(it)
    count = len(log)
    return y * count + sum(1 for _ in it)


def in_a_list(x, log):
    all_of_them = [cleaning(x * i, log) for i in range(3)]
    y = sum(next(it) for it in all_of_them)
    all_of_them.pop()
    return y + len(log)


def by_a_call(x, log):
    def first(x):
        it = inside_with(x, log)
        return next(it)
    return first(x) + len(log)


def raised(x, log):
    it = cleaning(x, log)
    y = next(it)
    try:
        raise ValueError
    except ValueError:
        it = None
    return y + len(log)


def make():
    n = 0

    def generator(x):
        nonlocal n
        n = 5
        yield x + n
        n = n + 1

    def get():
        return n

    def reset():
        nonlocal n
        n = 0

    return generator, get, reset


generator, get, reset = make()


def writes(x):
    for v in generator(x):
        v = v * 2
    return v


def named(x, k=1.0, **more):
    yield x * k
    yield x + more.get("other", 0)


def names_made_here(x):
    keywords = {"".join(["", "k"]): 3.0, "oth" + str("er"): 2.0}
    made = named(x, **keywords)
    del keywords
    return next(made) + next(made)


for function in (deleted, never_named, broken_out_of, returned_out_of, numbered, paired, any_of, replaced, in_a_list,
                 by_a_call, raised):
    for turn in range(5):
        log.clear()
        print(function.__name__, turn, function(torch.ones(2) * turn, log), log)
for turn in range(5):
    reset()
    print(writes(torch.ones(2) * turn), get(), names_made_here(torch.ones(2) * turn))
