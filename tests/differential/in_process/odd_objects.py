"""Objects that are unlike what their looks say, around tensor ops: lists that hold themselves, counts that no list can
have, classes named like CPython's own, attributes of every kind of super(), dicts with keys that compare by Python code."""
import torch

x = torch.arange(6.0).reshape(2, 3)


def shown(name, call, *arguments):
    for _ in range(3):
        try:
            result = call(*arguments)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        print(name, result.tolist() if isinstance(result, torch.Tensor) else result)


def holds_itself(x):
    items = [1.5]
    items.append(items)
    y = x * items[0]
    return y, len(str(items)), items[1][1][0]


def is_deep(x):
    deep = []
    for _ in range(200):
        deep = [deep]
    return (x + 1).sum(), len(str(deep))


def passes_itself(x, items):
    return x + len(items), str(items)


def repeated(x, count):
    row = [1.0, 2.0] * count
    more = count * (3.0,)
    return x + len(row) + len(more), row, more


def repeated_in_place(x):
    row = [1.0]
    row *= 3
    return x * len(row), row


class Plain:
    def scaled(self, x):
        return x * 2


class Below(Plain):
    def scaled(self, x):
        alone = super(Below)
        bound = alone.__get__(self, Below)
        return bound.scaled(x) + 1, str(type(alone).__name__)

    def unbound(self, x):
        return x + 1, super(Below).scaled


class property:
    def __init__(self, value):
        self.fget = lambda self: "not asked for"
        self.value = value

    def __get__(self, instance, owner):
        return self.value


class staticmethod(property):
    pass


class Named:
    factor = property(3.0)
    offset = staticmethod(4.0)

    def run(self, x):
        return x * self.factor + self.offset


class Compared:
    def __hash__(self):
        return hash("factor")

    def __eq__(self, other):
        Keyed.compared = True
        return False


class Keyed:
    def __init__(self):
        self.__dict__[Compared()] = 0
        self.factor = 2.0

    def run(self, x):
        return x * self.factor + self.offset

    def __getattr__(self, name):
        return 5.0


def lists_of_old(x, rows, at):
    rows.append(7.0)
    total = rows[at] + rows[-1]
    for row in rows:
        total += row
    return x + total, len(rows)


shown("itself", holds_itself, x)
shown("deep", is_deep, x)
itself = []
itself.append(itself)
shown("passed", passes_itself, x, itself)
for count in (2, 0, -1, 2**62, 2**70):
    shown(f"repeated {count}", repeated, x, count)
shown("in place", repeated_in_place, x)
shown("super alone", Below().scaled, x)
shown("super unbound", Below().unbound, x)
shown("named like", Named().run, x)
keyed = Keyed()
shown("keyed", keyed.run, x)
rows = [1.0, 2.0, 3.0]
shown("old list", lists_of_old, x, rows, 0)
print(rows)
