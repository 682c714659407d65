"""Functions that a program passes around: what is called at one place is another function the next time."""
import functools
import math
import operator

import torch

X = torch.arange(4.0)


def call(function, *arguments):
    return function(*arguments)


def refers_to_itself(x):
    """A function that its own variable holds is one object behind the segment."""
    y = x + 1

    def count(n):
        return n if n == 0 else count(n - 1) + count.step

    count.step = 3
    return y * 2, count


def direct(function, x):
    return function(x, 2) + 1


def spread(function, arguments, keywords):
    return function(*arguments, **(keywords or {}))


def bound(function):
    return function(2) + 1


def of_table(table, name, x):
    return table[name](x, 3) * 2


def of_number(function, x):
    return x * function(2.5)


def of_list(function, x):
    items = [x, x + 1]
    result = function(items)
    return x * 2, len(items), result


class Layer:
    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        return self.function(x + 1)


def show(value):
    if isinstance(value, torch.Tensor):
        return [round(v, 4) for v in value.flatten().tolist()]
    return [show(item) for item in value] if isinstance(value, (tuple, list)) else value


def attempt(run, *arguments):
    try:
        print(run.__name__, show(run(*arguments)))
    except (TypeError, AttributeError, IndexError, ValueError, RuntimeError) as error:
        print(run.__name__, type(error).__name__, error)


BINARY = [torch.Tensor.mul, torch.Tensor.sub, torch.mul, torch.sub, torch.Tensor.__mul__, torch.Tensor.__sub__, torch.Tensor.__rsub__,
          torch.Tensor.add, operator.mul, operator.sub, torch.Tensor.mul, torch.Tensor.sub]
with torch.no_grad():
    for function in BINARY:
        attempt(direct, function, X)
        attempt(spread, function, (X, 2), None)
        attempt(spread, function, (X, 3), {})
        attempt(call, function, X, 4)
    for function in (X.mul, X.sub, X.__mul__, X.__sub__, X.__rsub__, X.add, X.mul, torch.ones(4).mul, (X + 1).sub):
        attempt(bound, function)
    table = {"a": torch.Tensor.mul, "b": torch.Tensor.sub}
    for name in ("a", "b", "a"):
        attempt(of_table, table, name, X)
    table["a"] = torch.Tensor.add
    attempt(of_table, table, "a", X)
    for function in (math.floor, math.ceil, float.__neg__, float.__abs__, (1.5).__add__, (2.5).__add__, (1.5).__mul__, round, abs, (2.5).__sub__,
                     int, str.upper, functools.partial(pow, 2), functools.partial(pow, 3), functools.partial(max, 7)):
        attempt(of_number, function, X)
    kept = [X]
    for function in (list.pop, list.copy, list.__len__, len, kept.append, kept.extend, list.clear, list.reverse, [].append, max):
        attempt(of_list, function, X)
    print(len(kept))
    for function in (torch.Tensor.neg, torch.Tensor.abs, torch.neg, torch.Tensor.exp, torch.Tensor.__neg__, torch.Tensor.size):
        layer = Layer(function)
        attempt(call, layer, X)
    for _ in range(3):
        made, count = refers_to_itself(X)
        print(made, count(4), count.__closure__[0].cell_contents is count)


# Functions as keys: found by their identity, in dicts that change and by functions that change places.
def twice(x):
    return x * 2


def thrice(x):
    return x * 3


SCALES = {twice: 2.0, thrice: [3.0]}


def scaled(x, f):
    if f not in SCALES:
        return x
    scale = SCALES[f]
    return x * (scale if isinstance(scale, float) else scale[0])


for round_ in range(4):
    for f in (twice, thrice, scaled):
        print(f.__name__, scaled(torch.ones(3), f).tolist())
    if round_ == 1:
        SCALES[thrice] = [4.0]
    if round_ == 2:
        del SCALES[twice]
        SCALES[scaled] = 5.0
