"""What CPython 3.13 and 3.14 brought: locals() that are their own, written locals of other frames, copy.replace, template
strings, annotations that nobody evaluates, other interpreters in the process."""
import annotationlib
import copy
import functools
import sys
from concurrent import interpreters
from dataclasses import dataclass
from string.templatelib import Template
from typing import NamedTuple

import torch
import torch.nn as nn

torch.set_grad_enabled(False)
CALLS = 4


def show(name, value):
    if isinstance(value, torch.Tensor):
        value = [round(one, 3) + 0.0 for one in value.double().reshape(-1).tolist()]
    if isinstance(value, (list, tuple)):
        value = [show("", one) if isinstance(one, torch.Tensor) else one for one in value]
    if name:
        print(name, value)
    return value


# -- frames


def snapshots(x):
    a = x + 1
    one = locals()
    b = a * 2
    two = locals()
    one["a"] = None
    return b, sorted(one), sorted(two), one is two, a is not None


def poke(name, value):
    sys._getframe(1).f_locals[name] = value


def poked(x):
    scale = 1.0
    y = x * 2
    poke("scale", 3.0)
    z = y * scale
    poke("y", torch.ones(4) * 7)
    return z + y


def in_generator(x):
    a = x + 1
    yield sorted(locals())
    b = a * 2
    yield sorted(locals())
    yield a + b


def many(a, b, c):
    d, e = a + b, b * c
    a, b = b, a
    c, d = d, c
    k = m = d + e
    (n, o), p = (k, m), a
    a, b, c = c, a, b
    del e
    return n + o + p + a + b * 2 + c * 3 + d


# -- copies


@dataclass
class Config:
    rate: float
    steps: int


class Point(NamedTuple):
    x: object
    y: int


def replaced(x, config, point):
    config = copy.replace(config, rate=config.rate * 2)
    return copy.replace(point, x=x * config.rate).x + config.steps


def twice(a, b, c):
    return a * 2 + b * 3 + c


PLACED = functools.partial(twice, functools.Placeholder, 5)


def strict(xs, ys):
    return sum(map(lambda a, b: a * b, xs, ys, strict=True))


# -- template strings


def rendered(template: Template):
    pieces = []
    for piece in template:
        if isinstance(piece, str):
            pieces.append(piece)
        else:
            value = tuple(piece.value.shape) if isinstance(piece.value, torch.Tensor) else piece.value
            pieces.append(f"<{piece.expression}!{piece.conversion}:{piece.format_spec}={value}>")
    return "".join(pieces)


def templates(x, name):
    y = x * 2
    told = t"hello {name!r} of {y:>{len(name)}} and {x.dtype}"
    z = y.relu()
    return z + 1, rendered(told), told.strings


def values_of(x):
    y = x + 1
    values = t"{y}{y.shape[0]}{3}".values
    return values[0] * values[1] + values[2]


# -- annotations and exceptions


def annotated(x: Later, y: "str" = 2) -> Missing:
    return x * y


class Net(nn.Module):
    scale: Undefined

    def forward(self, x: Unknown) -> Unknown:
        return x * 3


def annotated_inside(x, kind: type = int):
    def inner(value: kind, by: Unknown = 2) -> kind:
        return value * by

    y: Unresolved = inner(x)

    class Local:
        field: kind

        def get(self, value: kind):
            return value + 1

    return Local().get(y), list(Local.__annotations__)


def excepted(x, how):
    try:
        if how == 1:
            raise ValueError("a value")
        if how == 2:
            raise KeyError("a key")
        return x * 2
    except ValueError, KeyError:
        return x - 1


def compared(x, limit):
    if x.sum() > limit:
        raise ValueError(f"more than {limit}")
    assert x.min() > -9
    return x * 2


def calls(x, call):
    net = Net()
    show("snapshots", snapshots(x))
    show("poked", poked(x))
    show("in generator", list(in_generator(x)))
    show("many", many(x, x + 1, x * 2))
    show("replaced", replaced(x, Config(0.5, call), Point(None, 2)))
    show("placed", PLACED(x, x + 1))
    show("strict", strict([x, x + 1], [call, 2]))
    show("templates", templates(torch.ones(call + 1), "ab"))
    show("values", values_of(x))
    show("annotated", [annotated(x), net(x)])
    show("inside", annotated_inside(x))
    show("excepted", [excepted(x, how) for how in range(3)])
    try:
        show("compared", compared(x, 5.0))
    except ValueError as error:
        print(error)


for call in range(CALLS):
    calls(torch.arange(4.0) - call, call)
print(annotationlib.get_annotations(annotated, format=annotationlib.Format.STRING))
interpreter = interpreters.create()
interpreter.exec("print('inside', sum(i * i for i in range(10)))")
interpreter.close()
for call in range(CALLS):
    calls(torch.arange(4.0) + call, call)
