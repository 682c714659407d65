"""What CPython 3.12 brought: type parameters, aliases, nested f-strings, comprehensions in the function's own frame, and
tools of sys.monitoring, which see every line and call of what is compiled otherwise."""
import functools
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack, override

import torch
import torch.nn as nn

torch.set_grad_enabled(False)
torch.manual_seed(0)
CALLS = 4


def show(name, value):
    if isinstance(value, torch.Tensor):
        value = [round(one, 3) + 0.0 for one in value.double().reshape(-1).tolist()]
    if isinstance(value, (list, tuple)):
        value = [show("", one) if isinstance(one, torch.Tensor) else one for one in value]
    if name:
        print(name, value)
    return value


# -- type parameters and aliases

type Pair[A, B] = tuple[A, B]
type Shape = tuple[int, ...]


def largest[T: (int, float)](items: list[T], x: torch.Tensor) -> torch.Tensor:
    return x * max(items) + len(items)


class Stack[T](nn.Module):
    def __init__(self, layers: list[T]):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def shaped(x: torch.Tensor, shape: Shape) -> Pair[torch.Tensor, int]:
    y = x.reshape(shape) + 1
    return y * 2, y.shape[0]


def logged[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        inner.calls += 1
        return function(*args, **kwargs)

    inner.calls = 0
    return inner


@logged
def step(x, *, lr=0.1):
    return x - lr * x.sin()


def called[*Ts](function, *args: *Ts):
    return function(*args)


def local_parameters(x):
    def scaled[T](value: T, by: int = 2) -> T:
        return value * by

    class Box[T]:
        def __init__(self, value: T):
            self.value = value

        def get(self) -> T:
            return self.value

    return Box(scaled(x)).get() + scaled(x, by=3)


class Options(TypedDict, total=False):
    scale: float
    shift: int


class Base(nn.Module):
    def forward(self, x, **options: Unpack[Options]):
        return x


class Derived(Base):
    @override
    def forward(self, x, **options: Unpack[Options]):
        return super().forward(x) * options.get("scale", 1.0) + options.get("shift", 0)


@dataclass(slots=True, frozen=True)
class State[T]:
    value: T
    step: int = 0


def advanced(state):
    return replace(state, value=state.value * 1.5 + state.step, step=state.step + 1)


# -- comprehensions and f-strings


def comprehended(xs, w):
    k = 3
    ys = [x @ w for x in xs]
    zs = {i: y * k for i, y in enumerate(ys) if i % 2 == 0}
    shapes = {tuple(y.shape) for y in ys}
    nested = [[a + b for a in ys] for b in ys[:2]]
    return torch.stack(list(zs.values())).sum(0) + nested[1][0], len(shapes), sorted(locals())


def shadowed(x):
    i = "outer"
    ys = [x * i for i in range(3)]
    functions = [lambda: i for i in range(2)]
    others = [(lambda j=j: x + j) for j in range(3)]
    total = sum(ys) + sum(other() for other in others)
    try:
        [1 / (i - 1) for i in range(3)]
    except ZeroDivisionError:
        total = total + 1
    return total, i, [function() for function in functions]


def breaking(x):
    out = [float((x * k).sum()) for k in range(3)]
    ys = [x + v for v in out]
    print("breaks here", [round(v, 3) for v in out])
    return torch.stack([y.relu() for y in ys])


def told(x, name):
    y = x.sin() + 1
    return y, f"{f"{name:>{max(len(name), 8)}}"}:{", ".join([f"{d}" for d in y.shape])}|{'a' "b"}{x.dtype!s:>16}"


def batched(xs, n):
    return [torch.stack(b).mean(0) for b in itertools.batched(xs, n)]


W = torch.randn(3, 3)
STACK = Stack[nn.Linear]([nn.Linear(4, 4) for _ in range(3)])
DERIVED = Derived()
for call in range(CALLS):
    x = torch.arange(4.0) - call
    show("largest", largest([1, 5, 2], x))
    show("stack", STACK(torch.ones(2, 4) * call))
    show("shaped", shaped(torch.arange(6.0) * call, (2, 3)))
    show("step", [step(x), called(step, x)])
    show("local", local_parameters(x))
    show("derived", [DERIVED(x, scale=2.0, shift=call), DERIVED(x)])
    show("comprehended", comprehended([torch.ones(2, 3) * i for i in range(2 + call % 2)], W))
    show("shadowed", shadowed(x))
    show("breaking", breaking(x))
    show("told", told(torch.ones(2, call + 1), "x" * call))
    show("batched", batched([torch.ones(2) * i for i in range(5 + call % 2)], 2))
print(step.calls, step.__name__, largest.__type_params__, Stack[int].__name__, Shape.__value__, Pair.__type_params__)
state = State(torch.ones(3))
for call in range(CALLS):
    state = advanced(state)
    show("state", [state.value, state.step])


# -- sys.monitoring


def watched(x):
    y = x + 1
    z = y * 2
    return z.sum()


def caller(x):
    return watched(x) + watched(x * 2)


def monitored(events, local):
    seen = []

    def on_line(code, line):
        if code is watched.__code__:
            seen.append(line - code.co_firstlineno)

    def on_return(code, offset, value):
        if code is watched.__code__:
            seen.append(round(value.item(), 3))

    sys.monitoring.use_tool_id(3, "a tool")
    sys.monitoring.register_callback(3, sys.monitoring.events.LINE, on_line)
    sys.monitoring.register_callback(3, sys.monitoring.events.PY_RETURN, on_return)
    if local:
        sys.monitoring.set_local_events(3, watched.__code__, events)
    else:
        sys.monitoring.set_events(3, events)
    results = [caller(torch.ones(3) * k) for k in range(3)]
    if local:
        sys.monitoring.set_local_events(3, watched.__code__, 0)
    else:
        sys.monitoring.set_events(3, 0)
    sys.monitoring.free_tool_id(3)
    show("monitored", results)
    print(seen)


for local in (False, True):
    show("before", [caller(torch.ones(3) * k) for k in range(3)])
    monitored(sys.monitoring.events.LINE, local)
    monitored(sys.monitoring.events.PY_RETURN, local)
    show("behind", [caller(torch.ones(3) * k) for k in range(3)])
