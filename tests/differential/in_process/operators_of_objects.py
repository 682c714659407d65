"""Operators of a program's own objects: in place, reflected, of subclasses, declined by NotImplemented."""
import dataclasses

import torch


class Plus:
    def __init__(self, t): self.t = t
    def __add__(self, other): return ("add", self.t + 1)
    def __radd__(self, other): return ("radd", self.t * 3)


class Prior(Plus):
    def __radd__(self, other): return ("prior", self.t * 5)


class Same(Plus):
    pass


class Into(Plus):
    def __iadd__(self, other): self.t = self.t + 2; return self


class Gives(Plus):
    def __iadd__(self, other): return NotImplemented


class Declines(Plus):
    def __add__(self, other): return NotImplemented
    def __eq__(self, other): return NotImplemented
    def __lt__(self, other): return NotImplemented


class Rights:
    def __init__(self, t): self.t = t
    def __radd__(self, other): return ("rights", self.t + 7)


class Compares(Rights):
    def __eq__(self, other): return ("eq", self.t + 1)
    def __ne__(self, other): return ("ne", self.t + 6)
    def __gt__(self, other): return ("gt", self.t + 2)
    def __lt__(self, other): return ("lt", self.t + 3)


class Below(Compares):
    def __eq__(self, other): return ("below eq", self.t * 4)
    def __gt__(self, other): return ("below gt", self.t * 5)


@dataclasses.dataclass
class Record:
    t: int


class Items(list):
    def __add__(self, other): return ("items", len(self))


def shown(value):
    if isinstance(value, torch.Tensor): return value.tolist()
    if isinstance(value, (tuple, list)): return type(value).__name__, [shown(v) for v in value]
    if hasattr(value, "__dict__"): return type(value).__name__, shown(value.t)
    return value


def of(statement):
    """A function of its own for every pair of classes: each has few ways to be called."""
    names = {}
    exec(f"def f(a, b, x):\n    {statement}\n    return x * 2, a", names)
    return names["f"]


def items(t): return Items([1, 2])
def plain(t): return [1, 2]
def number(t): return 3
def nothing(t): return None
def record(t): return Record(1)


ADDED = [(Plus, Plus), (Plus, Prior), (Plus, Same), (Into, Into), (Gives, Rights), (Declines, Declines), (Declines, Rights), (Declines, number), (Declines, Prior), (Rights, Rights), (Rights, Plus), (items, items), (items, plain), (number, Plus), (Plus, number)]
COMPARED = [(Compares, Compares), (Compares, Below), (Below, Compares), (Compares, number), (Declines, Declines), (Declines, Compares), (Declines, number), (Plus, Compares), (record, record), (record, number), (record, nothing), (record, Compares), (Plus, Plus)]
CASES = [("a = a + b", ADDED), ("a += b", ADDED), ("a = a == b", COMPARED), ("a = a != b", COMPARED), ("a = a < b", COMPARED), ("a = 'yes' if a == b else 'no'", COMPARED)]
for statement, pairs in CASES:
    for left, right in pairs:
        function = of(statement)
        for turn in range(3):
            x = torch.arange(3.0) + turn
            try:
                print(statement, left.__name__, right.__name__, shown(function(left(x + 1), right(x - 1), x)))
            except TypeError as error:
                print(statement, left.__name__, right.__name__, "TypeError", error)


# The class of one operand changes, and the method that answers looks at the other one alone.
def added(a, b, x): return x * 2, a + b
def equal(a, b, x): return x * 2, a == b
for left, right in [(Plus, Plus), (Plus, Plus), (Plus, Prior), (Plus, Same), (Plus, Rights), (Declines, Plus), (Declines, Rights), (Declines, Prior), (Plus, number)]:
    print(left.__name__, right.__name__, shown(added(left(torch.ones(2)), right(torch.ones(2)), torch.ones(2))))
for left, right in [(Compares, Compares), (Compares, Compares), (Compares, Below), (Compares, number), (record, record), (record, Compares), (record, Below)]:
    print(left.__name__, right.__name__, shown(equal(left(torch.ones(2)), right(torch.ones(2)), torch.ones(2))))
# Nobody answers: they are one object, or two.
one = Declines(torch.ones(2))
for left, right in [(one, one), (one, one), (one, Declines(torch.ones(2))), (Declines(torch.ones(2)), one), (one, one)]:
    print(shown(equal(left, right, torch.ones(2))))


# nn.ModuleList has both __add__ and __iadd__.
class Held(torch.nn.Module):
    def __init__(self, t):
        super().__init__()
        self.register_buffer("t", t)


class Chain(torch.nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = torch.nn.ModuleList(parts)
        self.parts += [Held(torch.ones(2))]


def chain(x): return Chain([Held(x + 1), Held(x * 2)])
def longer(x):
    parts = torch.nn.ModuleList([Held(x + 1)])
    parts += [Held(x * 3)]
    return parts
for turn in range(3):
    x = torch.arange(3.0) + turn
    print([p.t.tolist() for p in chain(x).parts], [p.t.tolist() for p in longer(x)])
