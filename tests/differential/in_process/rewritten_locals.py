"""Functions whose variables are written from outside: what is called writes them through f_locals of the caller's
frame, which takes effect at once from CPython 3.13 on."""
import gc
import sys
import weakref

import torch


class Kept:
    """What a variable is set to; nothing but the variable holds it."""

    alive = weakref.WeakSet()

    def __init__(self, tensor):
        self.tensor, self.parts = tensor, [1, 2, 3]
        Kept.alive.add(self)



class Pair:
    """Unpacked, it sets the first variable of the function that unpacks it."""

    def __init__(self, make):
        self.make = make

    def __iter__(self):
        sys._getframe(1).f_locals["x"] = self.make()
        return iter((1, 2))


class Opened:
    def __init__(self, make):
        self.make = make

    def __enter__(self):
        sys._getframe(1).f_locals["x"] = self.make()
        return self

    def __exit__(self, *error):
        sys._getframe(1).f_locals["x"] = self.make()
        return True


def unpacked(x, make):
    y = x.tensor * 2 + 1
    a, b = Pair(make)
    filler = [[k] * k for k in range(6)]
    return y + x.tensor * a + b, x.parts, len(filler)


def opened(x, make):
    y = x.tensor.sin() + 1
    with Opened(make) as manager:
        y = y * x.tensor.cos()
        raise KeyError(manager.make)
    return y - x.tensor, x.parts


def called(x, make):
    y = x.tensor * 3
    set_by_callee(make)
    return y + x.tensor, x.parts


def set_by_callee(make):
    sys._getframe(1).f_locals["x"] = make()


def in_loop(x, make):
    total = x.tensor * 0
    for k in range(3):
        set_by_callee(make)
        total = total + x.tensor * k
    return total, x.parts


def tensor_itself(x, make):
    y = x * 2
    set_by_callee(lambda: make().tensor)
    return (y + x).relu()


def unbound(make):
    y = torch.ones(3)
    a, b = Pair(make)
    z = y * a + b
    x = Kept(z)
    return x.tensor + y


def first_in_a_cell(x, make):
    def look():
        return x.tensor + 1
    y = x.tensor * 2
    a, b = Pair(make)
    return y + look() * a + b, x.parts


def yielding(x, make):
    y = x.tensor + 1
    a, b = Pair(make)
    yield y + x.tensor * b
    set_by_callee(make)
    yield y * x.tensor + a


def from_generator(x, make):
    return [value + 1 for value in yielding(x, make)], x.parts


def traced(x, make):
    y = x.tensor * 5
    z = y + x.tensor
    return z, x.parts


def set_when_traced(function, x, make):
    def trace(frame, event, argument):
        if frame.f_code is not function.__code__:
            return None
        if event == "line" and "y" in frame.f_locals and "z" not in frame.f_locals:
            frame.f_locals["x"] = make()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return function(x, make)
    finally:
        sys.settrace(before)


def show(name, function, *arguments):
    try:
        result = function(*arguments)
    except Exception as error:  # noqa: BLE001
        result = (type(error).__name__, str(error))
    print(name, result)


def main():
    torch.manual_seed(0)
    for call in range(5):
        counter = iter(range(10, 100))

        def make():
            return Kept(torch.full((3,), float(next(counter))))

        for function in (unpacked, opened, called, in_loop, first_in_a_cell, from_generator, traced):
            show(f"{function.__name__} {call}", function, Kept(torch.arange(3.0) + call), make)
        show(f"tensor_itself {call}", tensor_itself, torch.arange(3.0) + call, make)
        show(f"unbound {call}", unbound, make)
        show(f"traced {call}", set_when_traced, traced, Kept(torch.arange(3.0) + call), make)
    gc.collect()
    print("alive", len(Kept.alive))


main()
