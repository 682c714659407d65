"""What stands in a class and changes without the class, seen from objects that the function makes, from
instances, from the class and from its metaclass; and descriptors that keep something themselves."""

import collections
import dataclasses
import enum
import functools
from typing import ClassVar

import torch

torch.set_grad_enabled(False)
ones = torch.ones(2, dtype=torch.float64)


class Counting:
    """A descriptor that counts."""

    count = 0

    def __get__(self, instance, owner=None):
        self.count += 1
        return instance.value * 2 + self.count

    def __set__(self, instance, value):
        self.count += 10
        instance.value = value


class Counted:
    doubled = Counting()


class CountedBelow(Counted):
    pass


def through_descriptors(x, counted):
    counted.doubled = x + 1
    return counted.doubled * 2


class Settings:
    sizes = [1, 2]
    options = {"k": 1}
    names = {"a"}
    pair = ([1], 2)
    number = 3
    weight = torch.ones(2, dtype=torch.float64)


def of_instance(x, settings):
    return (
        x * len(settings.sizes)
        + settings.options["k"]
        + len(settings.names)
        + settings.number
        + settings.weight
        + len(settings.pair[0])
    )


def of_made(x):
    return of_instance(x, Settings())


class Registered:
    all = []
    known = {}

    def __init__(self, x):
        self.x = x
        self.all.append(1)
        self.known["n"] = self.known.get("n", 0) + 1

    @property
    def many(self):
        self.all.append(2)
        return len(self.all)

    def __call__(self, y):
        return self.x * len(self.all) + y


class RegisteredBelow(Registered):
    def __init__(self, x):
        super().__init__(x + 1)


def registers(x, kind):
    made = kind(x)
    return made(x) + made.many + Registered.known["n"] + len(kind.all)


def registers_by_type(x, made):
    return type(made)(x)(x) + made.__class__(x).many


class Depth:
    levels = [0]

    def __enter__(self):
        self.levels[0] += 1
        return self.levels[0]

    def __exit__(self, *exception):
        self.levels.append(0)


def in_contexts(x):
    with Depth() as outer, Depth() as inner:
        return x * outer + inner + len(Depth.levels)


class Looked:
    asked = {}

    def __getattr__(self, name):
        self.asked[name] = self.asked.get(name, 0) + 1
        return self.asked[name]


def looks(x):
    looked = Looked()
    return x * looked.first + looked.second


class Steps:
    seen = []

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at == 2:
            raise StopIteration
        self.at += 1
        self.seen.append(self.at)
        return len(self.seen)


def goes_over(x):
    for step in Steps():
        x = x + step
    return x


@dataclasses.dataclass
class Record:
    size: int
    made: ClassVar[list] = []

    def __post_init__(self):
        self.made.append(self.size)


def records(x):
    return x * len(Record(3).made)


class Table(type):
    rows = [1]

    def __len__(cls):
        return len(cls.rows)

    def add(cls):
        cls.rows.append(0)
        return len(cls.rows)


class Tabled(metaclass=Table):
    own = [1]


def of_metaclass(x):
    return x * len(Tabled) + Tabled.add() + len(Tabled.own)


class Kinds(enum.Enum):
    LIST = [1]
    NUMBER = 2


def of_members(x):
    return x * len(Kinds.LIST.value) + Kinds.NUMBER.value


class Failed(Exception):
    seen = []

    def __init__(self, value):
        super().__init__(value)
        self.value = value
        self.seen.append(value)


def raises(x):
    try:
        raise Failed(3)
    except Failed as failed:
        return x * failed.value + len(failed.seen)


class Kept(collections.OrderedDict):
    log = []

    def __setitem__(self, key, value):
        self.log.append(key)
        super().__setitem__(key, value)


def keeps(x):
    kept = Kept()
    kept["a"] = x
    return kept["a"] + len(Kept.log)


def added(x, terms, *, last):
    return x + len(terms) + len(last)


class Partly:
    added = functools.partial(added, terms=[1], last=[1])


def of_partial(x):
    return Partly.added(x)


def inner_classes():
    total = []

    class Inner:
        sizes = []

        def __init__(self, size):
            self.sizes.append(size)
            total.append(size)

    def makes(x):
        return x * len(Inner(1).sizes) + len(total)

    for _ in range(4):
        print("inner", makes(ones).tolist(), Inner.sizes)


for kind in (Counted, CountedBelow):
    instance = kind()
    for _ in range(4):
        print("descriptor", through_descriptors(ones, instance).tolist())
        print(Counted.__dict__["doubled"].count)

for of in (of_made, lambda x: of_instance(x, shared)):
    shared = Settings()
    for change in (
        lambda: Settings.sizes.append(1),
        lambda: Settings.options.update(k=5),
        lambda: Settings.names.add(len(Settings.names)),
        lambda: setattr(Settings, "number", 9),
        lambda: Settings.weight.add_(1),
        lambda: setattr(Settings, "weight", torch.zeros(2, dtype=torch.float64)),
        lambda: Settings.pair[0].append(3),
        lambda: None,
    ):
        print("settings", of(ones).tolist())
        change()

for kind in (Registered, RegisteredBelow, Registered):
    for _ in range(4):
        print("registered", registers(ones, kind).tolist(), len(Registered.all))
registered = Registered(ones)
for _ in range(4):
    print("by type", registers_by_type(ones, registered).tolist(), len(Registered.all))

for function in (in_contexts, looks, goes_over, records, of_metaclass, raises, keeps):
    for _ in range(4):
        print(function.__name__, function(ones).tolist())
print(Depth.levels, Looked.asked, Steps.seen, Record.made, Table.rows, Failed.seen, Kept.log)

for _ in range(4):
    print("members", of_members(ones).tolist(), of_partial(ones).tolist())
    Kinds.LIST.value.append(1)
    Partly.added.keywords["last"].append(1)
    Tabled.own.append(1)
inner_classes()
