"""Containers of the module collections that are made or changed where tensors are computed, objects that tell their truth
themselves, getters of the module operator, and what is unpacked: each with the fact changed that decided it, in one graph."""
import collections
import functools
import operator
import types
from collections import Counter, OrderedDict, defaultdict, deque

import torch
import torch.nn as nn

torch.set_grad_enabled(False)
CALLS = 4


def show(value):
    if isinstance(value, torch.Tensor):
        return [round(one, 3) + 0.0 for one in value.reshape(-1).tolist()]
    if isinstance(value, dict):
        made = getattr(value, "default_factory", None)
        return type(value).__name__, {key: show(one) for key, one in value.items()}, getattr(made, "__name__", made)
    if isinstance(value, (list, tuple, deque)):
        return type(value).__name__, [show(one) for one in value], getattr(value, "maxlen", None)
    return value


def run(function, *arguments):
    for given in arguments:
        for _ in range(CALLS):
            try:
                result = function(*given)
            except Exception as error:
                result = type(error).__name__, str(error)
            print(function.__name__, show(result))


X = torch.tensor([1.0, 2.0, 3.0, 4.0])


# -- deque


def window(x, room, count):
    last = deque(maxlen=room)
    for k in range(count):
        last.append(x * k)
    first = deque([x, x + 1], 2)
    first.appendleft(x * 5)
    return sum(last), len(last), last[0], last[-1], last, first


def ends(x):
    d = deque((x, x + 1))
    d.appendleft(x * 2)
    d.extend([x - 1, x - 2])
    d.extendleft(y * 3 for y in (x, x + 1))
    taken = d.pop() + d.popleft() * 2
    d.rotate(1)
    d.rotate(-2)
    other = d.copy()
    other.reverse()
    other.clear()
    return taken, list(d), other, not other, bool(d), deque([1, 2, 3]), 2 in deque([1, 2]), [y.sum() for y in reversed(d)]


def search(x, graph):
    waiting, seen = deque([0]), {0}
    while waiting:
        node = waiting.popleft()
        x = torch.sin(x + node)
        for neighbour in graph[node]:
            if neighbour not in seen:
                seen.add(neighbour)
                waiting.append(neighbour)
    return x


class History(nn.Module):
    """Looks at and changes what it keeps from call to call."""

    def __init__(self, room):
        super().__init__()
        self.kept, self.log = deque(maxlen=room), deque(maxlen=room)

    def forward(self, x):
        before = torch.stack(list(self.kept)).sum(0) if self.kept else torch.zeros_like(x)
        self.kept.append(x + before)
        self.log.append(x.shape[0])
        return before, len(self.kept), self.kept[-1]


class Stack(nn.Module):
    """Takes before it looks."""

    def __init__(self, room):
        super().__init__()
        self.frames = deque(maxlen=room)

    def forward(self, x):
        self.frames.append(x)
        return torch.cat(list(self.frames)), len(self.frames)


class Queue(nn.Module):
    def __init__(self):
        super().__init__()
        self.frames = deque([torch.ones(4), torch.ones(4) * 2, torch.ones(4) * 3])

    def forward(self, x):
        oldest = self.frames.popleft()
        self.frames.append(oldest + x)
        self.frames.rotate(1)
        return oldest * self.frames[0]


def run_deques():
    run(window, (X, 3, 5), (X, 8, 5), (X, None, 2))
    run(ends, (X,))
    run(search, (X, {0: [1, 2], 1: [3], 2: [3], 3: []}), (X, {0: [1], 1: [0]}))
    for room in (2, 3, None):
        history = History(room)
        for k in range(7):
            print("history", [show(one) for one in history(X * k)], show(list(history.kept)), list(history.log), history.kept.maxlen)
        history.kept.clear()
        print("history", [show(one) for one in history(X)])
    for room in (3, 300):
        stack = Stack(room)
        for k in range(room - 3):
            stack.frames.append(X[:1] * k)
        for k in range(8):
            frames, count = stack(X[:2] * k)
            print("stack", show(frames[-8:]), count, len(stack.frames))
    queue = Queue()
    for k in range(6):
        print("queue", show(queue(X * k)), show(list(queue.frames)))
    queue.frames.append(X)
    print("queue", show(queue(X)), show(list(queue.frames)))


