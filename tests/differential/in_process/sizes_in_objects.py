"""Sizes of tensors in objects of every kind that are handed over a break, while the sizes change from call to call.

Each kind is made of a size in several ways, alone and inside other containers, stands over a break and is used behind
it. PENSTOCK_SWEEP=all runs every combination, else each kind once with each way in turn.
"""
import array
import collections
import contextlib
import contextvars
import copy
import dataclasses
import datetime
import decimal
import fractions
import functools
import heapq
import itertools
import os
import operator
import types
from typing import NamedTuple

import torch

Point = collections.namedtuple("Point", "size rest", defaults=(None,))


class Args(NamedTuple):
    rows: object
    dim_size: int
    more: object = None


@dataclasses.dataclass
class Plain:
    size: int
    parts: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    size: int
    twice: int = dataclasses.field(init=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "twice", self.size * 2)


@dataclasses.dataclass(slots=True)
class Slotted:
    size: int
    rest: object = None


class Owner:
    kind = "owner"

    def __init__(self, size):
        self.size = size
        self.sizes = [size, size + 1]

    def told(self, by=1):
        return self.size * by

    @property
    def twice(self):
        return self.size * 2


class Slots:
    __slots__ = ("size", "other")

    def __init__(self, size):
        self.size = size


class MyList(list):
    pass


class MyDict(dict):
    pass


class MyTuple(tuple):
    pass


class MyInt(int):
    pass


class MyStr(str):
    pass


class Counting:
    """An iterator that is written in Python."""

    def __init__(self, end):
        self.at, self.end = 0, end

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= self.end:
            raise StopIteration
        self.at += 1
        return self.at


def counted(n):
    yield n
    yield n + 1
    yield from range(n)


def started(n):
    generator = counted(n)
    next(generator)
    return generator


def advanced(iterator):
    next(iterator)
    return iterator


def closing(n):
    def inner(by=2):
        return n * by
    return inner


def counter(n):
    def inner():
        nonlocal n
        n += 1
        return n
    inner()
    return inner


def with_defaults(n):
    def inner(a=n, *, b=n + 1):
        return a, b
    return inner


def raised(n):
    try:
        raise ValueError("size", n)
    except ValueError as error:
        return error


def chained(n):
    error = ValueError(n)
    error.size = n
    error.__cause__ = KeyError(n + 1)
    return error


def set_variable(n):
    variable.set(n)
    return variable


def stacked(n):
    stack = contextlib.ExitStack()
    stack.callback(seen.append, n)
    return stack


def filled_array(n):
    made = array.array("l", [n, 1])
    made.append(n + 2)
    return made


def heap_of(n):
    made = [n, 1, n // 2]
    heapq.heapify(made)
    return made


def default_of(n):
    made = collections.defaultdict(list)
    made["a"].append(n)
    made["b"]
    return made


def ordered_of(n):
    made = collections.OrderedDict(a=n, b=2)
    made.move_to_end("a")
    return made


def mutated_list(n):
    made = [1, 2, 3]
    made[1:2] = [n, n]
    made.insert(0, n + 1)
    made += [n]
    del made[-2]
    made.reverse()
    return made


variable = contextvars.ContextVar("variable")
seen = []
held = types.SimpleNamespace(value=0, items=[], table={}, members=set(), queue=collections.deque(maxlen=3))
total = 0


def into_global(n):
    global total
    total = n
    return "global"


def into_held(n):
    held.value = n
    held.items.append(n)
    held.table["n"] = n
    held.table[n] = "key"
    held.members.add(n)
    held.queue.append(n)
    return held


def text_of(value):
    """What is in an object, without addresses."""
    if isinstance(value, torch.Tensor):
        return [round(v, 4) for v in value.flatten().tolist()[:4]]
    if isinstance(value, types.GeneratorType) or hasattr(value, "__next__"):
        return [type(value).__name__, list(itertools.islice(value, 12))]
    if isinstance(value, contextvars.ContextVar):
        return value.get()
    if isinstance(value, contextlib.ExitStack):
        value.close()
        return seen[-1]
    if value is held:
        return held.value, list(held.items[-2:]), dict(held.table), sorted(held.members), list(held.queue)
    if value == "global":
        return total
    if isinstance(value, BaseException):
        return type(value).__name__, value.args, getattr(value, "size", None), repr(value.__cause__)
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return value()
    if isinstance(value, (Owner, Slots)):
        return type(value).__name__, value.size, getattr(value, "sizes", None), getattr(value, "twice", None)
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, (operator.itemgetter,)):
        return value(range(100))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [text_of(item) for item in value], str(value) if type(value) is torch.Size else ""
    if isinstance(value, dict):
        return type(value).__name__, [(key, text_of(item)) for key, item in value.items()]
    return type(value).__name__, value


