"""Breaks three frames down, inside loops, with and try of inlined callees."""
import contextlib
import sys
import traceback

import torch

LOG = []


@contextlib.contextmanager
def traced(name):
    LOG.append("enter " + name)
    try:
        yield name + "!"
    finally:
        LOG.append("leave " + name)


class Swallow:
    def __init__(self, kind):
        self.kind, self.seen = kind, None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.seen = repr(value)
        return kind is not None and issubclass(kind, self.kind)


def level4(x, n):
    y = x * n
    if y.sum() > 10:
        LOG.append(("big", n, sys._getframe(1).f_code.co_name, sys._getframe(2).f_code.co_name))
        return y - 1
    return y + 1


def level3(x, n, *, scale=2):
    total = x * 0
    for i in range(n):
        total = total + level4(x, i * scale)
        if i == 3:
            break
    else:
        total = total + 100
    return total


def level2(x, n):
    with traced(f"two {n}") as label:
        y = level3(x, n)
        with Swallow(ValueError) as swallow:
            z = level3(y, 2)
            if z.mean() > 50:
                raise ValueError(f"{label} too big")
            y = z
        return y + 1, swallow.seen


def level1(x, n):
    out = []
    for k in range(n):
        try:
            y, seen = level2(x + k, k + 1)
            out.append((y.sum(), seen))
            if y.max() > 300:
                raise KeyError(k)
        except KeyError as error:
            out.append((x.sum(), error.args, traceback.extract_tb(error.__traceback__)[-1].lineno))
            continue
        finally:
            out.append((x + 1).sum())
    return out


for n in (2, 5, 5, 3):
    LOG.clear()
    for item in level1(torch.arange(3.0), n):
        print(item)
    print(LOG)


def while_break(x, limit):
    count = 0
    while True:
        x = x * 1.5
        count += 1
        if x.sum() > limit:
            break
        if count % 2:
            continue
        x = x + 1
    return x, count


def outer_while(x):
    parts = [while_break(x * k, 20) for k in (1, 2, 3)]
    return [p for p, _ in parts], sum(c for _, c in parts)


for _ in range(3):
    print(outer_while(torch.ones(2)))


def nested_try(x, how):
    try:
        try:
            y = x + 1
            if y.sum() > 0:
                y = y * 2
            if how == 1:
                raise RuntimeError("one")
            if how == 2:
                return y * y
        except RuntimeError as error:
            y = y - 3
            if y.sum() < how:
                raise LookupError("two") from error
        else:
            y = y / 2
        finally:
            y = y + 10
            LOG.append(float(y.sum()))
    except LookupError as error:
        return y, repr(error), repr(error.__cause__), repr(error.__context__)
    return y


LOG.clear()
for how in (0, 1, 2, 0, 1, 2):
    for x in (torch.ones(2), -torch.ones(2) * 5):
        print(how, nested_try(x, how))
print(LOG)


class Measured:
    """Its methods, which operators, subscripts and attributes run, branch on tensors."""

    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def _moved(self, by):
        y = self.x * by
        if y.sum() > 3:
            LOG.append(("moved", sys._getframe(1).f_code.co_name))
            return Measured(y - 1)
        return Measured(y + 1)

    def __add__(self, other):
        return self._moved(other)

    def __neg__(self):
        return self._moved(-1)

    def __lt__(self, other):
        return self._moved(other).x

    def __contains__(self, number):
        return bool((self.x == number).any()) and self.x.sum() > 0

    def __getitem__(self, at):
        return self._moved(at).x[at]

    def __setitem__(self, at, value):
        y = self.x + value
        if y.sum() > 3:
            y = y * 2
        object.__setattr__(self, "x", y + at)

    def __delitem__(self, at):
        self[at] = -1.0

    def __setattr__(self, name, value):
        self[1] = value

    def __delattr__(self, name):
        self[0] = 0.5

    @property
    def half(self):
        return self._moved(0.5).x

    def __getattr__(self, name):
        return self._moved(len(name)).x


def measured(x, number):
    m = Measured(x + 1)
    moved = m + 2
    below = (-moved < number) + 1
    inside = number in moved, number not in m
    m[0] = number
    first = m[1] * 2
    del m[0]
    m.step = number
    del m.step
    return moved.x * 2, below, inside, first, m.half + m.other, m.x


class Held(torch.nn.Module):
    def checked(self, x, *, limit):
        y = x * 2
        if y.sum() > limit:
            return y + 1, self.training
        return y - 1, self.training

    def forward(self, x, limit):
        again = self.checked
        return self.checked(x, limit=limit)[0] + again(x + 1, limit=limit)[0]


def held(module, x, limit):
    return module(x, limit) * 2


LOG.clear()
module = Held()
for number in (2.0, 4.0, 2.0, 3.0, 4.0):
    for x in (torch.ones(2), -torch.ones(2)):
        print(number, measured(x, number), held(module, x, number))
print(LOG)
