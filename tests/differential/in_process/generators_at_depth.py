"""Generators that break, at depth, left early, closed, delegated to, thrown into."""
import torch

LOG = []


def leaf(x, n):
    try:
        for i in range(n):
            y = x * i
            if y.sum() > 4:
                got = yield y + 1
            else:
                got = yield y - 1
            if got is not None:
                LOG.append(("got", float(got.sum())))
                x = x + got
    except ValueError as error:
        LOG.append(repr(error))
        yield x * 100
    finally:
        LOG.append("closed")
    return x * 7


def middle(x, n):
    result = yield from leaf(x, n)
    LOG.append(("result", float(result.sum())))
    for part in leaf(x + 1, 2):
        yield part * 2


def collects(x):
    out = []
    for part in middle(x, 3):
        out.append(part + 1)
        if part.max() > 1000:
            break
    return out


def total(x):
    return sum(part.sum() for part in middle(x, 4))


def drives(x):
    gen = leaf(x, 5)
    a = next(gen)
    b = gen.send(a + 1)
    c = gen.throw(ValueError("thrown"))
    try:
        gen.send(None)
    except StopIteration as stop:
        d = stop.value
    return a, b, c, d


def early(x):
    for i, part in enumerate(leaf(x, 10)):
        if part.sum() > 6:
            return part, i
    return x, -1


def lazy(x):
    scale = x.sum()
    products = (row * scale for row in (x, x + 1, x + 2) if row.sum() > 3)
    first = next(products)
    scale = scale + 1
    return first, list(products)


def nested(x):
    return [[a * b for b in leaf(x, 2)] for a in leaf(x, 3)]


def unpack(x):
    a, *rest, b = leaf(x, 4)
    return a, rest, b


def passes_generator(gen, x):
    out = x
    for part in gen:
        out = out + part
    return out


def outer(x):
    return passes_generator(leaf(x, 3), x), passes_generator((p * 2 for p in leaf(x, 2)), x)


for run in range(3):
    for function in (collects, total, drives, early, lazy, nested, unpack, outer):
        LOG.clear()
        print(function.__name__, function(torch.arange(3.0) + run % 2), LOG)


class Tree:
    def __init__(self, value, *children):
        self.value, self.children = value, children

    def walk(self, x):
        y = x + self.value
        if y.sum() > 5:
            yield y
        for child in self.children:
            yield from child.walk(y)

    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child


def sums(tree, x):
    return [float(v.sum()) for v in tree.walk(x)], max(float((x * v).max()) for v in tree)


tree = Tree(1.0, Tree(2.0, Tree(3.0), Tree(-9.0)), Tree(4.0, Tree(5.0)))
for _ in range(3):
    print(sums(tree, torch.ones(2)))
