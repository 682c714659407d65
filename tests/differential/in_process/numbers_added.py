"""sum() of numbers in segments, which newer versions of CPython add with what rounding loses, and arguments that a function
of C got in one version and refuses in another."""
import functools

import torch

torch.set_grad_enabled(False)
CALLS = 4


def floats(x, numbers):
    return x * sum(numbers), sum(numbers), sum(numbers, 0.5), sum(number for number in numbers)


def shares(x):
    return x + 1, sum(x.shape[0] / 10 for _ in range(10)), sum([1, True, 0.1, 2, 0.2, 0.3])


def mixed(x, numbers):
    return sum([*numbers, x, *numbers]), sum([0.1, x], x), sum([0.1, 0.2, 1j, 0.3, 0.1 + 0.2j])


def rates(x, scale):
    return x * sum([scale, scale * 2, scale * 3, 0.1]), sum([x, x * scale])


def folded(x, n):
    return functools.reduce(lambda a, b: a + b * x, range(n), initial=x)


def paired(xs, ys):
    return sum(map(lambda a, b: a * b, xs, ys, strict=True))


def counted(xs):
    return sum(place * x for place, x in enumerate(xs, first=1))


def numbered(xs):
    return sum(place * x for place, x in enumerate(xs, 1, 2))


def unfinished(x):
    return x + 1, functools.reduce(torch.add)


def show(name, function, *arguments):
    try:
        results = function(*arguments)
    except TypeError as error:
        results = str(error),
    results = results if isinstance(results, tuple) else (results,)
    print(name, *[[round(one, 4) for one in result.tolist()] if isinstance(result, torch.Tensor) else repr(result) for result in results])


for call in range(CALLS):
    x = torch.arange(1.0, 4.0) + call
    show("floats", floats, x, [0.1] * 10)
    show("floats", floats, x, [1e16, 1.0, -1e16, call])
    show("shares", shares, x)
    show("mixed", mixed, x, [0.1, 0.2, 0.3])
    show("rates", rates, x, 0.1)
    show("rates", rates, x, 0.1 * (call + 1))
    show("folded", folded, x, 3)
    show("paired", paired, [x, x + 1], [1, 2])
    show("counted", counted, [x, x + 1])
    show("numbered", numbered, [x, x + 1])
    show("unfinished", unfinished, x)

torch.set_grad_enabled(True)
