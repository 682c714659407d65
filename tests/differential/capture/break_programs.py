"""Breaks at every kind of place: each case is called often enough that its segments are recorded, then
executed, and prints what it gave, what it did, and where an exception was raised."""
import contextlib
import functools
import sys
import traceback

import torch

torch.manual_seed(0)
SEEN = []


def look():
    """Foreign to every segment: what the frames above look like at a break."""
    frame, seen = sys._getframe(1), []
    while frame is not None and frame.f_code.co_name != "attempt":
        numbers = {name: value for name, value in frame.f_locals.items() if isinstance(value, int)}
        seen.append((frame.f_code.co_name, frame.f_lineno, sorted(numbers.items())))
        frame = frame.f_back
    SEEN.append(seen)
    return 1.0


# -- in inlined functions

def innermost(x, *, scale, shift=1):
    y = x * scale
    if y.sum() > 0:
        y = y + shift
    return y - 1


def passes_on(*args, **kwargs):
    kept = args[0] + 1
    return innermost(*args, **kwargs) + kept


def passes_on_again(*args, **kwargs):
    depth = 2
    return passes_on(*args, **kwargs) * depth


def in_unpacked_calls(x):
    z = torch.sin(x)
    return passes_on_again(z, scale=2, shift=3) + passes_on_again(*(z,), **{"scale": -1})


def low(x, n):
    y = x + n
    n = n + 1
    look()
    return y * n


def middle(x, n):
    held = x * 2
    return low(held, n + 1) + held


def high(x, n):
    first = middle(x, n)
    return middle(first, n) - first


def at_three_levels(x):
    return high(x, 4) + 1


class Layer(torch.nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(0.5), requires_grad=False)
        self.inner, self.calls = inner, 0

    def forward(self, x):
        self.calls += 1
        x = x * self.scale
        if self.inner is not None:
            return self.inner(x) + x
        return x + 1 if x.mean() > 0 else x - 1


NESTED = Layer(Layer(Layer()))


def in_nested_modules(x):
    return NESTED(x) * 2


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def __call__(self, x):
        self.count += 1
        doubled = x * 2
        self.total += round(doubled.sum().item(), 3)
        return doubled + self.count

    @property
    def mean(self):
        return self.total / self.count


def in_a_callable_object(x):
    meter = Meter()
    y = meter(x)
    y = meter(y)
    return y, round(meter.mean, 3)


def in_a_closure(x):
    count = 0

    def bump(by):
        nonlocal count
        count += 1
        y = x * by
        look()
        count += 1
        return y + count

    first = bump(2)
    second = bump(3)
    return first + second, count


def escapes_before_a_break(x):
    y = x + 1

    def later(z):
        return y + z

    if y.sum() > 100:
        return later, None
    y = y * 2
    return later(x), later(y)


def defaults_and_attributes(x):
    y = x * 3

    def made(z, w=y, *, k=(y, 2)):
        """doc"""
        return z + w * k[1]

    made.tag = "tagged"
    look()
    return made(x), made.tag, made.__doc__, made.__name__, made.__qualname__


