"""What libraries for generation and detection do between ops: generators that delegate, lists with methods of their own,
signatures of wrapped functions, parameters in sets, caches asked about new tensors, dicts that change and are gone over.
"""
import functools
import inspect
import typing

import torch
from torch import nn

torch.manual_seed(0)


def show(value):
    if isinstance(value, torch.Tensor):
        return [round(number, 4) for number in value.flatten().tolist()]
    if isinstance(value, dict):
        return {key: show(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [show(item) for item in value]
    return value


# -- generators that delegate


def halves(x):
    yield x[:1] * 2
    yield x[1:] * 3
    return x.sum()


def pieces(x):
    yield x + 1
    total = yield from halves(x)
    yield total * 2
    nothing = yield from (x, x * 5)
    yield from [name * 2 for name in "ab"]
    yield from range(2)
    if nothing is None:
        return x - 1


def outermost(x):
    last = yield from pieces(x)
    yield last


def delegating(x):
    total = 0
    for number, item in enumerate(outermost(x)):
        total = total + item.sum() * number if isinstance(item, torch.Tensor) else total
    kept = [item for item in outermost(x)]
    return total, len(kept), kept[-1], next(outermost(x)), list(halves(x))


def abandoning(x):
    def careful(y):
        try:
            yield from halves(y)
        finally:
            seen.append("closed")

    seen = []
    for item in careful(x):
        x = x + item.sum()
        break
    return x, seen


class Steps:
    """An iterator of the program's own, which would be closed by the generator that delegates to it."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return self

    def __next__(self):
        if self.count == 0:
            raise StopIteration("done")
        self.count -= 1
        return self.count


def through_own(x):
    def inner():
        said = yield from Steps(3)
        yield said

    return [x * step if isinstance(step, int) else step for step in inner()]


# -- lists with methods of their own


class Processors(list):
    def __call__(self, x, **kw):
        for processor in self:
            wanted = inspect.signature(processor.__call__).parameters
            if len(wanted) > 1 and not all(name in kw for name in list(wanted.keys())[1:]):
                raise ValueError(list(wanted))
            x = processor(x, **kw) if len(wanted) > 1 else processor(x)
        return x


class Reversed(list):
    def __iter__(self):
        return iter([item for item in list.__iter__(self)][::-1])


class Counted(list):
    def __len__(self):
        return 7


class Picky(list):
    def __getitem__(self, at):
        return ("picked", list.__getitem__(self, at))


class Never(list):
    def __bool__(self):
        return False


def documented(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    wrapper.documented = True
    return wrapper


class Scale:
    def __init__(self, by):
        self.by = by

    @documented
    def __call__(self, x):
        return x * self.by


class Shift:
    def __call__(self, x, offset):
        return x + offset


def processed(x, processors):
    y = processors(x, offset=2)
    return y + len(processors), processors[0](y), bool(processors), [type(one).__name__ for one in processors]


def of_lists(x, these):
    return x * len(these), [item for item in these], these[0], "full" if these else "empty", 3 in these


def filled(x):
    chain = Processors()
    chain.append(scales[0])
    more = Processors([scales[0], Scale(3)])
    more.extend([Scale(0.5)])
    return chain(more(x)), chain, len(more), more[1].by, [one for one in more]


def carried(x):
    chain = Processors([Scale(2)])
    y = chain(x)
    print("between", type(chain).__name__)  # the list is made behind the segment
    return chain(y), isinstance(chain, Processors)


class Rate:
    base = 2

    def value(self):
        return self.base


def rated(x):
    return x * Rate().value()


# -- signatures


@documented
def first(x, /, scale, *, shift=1):
    return x * scale + shift


def second(x, scale):
    return x * scale


second.marked = 1


def described(x, function):
    names = inspect.signature(function).parameters
    wanted = set(names.keys()) & {"scale", "shift", "y"}
    for name in names:
        x = x + len(name)
    return x, "shift" in names.keys(), sorted(wanted), len(list(names.values())), [name for name, _ in names.items()]


# -- parameters: what makes `model.dtype` and `model.device`


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(2, 2)
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), self.shared)

    @property
    def dtype(self):
        return next(p.dtype for p in self.parameters() if p.is_floating_point())

    def forward(self, x):
        y = self.layers(x)
        y = y.to(self.dtype).to(next(self.parameters()).device)
        seen = set()
        for parameter in self.parameters():
            if parameter not in seen:
                seen.add(parameter)
                y = y + parameter.mean()
        return y, len(seen), len(list(self.named_parameters())), len([name for name, _ in self.named_modules()])


# -- caches asked about tensors that are new

CALLS = []


@functools.lru_cache(maxsize=None)
def positions(mask, scale=1.0):
    return mask.cumsum(0) * scale


@functools.lru_cache(maxsize=2)
def noisy(mask):
    CALLS.append(1)
    return mask + torch.rand(2)


def cached(x):
    mask = (x > 0).float()
    return positions(mask) + positions(mask * 2, scale=0.5)


def cached_twice(x):
    torch.manual_seed(3)
    mask = x * 2
    return noisy(mask), noisy(mask)


# -- dicts that were given, are changed and gone over


def given(y, w=None, **more):
    return y + w + len(more)


def options(x, **kw):
    kw["y"] = x * 2
    kw.pop("z", None)
    return given(**kw), list(kw), {key: value.sum() for key, value in kw.items()}


def state(held, x):
    held["n"] = x * 2
    names = [name for name in held]
    del held["a"]
    return names, list(held), sum(held.values())


def emptied():
    kept = 1

    def body(x):
        nonlocal kept
        kept = x * 2
        y = kept + 1
        del kept
        return y

    def put():
        nonlocal kept
        kept = 5

    def get():
        try:
            return kept
        except NameError:
            return "empty"

    return body, put, get


def own_emptied(x):
    kept = x * 2

    def look():
        try:
            return kept
        except NameError:
            return "empty"

    y = look() + 1
    del kept
    return y, look()


# -- tables by class


class Backend:
    def __init__(self, factor):
        self.factor = factor

    def scaled(self, x):
        return x * self.factor


BY_CLASS = {int: Backend(2), torch.Tensor: Backend(3), type(None): Backend(5)}
HANDLERS = {list: lambda x, n: x + len(n), tuple: lambda x, n: x - len(n), "plain": lambda x, n: x}


def dispatched(x, *values):
    for value in values:
        if type(value) in BY_CLASS:
            x = BY_CLASS[type(value)].scaled(x)
        x = HANDLERS.get(type(value), HANDLERS["plain"])(x, value)
    return x, float in BY_CLASS, BY_CLASS.get(float) is None, [one.__name__ for one in BY_CLASS if one is not int]


def mapped(x):
    return torch.utils._pytree.tree_map(lambda leaf: leaf * 2, {"a": x, "b": [x + 1, (x, 3)]})


# -- types that are written down as the code runs

def cast_on_the_way(x, kind):
    y = typing.cast(typing.Union[torch.Tensor, typing.Sequence[kind]], x * 2)
    shape = typing.cast("list[int]", y.shape) if kind is int else typing.cast(dict[str, kind], y.shape)
    return y + len(shape)


Named = typing.Optional[typing.Dict[str, int]]


def looks_at_a_type(x, kind=Named):
    return x * (2 if kind is Named else 3)


with torch.no_grad():
    x = torch.tensor([1.0, -2.0])
    scales = [Scale(2), Shift()]
    net = Net().eval()
    body, put, get = emptied()
    for turn in range(4):
        print(turn, show(delegating(x)), show(abandoning(x)), show(through_own(x)))
        print(show(processed(x, Processors(scales))), show(processed(x, Processors(scales[:1]))))
        for kind in (Processors, Reversed, Counted, Picky, Never):
            print(kind.__name__, show(of_lists(x, kind([3, 4]))))
        print(show(described(x, first)), show(described(x, second)), show(described(x, scales[0].__call__)))
        y, chain, *rest = filled(x)
        print(show(y), type(chain).__name__, len(chain), chain[0] is scales[0], rest[:2], len(rest[2]), show(carried(x)))
        print(show(rated(x)))
        if turn == 1:
            Rate.base = 5
        if turn == 2:
            Rate.value = lambda self: 7
        print(show(net(x)), show(cached(x)), show(options(x, w=x, z=1) if turn % 2 else options(x, z=2, w=x * 2)))
        one, other = cached_twice(x)
        print(show(one), one is other, len(CALLS))
        held = {"a": x, "b": x * 3} if turn < 3 else {"b": x, "a": x * 5, "n": x}
        print(show(state(held, x)), show(held))
        put()
        print(show(body(x)), get(), show(own_emptied(x)))
        print(show(dispatched(x, 3, x, None, [1, 2], (4,), 2.5)), show(dispatched(x, 1.5)), show(mapped(x)))
        BY_CLASS[int].factor += turn
        if turn == 2:
            BY_CLASS[torch.Tensor] = Backend(7)
            BY_CLASS[float] = Backend(11)
            HANDLERS[list] = HANDLERS["plain"]
        if turn == 1:  # what the signatures said is true no longer
            second.__signature__ = inspect.signature(given)
            first.__wrapped__ = given
            net.layers[0] = nn.Linear(2, 2)
        if turn == 2:
            del second.__signature__
            Processors.__len__ = lambda self: 5
        print(show(cast_on_the_way(x, int)), show(cast_on_the_way(x, float)))
        print(show(looks_at_a_type(x)), show(looks_at_a_type(x, typing.Optional[int])))
        if turn == 2:
            Named = typing.Optional[int]
