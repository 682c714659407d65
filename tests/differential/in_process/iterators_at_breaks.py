"""Iterators and views of dicts that are under way at a break, over containers that change behind it."""
import collections
import itertools

import torch


def grows(x):
    queue, made = [x], []
    for item in queue:
        y = item * 2 + 1
        if y.sum() < 50:
            queue.append(y)
        made.append(y)
    return len(made)


def grows_older(x, queue):
    made = []
    for item in queue:
        y = item * 2 + x
        if y.sum() < 40:
            queue.append(y)
        made.append(y.sum().item())
    return made


def adds_keys(x):
    table = {"a": x, "b": x + 1}
    try:
        for key in table:
            y = table[key] * 2
            if y.sum() < 50:
                table[key + "x"] = y
    except RuntimeError as error:
        return str(error)


def stores_values(x, table):
    for key in table:
        table[key] = table[key] * x
        if table[key].sum() > 5:
            table[key] = table[key] - 1
    return [float(value.sum()) for value in table.values()]


def takes_rest(x, parts):
    iterator = iter(parts)
    y = next(iterator) * x
    print("over")
    parts.append(x)
    return len(list(iterator)), y.sum()


def takes_pairs(x, parts):
    pairs = zip(parts, parts)
    y = next(pairs)[0] * x
    print("over")
    parts.append(x)
    parts[1] = parts[0]
    return [float(first.sum()) for first, _ in pairs], y.sum()


def takes_numbered(x, parts):
    numbered = enumerate(parts, 5)
    y = next(numbered)[1] * x
    print("over")
    parts.append(x * 5)
    parts[1] = parts[0] + 3
    return [(at, float(part.sum())) for at, part in numbered], y.sum()


def shares(x):
    iterator = iter([x, x + 1, x + 2, x + 3])
    pairs = zip(iterator, iterator)
    y = next(pairs)[1] * 2
    print("over")
    return float(next(iterator).sum()), list(pairs), y.sum()


def views(x, table):
    values, keys, items = table.values(), table.keys(), table.items()
    made = {"c": x * 2, "d": x}
    own = made.values()
    y = next(iter(values)) + x
    print("over")
    table["new"] = y
    made["e"] = y
    return len(values), sorted(keys), [key for key, _ in items], len(items), [float(v.sum()) for v in own], [float(v.sum()) for v in own]


def ends(x):
    iterator, numbers, text, back = iter([x]), iter(range(3)), iter("abc"), itertools.repeat(x, 3)
    y = next(iterator) * 2
    next(iterator, None), next(numbers), next(text), next(back)
    print("over")
    return list(iterator), type(numbers).__name__, list(numbers), type(text).__name__, list(text), len(list(back)), y.sum()


def ordered(x):
    table = collections.OrderedDict(a=x, b=x + 1, c=x + 2)
    iterator = iter(table.items())
    y = next(iterator)[1] * 2
    print("over")
    return [key for key, _ in iterator], y.sum()


class Backwards(tuple):
    def __iter__(self):
        return iter(tuple(tuple.__iter__(self))[::-1])

    def __len__(self):
        return 7

    def __getitem__(self, at):
        return tuple.__getitem__(self, 0)


def backwards(x, parts):
    y = x * 2
    made = [part * y for part in parts]
    return len(parts), parts[1], [float(part.sum()) for part in made]


def lists_of_constants(x, text):
    words = text.split(",")
    order = sorted(["b", "a", text])
    y = x + len(words)
    words.append("more")
    print("over")
    order.append(words)
    return words, order, y.sum()


class Options:
    def __init__(self, by):
        self.by = by

    def __call__(self, value):
        return value * self.by


def keyed(x, options):
    y = x * max(3, 5, key=options) + max([2, 4], key=options)
    return y + min((2, 4, 6), key=lambda value: -options(value))


for run in range(5):
    x = torch.ones(3)
    print(grows(x), grows_older(x, [x, x * 3]), adds_keys(x), stores_values(x, {"a": x, "b": x * 4}))
    print(takes_rest(x, [x, x]), takes_pairs(x, [x, x * 0]), takes_numbered(x, [x, x * 0]), shares(x))
    print(views(x, {"a": x, "b": x}), ends(x), ordered(x))
    print(backwards(x, Backwards((x, x * 2, x * 3))), lists_of_constants(x, "q,r"), keyed(x, Options(1 if run % 2 else -1)))
