"""Functions that are given other code do what that says from then on: those that a recorded caller calls, methods,
functions in closures, generators, functions that are exchanged back, and those of a class that is a module."""
import torch

torch.manual_seed(0)
x = torch.arange(6.0).reshape(2, 3)


def scaled(value):
    return value * 2


def shifted(value):
    return value + 10


def negated(value):
    return -value


def call(value):
    return scaled(value).sum() + 1


def show(name, *results):
    print(name, *(result.tolist() if isinstance(result, torch.Tensor) else result for result in results))


def by_function():
    original = scaled.__code__
    for code in (original, shifted.__code__, negated.__code__, original, original):
        scaled.__code__ = code
        show("function", *[call(x) for _ in range(4)])
    scaled.__code__ = original


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def activate(self, value):
        return value.relu()

    def forward(self, value):
        return self.activate(self.linear(value)).sum()


def by_method():
    def other(self, value):
        return value.abs() + 1

    def forward(self, value):
        return self.linear(value).mean() * 3

    block = Block()
    with torch.no_grad():
        show("method", *[round(block(x).item(), 5) for _ in range(4)])
        Block.activate.__code__ = other.__code__
        show("method", *[round(block(x).item(), 5) for _ in range(4)])
        Block.forward.__code__ = forward.__code__
        show("forward", *[round(block(x).item(), 5) for _ in range(4)])


def by_closure():
    def made(factor):
        def inner(value):
            return value * factor

        def outer(value):
            return inner(value) + 1

        return inner, outer

    def other(factor):
        def inner(value):
            return value - factor

        return inner

    inner, outer = made(3)
    show("closure", *[outer(x) for _ in range(3)])
    inner.__code__ = other(0).__code__
    show("closure", *[outer(x) for _ in range(3)])


def by_generator():
    def parts(value):
        yield value
        yield value * 2

    def others(value):
        yield value
        yield value * 5
        yield value - 1

    def total(value):
        return sum(part.sum() for part in parts(value))

    show("generator", *[total(x) for _ in range(3)])
    parts.__code__ = others.__code__
    show("generator", *[total(x) for _ in range(3)])


def within():
    """The assignment stands in what is recorded."""
    codes = [shifted.__code__, negated.__code__]

    def turn(value, i):
        first = scaled(value)
        scaled.__code__ = codes[i % 2]
        return first.sum() + scaled(value).sum()

    original = scaled.__code__
    show("within", *[turn(x, i) for i in range(6)])
    scaled.__code__ = original


def refused():
    try:
        scaled.__code__ = "no code"
    except TypeError as error:
        print("refused", error)
    captured = 1

    def closes(value):
        return value + captured

    try:
        scaled.__code__ = closes.__code__
    except ValueError as error:
        print("refused", error)
    show("as before", *[call(x) for _ in range(3)])


def never_seen():
    """Another function than any that ran: what is compiled goes on."""
    def unused(value):
        return value

    show("unused", *[call(x) for _ in range(3)])
    unused.__code__ = negated.__code__
    show("unused", *[call(x) for _ in range(3)], unused(x))


by_function()
by_method()
by_closure()
by_generator()
within()
refused()
never_seen()