# -- defaultdict, OrderedDict, Counter


def group(x, keys):
    groups = defaultdict(list)
    for place, key in enumerate(keys):
        groups[key].append(x * place)
    sums = defaultdict(lambda: torch.zeros_like(x))
    for key in keys:
        sums[key] = sums[key] + x
    counts = defaultdict(int)
    for key in keys:
        counts[key] += 1
    return {key: torch.stack(one).sum(0) for key, one in groups.items()}, sums, counts, "none" in counts, counts["none"], dict(sums)


TOTALS, PLAIN = defaultdict(float), defaultdict(None, a=1.0)


def total(x, key):
    TOTALS[key] += x.shape[0]
    return x * TOTALS[key], len(TOTALS)


def plain(x, key):
    return x * PLAIN[key]


def maker(x, make):
    made = defaultdict(make)
    return made["a"], x + len(made)


class Doubling(dict):
    def __missing__(self, key):
        value = self[key] = key * 2
        return value


class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value):
        self.sum, self.count = self.sum + value, self.count + 1
        return self.sum


METERS = defaultdict(Meter)


def metered(x, key):
    own = defaultdict(Meter)
    own[key].update(x)
    return METERS[key].update(x.sum()), own[key].sum + own["new"].count, len(own)


class Dotted(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name)

    __setattr__ = dict.__setitem__


DOTTED = Dotted(scale=2, inner=Dotted(offset=3))


def dotted(x):
    made = Dotted(a=x)
    made.b = made.a + 1
    return x * DOTTED.scale + DOTTED.inner.offset, hasattr(DOTTED, "none"), DOTTED.get("none", 1), made.b, dict(made)


def missing(x, key):
    made = Doubling(a=1)
    return x * made[key] + made[key], dict(made), {**made, "b": 2}


def ordered(x):
    made = OrderedDict((name, x * place) for place, name in enumerate("abc"))
    made.move_to_end("a")
    made.move_to_end("c", last=False)
    first = made.popitem(last=False)
    turned = OrderedDict((key, value + 1) for key, value in reversed(made.items()))
    return list(made), first, sum(made.values()), turned, [key for key in reversed({"a": 1, "b": 2})]


def counted(x, words):
    count = Counter(words)
    count.update(["b"])
    return x * count["a"] + count["none"], count.most_common(1), dict(count), sum(count.values())


def united(x, more):
    first = {"a": x}
    same = first
    first |= more
    return sum(same.values()), first is same, sorted(first)


def parts(x):
    items = [x * k for k in range(5)]
    items[1:3] = [x, x, x]
    items[::2] = [y + 1 for y in items[::2]]
    del items[0], items[-2:]
    return items


KEPT = [0, 1, 2, 3]


def kept_parts(x, at):
    KEPT[at:] = [x.shape[0], 7, 8, 9]
    del KEPT[0]
    return x + len(KEPT)


def run_dicts():
    run(group, (X, "abab"), (X, "abc"), (X, [1, 2, 1]))
    for key in ("a", "a", "b", "a", "a", "b"):
        print("total", show(total(X, key)), dict(TOTALS))
    run(plain, (X, "a"), (X, "b"))
    run(maker, (X, list), (X, int), (X, lambda: torch.ones(2)), (X, None))
    run(missing, (X, 3), (X, 4))
    for key in ("a", "b", "a"):
        run(metered, (X, key))
    print({key: (show(meter.sum), meter.count) for key, meter in METERS.items()})
    run(dotted, (X,))
    DOTTED.scale = 5
    DOTTED.inner["offset"] = 7
    run(dotted, (X,))
    run(ordered, (X,))
    run(counted, (X, "abracadabra"), (X, ["a", "q"]))
    run(united, (X, {"b": X}), (X, {"a": X * 2}))
    run(parts, (X,))
    for at in (1, 1, 2, 1):
        print("kept_parts", show(kept_parts(X, at)), KEPT)


# -- truth


class Flag:
    def __init__(self, on):
        self.on = on

    def __bool__(self):
        return self.on


