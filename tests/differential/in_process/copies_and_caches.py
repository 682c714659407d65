"""copy.copy and copy.deepcopy of what programs keep, functions that functools.lru_cache wraps, and tensors that are made
of the program's numbers, in constructors too."""
import copy
import enum
import functools

import torch


class Kind(enum.Enum):
    plain = 1
    scaled = 2


class Settings:
    def __init__(self):
        self.width, self.rate, self.kind = 3, 0.5, Kind.scaled
        self.dtype, self.names, self.table = torch.float32, ["a", "b"], {"a": 1, "b": [2.0, 3.0]}
        self.inner, self.both = (1, [4.0]), None


class Inner(Settings):
    def __init__(self):
        super().__init__()
        self.itself = self
        self.both = self.names


class Copied:
    def __init__(self, settings):
        self.settings = settings

    def __deepcopy__(self, memo):
        return Copied(copy.deepcopy(self.settings, memo))


class Layer:
    def __init__(self, settings, window):
        self.settings = copy.deepcopy(settings)
        self.settings.rate = self.settings.rate * 2
        self.window = torch.tensor(window, dtype=torch.long)
        self.zeros = torch.tensor([[0.5, 0.5], [0.5, 0.5]])

    def run(self, x):
        return x * self.settings.rate + self.window + self.zeros.sum()


x = torch.arange(6.0).reshape(2, 3)
settings, inner = Settings(), Inner()


def deep(x, settings):
    y = x * 2
    other = copy.deepcopy(settings)
    other.table["b"].append(x.dim())
    other.names.append("c")
    return y * other.table["b"][0] + other.width, other.names, settings.names, other is settings, other.kind


def shallow(x, settings):
    y = x + 1
    other = copy.copy(settings)
    other.width = 7
    names, table, both = copy.copy(settings.names), copy.copy(settings.table), copy.copy(settings.inner)
    names.append("z")
    table["c"] = 5
    return y + other.width + settings.width, names, table, both is settings.inner, other.names is settings.names


def given_back(x, settings):
    y = x + settings.width
    other = copy.deepcopy(settings)
    return y, other


def shared(x, settings):
    other = copy.deepcopy(settings)
    return x + other.width, other.itself is other, other.both is other.names, other.itself is settings


def with_code(x, copied):
    other = copy.deepcopy(copied)
    return x + other.settings.width, other is copied


def of_tensors(x):
    y = x * 2
    z = copy.copy(y) if y.dim() else y
    other = copy.deepcopy([y, {"x": y}])
    return other[0] + z, other[0] is other[1]["x"], other[0] is y


def made_here(x):
    y = x * 3
    table = {"rows": [1, 2], "pair": (1, [2])}
    other = copy.deepcopy(table)
    other["rows"].append(3)
    return y + len(table["rows"]), table, other, other["pair"][1] is table["pair"][1]


def in_constructor(x, settings, window):
    layer = Layer(settings, window)
    return layer.run(x + 1)


@functools.lru_cache
def is_available():
    print("asked")
    return True


@functools.cache
def versions():
    return ("2.11", 4)


@functools.lru_cache(maxsize=None)
def tables():
    return {"scale": 2.0}


@functools.lru_cache
def at_least(version, strict=False):
    return (not strict) and version <= "2.11"


def cached(x):
    y = x + 1
    if is_available():
        y = y * versions()[1]
    return y * 2


def cached_table(x):
    return x * tables()["scale"] + 1


def cached_arguments(x):
    y = x + 1
    return y * 2 if at_least("2.0") and not at_least("2.0", strict=True) else y


def shown(name, call, *arguments):
    for _ in range(3):
        result = call(*arguments)
        print(name, [vars(each) if isinstance(each, Settings) and not isinstance(each, Inner) else each for each in result]
              if isinstance(result, tuple) else result)


with torch.no_grad():
    shown("deep", deep, x, settings)
    shown("shallow", shallow, x, settings)
    shown("given back", given_back, x, settings)
    shown("shared", shared, x, inner)
    shown("with code", with_code, x, Copied(settings))
    shown("of tensors", of_tensors, x)
    shown("made here", made_here, x)
    shown("constructor", in_constructor, x, settings, 4)
    settings.table["b"].append(9.0)
    shown("deep, another", deep, x, settings)
    settings.inner = x
    shown("deep, with a tensor", lambda x, settings: (x + 1, copy.deepcopy(settings).inner is settings.inner), x, settings)
    settings.inner = (1, [4.0])
    for window in (4, 5, 6):
        shown(f"constructor {window}", in_constructor, x, settings, window)
    shown("cached", cached, x)
    is_available.cache_clear()
    shown("cached again", cached, x)
    shown("table", cached_table, x)
    tables()["scale"] = 3.0
    shown("table", cached_table, x)
    shown("arguments", cached_arguments, x)


class Pair(torch.nn.Module):
    def forward(self, x, y=0.0):
        return x * 2 + y


class Several(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Parameter(torch.ones(2, 3)), torch.nn.Parameter(torch.full((2, 3), 2.0))
        self.pair = Pair()

    def both(self, a, b):
        return a - b

    def forward(self, x, count):
        parts = (getattr(self, name) * x for name in ("first", "second")[:count])
        again = (part for part in (x, 1.5)[:count])
        more = self.both(*(each + 1 for each in (x, x * 2)))
        return self.pair(*parts) + self.pair(*again) + more


def prints_inside(a, b):
    y = a * 2
    print("inside")
    return y + b


def unpacks_around_break(x):
    return prints_inside(*(x + n for n in range(2))) * 3


def too_many(x):
    try:
        return prints_inside(*(x + n for n in range(3)))
    except TypeError as error:
        return str(error)


with torch.no_grad():
    several = Several().eval()
    for count in (2, 1):
        shown(f"unpacked {count}", several, x, count)
    shown("around a break", unpacks_around_break, x)
    shown("too many", too_many, x)
