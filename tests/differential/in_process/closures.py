"""Functions made in segments: counters, decorators, defaults, recursion, partials, methods."""
import functools

import torch

REGISTRY = {}


def register(name=None, *, scale=1.0):
    def wrap(function):
        @functools.wraps(function)
        def inner(x, *args, **kwargs):
            return function(x * scale, *args, **kwargs)
        inner.scale = scale
        REGISTRY[name or function.__name__] = inner
        return inner
    return wrap


def makes(x, k):
    count = 0
    y = x * k

    @register(f"made{k}", scale=k + 1)
    def add(z, w=2):
        nonlocal count
        count += 1
        return z + y * w

    def counts():
        return count

    y = y + 1
    return add, counts


for k in (1, 2, 1):
    add, counts = makes(torch.ones(2), k)
    print(add(torch.ones(2)), add(torch.zeros(2), w=3), counts(), add.scale, add.__name__, add.__wrapped__ is not add)
print(sorted(REGISTRY))


def accumulates(x):
    total = x * 0

    def step(part):
        nonlocal total
        total = total + part
        if total.sum() > 5:
            total = total - 1
        return total

    for i in range(4):
        step(x * i)
    kept = [step(x), step(x + 1)]
    return total, kept, step


for _ in range(3):
    total, kept, step = accumulates(torch.ones(3))
    print(total, kept, step(torch.ones(3)), step(torch.ones(3)))


def recursive(x, n):
    def down(y, k):
        if k == 0:
            return y
        if y.sum() > 20:
            return down(y - 5, k - 1)
        return down(y * 2, k - 1)
    return down(x, n), down


for n in (0, 3, 6, 3):
    out, down = recursive(torch.ones(2), n)
    print(out, down(out, 2))


class Pipeline:
    def __init__(self):
        self.steps = []

    def then(self, step):
        self.steps.append(step)
        return self

    def build(self, x):
        w = x.softmax(0)
        self.then(lambda v: v * w).then(functools.partial(torch.add, w, alpha=2)).then(self.finish)
        return self

    def finish(self, v):
        return v - v.mean()

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


pipe = Pipeline().build(torch.arange(3.0))
for _ in range(3):
    print(pipe(torch.ones(3)))


def loop_closures(x):
    fns = []
    for i in range(3):
        y = x + i
        fns.append(lambda z, i=i: z * y + i)
    return fns


for _ in range(2):
    print([f(torch.ones(2)) for f in loop_closures(torch.ones(2))])


def conditional(x, flag):
    if flag:
        w = x + 1
    def reads():
        return w * 2
    try:
        return reads()
    except NameError as error:
        return str(error)


for flag in (True, False, True, False):
    print(conditional(torch.ones(2), flag))


def deletes(x):
    w = x * 3
    def reads():
        return w
    before = reads()
    del w
    try:
        reads()
    except NameError as error:
        return before, str(error)


for _ in range(2):
    print(deletes(torch.ones(2)))
