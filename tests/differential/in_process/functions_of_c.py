"""Functions of C that call the program back while a segment is recorded: what those see is what plain Python shows."""
import functools
import sys
import traceback

import torch

torch.set_grad_enabled(False)
log = []


def callers():
    """The three functions above the one that asks, and what a traceback made there names."""
    frame, names = sys._getframe(1), []
    while frame is not None and len(names) < 4:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names, [line.name for line in traceback.extract_stack()][-4:-1]


def look(x):
    log.append(callers())
    return x * 2


def added(a, b):
    log.append(callers())
    return a + b


def is_long(x):
    log.append(callers())
    return x.shape[0] > 1


def order(number):
    log.append(callers())
    return -number


def called_back(xs):
    y = xs[0] + 1
    for z in map(look, xs):
        y = y + z
    y = y + sum(look(v) for v in xs) + functools.reduce(added, xs)
    first, second = map(look, xs[:2])
    kept = list(filter(is_long, xs))
    return y * first - second + kept[0] + sorted([3, 1, 2], key=order)[0] + any(map(is_long, xs))


def kept_iterators(xs):
    y = xs[0] * 3
    made = [map(look, xs), zip(xs, xs), filter(is_long, xs), enumerate(xs)]
    log.append([type(one).__name__ for one in made])
    return y + next(made[0]) + next(made[1])[1]


def refuses(x):
    if x.shape[0] == 2:
        raise ValueError("two")
    return x + 1


def raises(xs):
    y = xs[0] * 2
    try:
        any(refuses(v).shape[0] == 9 for v in map(refuses, xs))
    except ValueError as error:
        log.append([(line.name, line.lineno) for line in traceback.extract_tb(error.__traceback__)])
        y = y + 1
    return y * 2


for run in range(4):
    xs = [torch.ones(3), torch.full((3,), 2.0), torch.ones(3)]
    print(called_back(xs).tolist(), kept_iterators(xs).tolist(), raises([torch.ones(3), torch.ones(2)]).tolist())
    for line in log:
        print(line)
    log.clear()
torch.set_grad_enabled(True)