def wraps(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        look()
        return function(*args, **kwargs) + 1
    return wrapper


@wraps
def decorated(x, n=2):
    y = x * n
    look()
    return y + n


def through_a_decorator(x):
    return decorated(x) + decorated(x + 1, n=3)


# -- in loops

def in_a_loop(x):
    total = torch.zeros(3)
    for n in range(4):
        y = x * (n + 1)
        if y.sum() > 1:
            total = total + y
        else:
            total = total - y
    return total


def in_a_while_loop(x):
    steps = 0
    while x.abs().max() > 0.1 and steps < 6:
        x = x * 0.5
        steps += 1
    return x, steps


def in_nested_loops(x):
    out = []
    for i in range(2):
        row = x + i
        for j in (1, 2):
            row = row * j
            if row.mean() > 0:
                continue
            row = row - 1
        out.append(row)
    return out


def over_a_list_that_grows(x):
    work, done = [x], []
    while work:
        item = work.pop()
        half = item * 0.5
        if half.abs().sum() > 0.5:
            work.append(half)
        done.append(half)
    return torch.stack(done).sum(0), len(done)


def with_else(x):
    for n in range(3):
        y = x + n
        if y.sum() > 50:
            break
    else:
        y = y * 10
    return y


def over_pairs(x):
    parts = {"a": x, "b": x * 2}
    total = x * 0
    for at, (name, part) in enumerate(parts.items()):
        total = total + part * at
        look()
        parts[name] = part + 1
    return total, parts["a"], parts["b"]


# -- in with

class Manager:
    def __init__(self, swallow):
        self.swallow = swallow

    def __enter__(self):
        SEEN.append("enter")
        return 2

    def __exit__(self, kind, value, trace):
        SEEN.append(("exit", kind and kind.__name__))
        return self.swallow


def in_with(x):
    with Manager(False) as factor:
        y = x * factor
        if y.sum() > 0:
            y = y + 1
        y = y - factor
    return y * 2


def raised_in_with(x):
    y = x
    with Manager(True):
        y = x * 2
        look()
        y = y + 1
        raise ValueError("inside")
    return y + 1


@contextlib.contextmanager
def managed(x):
    y = x + 1
    look()
    try:
        yield y * 2
    finally:
        SEEN.append(round(y.sum().item(), 3))


def in_a_managed_block(x):
    with managed(x) as y:
        z = y + x
        look()
        z = z * 2
    return z + 1


def without_gradients(x):
    y = x + 1
    with torch.no_grad():
        z = y * 2
        look()
        z = z + torch.is_grad_enabled()
    return z + torch.is_grad_enabled()


# -- in try

def in_try(x):
    try:
        y = x + 1
        look()
        y = y * 2
        return y + [1][3]
    except IndexError as error:
        z = x * 3
        SEEN.append((str(error), repr(sys.exc_info()[1])))
        z = z + 1
    finally:
        SEEN.append("finally")
    return z


def raises_in_torch(x):
    y = x + 1
    try:
        y = y @ torch.ones(7, 7)
    except RuntimeError as error:
        SEEN.append(str(error)[:40])
        y = y * 2
    return y + 1


def fails(x):
    y = x * 2
    look()
    z = y + 1
    raise KeyError(round(z.sum().item(), 3))


def raised_in_a_call(x):
    try:
        return fails(x)
    except KeyError as error:
        return x + 1, error.args


def uncaught(x):
    y = x + 1
    return fails(y)


def in_finally(x):
    y = x + 1
    try:
        return y * 2
    finally:
        look()
        SEEN.append("finally")


def break_in_a_handler(x):
    try:
        raise LookupError("first")
    except LookupError:
        y = x + 1
        look()
        SEEN.append(repr(sys.exc_info()[1]))
        y = y * 2
    SEEN.append(repr(sys.exc_info()[1]))
    return y


def handler_around_a_call(x):
    try:
        raise LookupError("outer")
    except LookupError:
        y = low(x * 2, 3)
        SEEN.append(repr(sys.exc_info()[1]))
    return y + 1


# -- in generators

def gives(x, count):
    for n in range(count):
        y = x * n
        look()
        yield y + 1


def over_a_generator(x):
    total = x * 0
    for part in gives(x, 3):
        total = total + part
    return total


def from_a_generator(x):
    return sum(part * 2 for part in gives(x, 2))


def list_of_a_generator(x):
    return torch.stack(list(gives(x, 3)))


def delegates(start):
    yield from gives(start, 2)
    yield start * 5


def over_a_delegating_generator(x):
    return [part + 1 for part in delegates(x)]


def two_generators(x):
    out = []
    for a, b in zip(gives(x, 2), gives(x + 1, 2)):
        out.append(a * 2 + b)
    return out


def numbered(x):
    return [part + n for n, part in enumerate(gives(x, 2))]


def gathered_pairs(x):
    return [(n, part + 1) for n, part in list(enumerate(gives(x, 2)))]


def left_early(x):
    for part in gives(x, 5):
        if part.sum() > -100:
            return part + 1
    return x


def stays_open(x):
    parts = gives(x, 3)
    first = next(parts) + 1
    look()
    second = next(parts) * first
    return second + sum(parts)


# -- others

def in_a_comprehension(x):
    return [row + 1 if row.sum() > 0 else row - 1 for row in (x, x * -1, x * 2)]


def in_a_chain_of_conditions(x):
    return x + 1 if (x.sum() > 0 and x.mean() < 10) or x.max() > 3 else x - 1


def on_the_stack(x):
    return (x + 1) * low(x * 2, 3) - (x * 3 if x.sum() > 0 else x * 4)


def recursive(x, n=3):
    y = x + n
    if n == 0 or y.sum() > 1000:
        return y
    return recursive(y * 0.5, n - 1) + y


def sorts(x):
    rows = sorted([x + 1, x - 1, x * 3], key=lambda row: row.sum().item())
    return rows[0] + rows[2]


def unpacks(x):
    a, *rest = [x, x + 1, x * 2]
    look()
    (b, c) = rest
    return a + b * c


class Slotted:
    __slots__ = ("value", "count")

    def __init__(self, value, count):
        self.value, self.count = value, count


def leaves_objects(x):
    kept = Slotted(x + 1, 3)
    plain = Manager(x * 2)
    look()
    kept.value = kept.value * kept.count
    return kept.value, kept.count, plain.swallow


def leaves_iterators(x):
    y = x + 1
    letters, pairs = iter("abc"), iter([(1, y), (2, x)])
    next(letters)
    next(pairs)
    z = y * 2
    look()
    return next(letters), next(pairs)[0], z, next(letters)


def breaks_behind_stores(x):
    table = torch.zeros(3, 3)
    table[0] = x
    look()
    table[1] = table[0] = table[2] + x
    table[2] += x
    return table, (table * 2, look(), table[:, 1])


class Dropped:
    def __init__(self, x):
        self.x = x + 1

    def __del__(self):
        SEEN.append("dropped")


def drops_what_it_made(x):
    made = Dropped(x * 2)
    y = made.x * 2
    del made
    SEEN.append("behind")
    return y + Dropped(y).x


class Holder:
    """Breaks while it is made, between two of its attributes."""

    def __init__(self, x, more=()):
        self.first = x * 2
        look()
        self.second = self.first + 1
        self.more = [Holder(x + n) for n in more]
        SEEN.append(self)


class MadeTwice(Holder):
    def __new__(cls, x, more=()):
        made = super().__new__(cls)
        made.zeroth = x - 1
        return made

    def __init__(self, x, more=()):
        super().__init__(x, more)
        if x.sum() > 0:
            self.third = self.zeroth * 3


def breaks_in_a_constructor(x):
    y = x + 1
    held = Holder(y)
    SEEN[-1] = SEEN[-1] is held
    return held.first, held.second, sorted(vars(held)), y * 2


def breaks_in_constructors_below(x):
    y = x + 1
    held = Holder(y, (1, 2))
    SEEN[:] = [SEEN.pop() is held, [one.second for one in held.more]]
    return held.second, held.more[1].first


def breaks_in_what_new_made(x):
    y = x * 2
    held = MadeTwice(y, (3,))
    SEEN[:] = [len(SEEN)]
    return sorted(vars(held)), held.zeroth, getattr(held, "third", None), held.more[0].second


CASES = [value for value in list(globals().values())
         if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("x",)
         and value.__code__.co_argcount - len(value.__defaults__ or ()) == 1
         and value.__module__ == __name__]


def shown(value):
    if isinstance(value, torch.Tensor):
        return [round(number, 3) for number in value.flatten().tolist()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    return "function" if callable(value) else value


def attempt(case, x):
    SEEN.clear()
    try:
        result = shown(case(x))
    except Exception as error:
        trace = [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]
        result = type(error).__name__, str(error), trace[1:]
    return result, SEEN


def main():
    wanted = sys.argv[1:]
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        for number, x in enumerate((torch.ones(3), -torch.ones(3), torch.ones(3), -torch.ones(3) * 2)):
            print(case.__name__, number, *attempt(case, x), flush=True)


if __name__ == "__main__":
    with torch.no_grad():
        main()