# What is made of a size `n` and a tensor `y`.
KINDS = {
    "int": "n", "sum": "n + 3", "product": "n * 2", "quotient": "n // 2", "remainder": "n % 4", "negative": "-n",
    "float": "float(n)", "real": "n / 2", "power": "n ** 2", "root": "n ** 0.5", "bool": "n > 6", "not": "not n - 5",
    "complex": "complex(n, 1)", "inline_complex": "n + 2j", "str": "str(n)", "f-string": "f'{n}:{n + 1:>4}'", "percent": "'%d' % n",
    "format": "'{} {}'.format(n, n)", "repr": "repr(n)", "bytes": "bytes(n)", "bytearray": "bytearray(n)", "to_bytes": "n.to_bytes(2, 'big')",
    "memoryview": "memoryview(bytes([n]))", "fraction": "fractions.Fraction(n, 3)", "decimal": "decimal.Decimal(n)", "bits": "n.bit_length()",
    "min": "min(n, 8)", "max": "max(n, 8, 3)", "abs": "abs(3 - n)", "round": "round(n / 3, 1)", "divmod": "divmod(n, 4)", "shift": "n << 2 | 1",
    "sum_start": "sum([1, 2], start=n)", "sum_second": "sum((1, 2), n)", "sum_generator": "sum((v for v in (1, 2)), n)",
    "max_default": "max([], default=n)", "max_key": "max(3, n, key=lambda v: -v)", "max_of": "max(v for v in (n, 8))", "sorted": "sorted([n, 8, 1])",
    "sorted_key": "sorted([n, 8, 1], key=lambda v: -v)", "reversed_sorted": "sorted([n, 8], reverse=True)", "any": "any([n > 6])", "all": "all(v < n for v in (1, 6))",
    "tuple": "(n, y)", "pair": "(n, (n + 1, [n]))", "list": "[n, y, n + 1]", "list_repeat": "[n] * 2", "repeat_by": "[1] * n", "comprehension": "[v * n for v in (1, 2)]",
    "list_of_range": "list(range(n))", "dict": "{'n': n, 'y': y}", "dict_key": "{n: 1}", "dict_comprehension": "{v: n for v in 'ab'}", "dict_call": "dict(n=n)",
    "dict_zip": "dict(zip('ab', (n, n + 1)))", "dict_merge": "{'a': 1} | {'b': n}", "fromkeys": "dict.fromkeys(range(n))", "fromkeys_value": "dict.fromkeys('ab', n)",
    "set": "{n, 1}", "set_call": "set([n])", "frozenset": "frozenset((n, 2))", "set_comprehension": "{v + n for v in (1, 2)}",
    "namedtuple": "Point(n, y)", "namedtuple_replace": "Point(1)._replace(size=n)", "namedtuple_make": "Point._make((n, 1))", "named_asdict": "Point(n, 2)._asdict()",
    "NamedTuple": "Args(y, dim_size=n)", "NamedTuple_nested": "Args([n], n + 1, Args(None, n))", "NamedTuple_field": "Args(y, n).dim_size",
    "Size": "y.shape", "Size_part": "y.shape[:1]", "Size_sum": "y.shape + (n,)", "Size_made": "torch.Size([n, 2])", "Size_tuple": "tuple(y.shape)", "Size_list": "list(y.size())",
    "numel": "y.shape.numel()", "slice": "slice(n)", "slice_full": "slice(1, n, 2)", "range": "range(n)", "range_len": "len(range(1, n))",
    "dataclass": "Plain(n, [n])", "frozen": "Frozen(n)", "slotted": "Slotted(n)", "dataclass_replace": "dataclasses.replace(Plain(1), size=n)", "astuple": "dataclasses.asdict(Plain(n))",
    "namespace": "types.SimpleNamespace(n=n, y=2)", "deque": "collections.deque([n, 1], maxlen=3)", "ordered": "ordered_of(n)", "defaultdict": "default_of(n)",
    "counter": "collections.Counter({'a': n})", "counter_list": "collections.Counter([n, n, 1])", "chainmap": "collections.ChainMap({'a': n}, {'b': 1})", "chainmap_dict": "dict(collections.ChainMap({'a': n}))",
    "proxy": "dict(types.MappingProxyType({'a': n}))", "userdict": "collections.UserDict(a=n).data", "userlist": "collections.UserList([n]).data",
    "array": "filled_array(n)", "heap": "heap_of(n)", "mutated_list": "mutated_list(n)", "partial": "functools.partial(operator.mul, n, 3)", "partial_keywords": "functools.partial(dict, a=n)",
    "method": "Owner(n).told", "builtin_method": "[n, n].count(n)", "closure": "closing(n)", "counter_cell": "counter(n)", "defaults": "with_defaults(n)", "lambda": "lambda: n + 1", "lambda_default": "lambda n=n: n",
    "generator": "counted(n)", "generator_started": "started(n)", "generator_expression": "(v * n for v in (1, 2, 3))", "zip": "zip((n, 2), 'ab')", "enumerate": "enumerate([n, 'b'], n)",
    "zip_started": "advanced(zip((1, n), 'ab'))", "map": "map(lambda v: v + n, (1, 2))", "filter": "filter(lambda v: v < n, (1, 6, 30))", "islice": "itertools.islice(range(99), n, n + 2)",
    "chain": "itertools.chain([n], (1,))", "count": "itertools.count(n)", "cycle": "itertools.cycle([n, 1])", "repeat": "itertools.repeat(n, 2)", "accumulate": "itertools.accumulate([n, 1])",
    "product": "itertools.product([n], [1, 2])", "iter": "iter([n, 2])", "iter_started": "advanced(iter([1, n, 3]))", "range_iter": "advanced(iter(range(n)))", "reversed": "reversed([n, 2])",
    "iter_dict": "iter({'a': n}.values())", "dict_items": "list({'a': n}.items())", "python_iterator": "advanced(Counting(n))", "iter_callable": "iter(lambda: n, n)",
    "instance": "Owner(n)", "slots": "Slots(n)", "property": "Owner(n).twice", "list_subclass": "MyList([n])", "dict_subclass": "MyDict(a=n)", "tuple_subclass": "MyTuple((n, 2))",
    "int_subclass": "MyInt(n)", "str_subclass": "MyStr(n)", "exception": "ValueError('size', n)", "exception_raised": "raised(n)", "exception_cause": "chained(n)",
    "itemgetter": "operator.itemgetter(n)", "timedelta": "datetime.timedelta(n)", "copy": "copy.copy([n])", "deepcopy": "copy.deepcopy({'a': [n]})", "contextvar": "set_variable(n)",
    "exit_stack": "stacked(n)", "global": "into_global(n)", "held": "into_held(n)", "conditional": "'big' if n > 8 else n", "walrus": "[m := n + 1, m]", "unpacked": "[*y.shape, *(n,)]",
    "dict_unpacked": "{**{'a': n}, 'b': 1}", "isinstance": "isinstance(n, int)", "hash": "hash((n, 1))", "compare": "(n, 1) > (7, 0)", "contains": "n in (7, 9)", "type": "type(n)",
    "tensor_of": "torch.tensor([n, 2])", "full": "torch.full((2,), n)", "arange": "torch.arange(n)", "added": "y.sum() + n", "stride": "y.stride()", "same": "other.size(0) + other.size(dim=-1)",
    "aliased": "[t.size(0) for t in (y, again, x, same)]", "viewed": "y.view(-1, 1).size(0)", "size_keyword": "y.size(dim=0)", "numel_keyword": "torch.numel(input=y)", "len": "len(y)",
}
# What is read of the size, and what breaks.
SIZES = ["x.size(0)", "y.shape[0]", "len(y)", "x.shape[0] + 0", "y.numel() // y.size(1)", "tuple(same.shape)[0]"]
BREAKS = ["print('over')", "y.sum().item()", "os.getpid()", "unknown(y)"]
NESTED = ["{}", "[{}, 'x']", "{{'in': ({},)}}", "types.SimpleNamespace(a={}).a"]


def unknown(y):
    return y.tolist()


SOURCE = """
def call(x, same, other):
    y = x * 2 + 1
    again = y
    n = {size}
    made = {made}
    {breaks}
    z = y.sum() + 1
    return made, z
"""


def run(name, size, made, breaks):
    code = SOURCE.format(size=size, made=made, breaks=breaks)
    exec(compile(code, __file__, "exec"), globals())
    call = globals()["call"]
    for n in (5, 5, 7, 9, 11, 5, 9, 6):
        x = torch.arange(float(2 * n)).reshape(n, 2)
        try:
            made, z = call(x, x, x[:, :1])
            print(name, n, text_of(made), float(z))
        except Exception as error:
            print(name, n, type(error).__name__, error)


def main():
    everything = os.environ.get("PENSTOCK_SWEEP") == "all"
    for at, (name, made) in enumerate(KINDS.items()):
        ways = list(itertools.product(SIZES, BREAKS, NESTED)) if everything else [
            (SIZES[at % len(SIZES)], BREAKS[at % len(BREAKS)], NESTED[(at // 2) % len(NESTED)])]
        for size, breaks, nested in ways:
            run(name, size, nested.format(made), breaks)


main()