class Cache:
    def __init__(self):
        self.items = []

    def __len__(self):
        return len(self.items)

    def __neg__(self):
        return -len(self.items)

    def __invert__(self):
        return self.items


FLAG, CACHE, SPARE = Flag(True), Cache(), Cache()


def told(x):
    y = x + 1 if FLAG else x - 1
    z = x * 2 if not CACHE else x * len(CACHE)
    either = FLAG and 3 or 5
    fuller = (CACHE or SPARE).items
    while CACHE and z.ndim < 3:
        z = z.unsqueeze(0)
    return y, z, either, fuller, bool(FLAG), any([CACHE, FLAG]), all([CACHE, FLAG]), -CACHE, ~CACHE


def made(x):
    cache = Cache()
    for _ in range(3):
        x = x + 1 if cache else x * 2
        cache.items.append(x)
    assert cache
    return x, len(cache)


class Odd:
    def __bool__(self):
        return 3


def odd(x):
    return x if Odd() else x + 1


class Settings:
    limits = {"low": 1.0, "high": 3.0}
    names = ["low", "high"]

    def __init__(self, x):
        self.x = x


def of_class(x):
    """What a class holds is at hand behind a break too."""
    settings = Settings(x)
    limits, names = settings.limits, settings.names
    for name, limit in limits.items():
        x = x + limit
        print("of_class", name)
    return x + len(names) + settings.limits["low"], limits is Settings.limits


def run_truths():
    run(of_class, (X,))
    Settings.limits = {"low": 2.0, "other": 5.0}
    run(of_class, (X,))
    for on, items in ((True, []), (True, [1]), (False, [1, 2]), (False, []), (True, [1, 2, 3])):
        FLAG.on, CACHE.items, SPARE.items = on, items, [on]
        run(told, (X,))
    run(made, (X,))
    run(odd, (X,))
    Flag.__bool__ = lambda self: not self.on
    run(told, (X,))


# -- getters, methods, the best by a key, and what is unpacked


FIRST, BOTH, TAIL = operator.itemgetter(0), operator.itemgetter("a", "b"), operator.itemgetter(slice(1, None))
SHAPE, SUM, CLAMP = operator.attrgetter("shape"), operator.methodcaller("sum", 0), operator.methodcaller("clamp", min=2)


def gotten(x, pairs):
    ordered = sorted(pairs, key=operator.itemgetter(0))
    best, worst = max(pairs, key=lambda pair: pair[0]), min(pairs, key=FIRST)
    return (ordered[0][1], best[1], worst, FIRST([x, 1]), BOTH({"a": x, "b": 2}), TAIL([1, x, 2]), SHAPE(x), SUM(x), CLAMP(x),
            operator.attrgetter("data.dtype", "ndim")(x), list(map(operator.methodcaller("abs"), [-x])), max([], key=len, default=x))


class Bound:
    def scaled(self, x):
        return x * self.by


def methods(x, by):
    bound = Bound()
    bound.by = by
    method = types.MethodType(Bound.scaled, bound)
    return method(x), method.__name__, bound.scaled.__name__


def unpacked(x):
    first, *rest = x
    *most, last = x.unsqueeze(0).expand(2, 4)
    a, b, *none = (x, 2)
    head, *middle, tail = (y * 2 for y in (x, x, x, x))
    return first, torch.stack(rest), most, last, none, [*x], middle, tail, [0, *x]


def few(x):
    a, *b, c, d, e = x
    return a


def run_others():
    run(gotten, (X, [(3, X), (1, X + 1), (2, X + 2)]), (X, [(1, X), (3, X + 1)]))
    for place in (0, 1, 0):
        chosen = operator.itemgetter(place)
        run(lambda x: chosen([x, x + 1]), (X,))
    run(methods, (X, 2), (X, 3))
    run(unpacked, (X,), (torch.ones(4),))
    run(few, (X,), (X[:3],), (X,))
    steps = nn.Sequential(nn.ReLU(), nn.Tanh())

    def one_step(x, at):
        return steps[at](x)
    run(one_step, (X, 0), (X, 1), (-X, 0))


run_deques()
run_dicts()
run_truths()
run_others()

# Programs of the test run one behind the other.
torch.set_grad_enabled(True)
