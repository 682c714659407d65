"""Functions that are found through classes read what may change: mutable defaults of constructors, property getters and
methods, and the cells of local classes, which a function beside them sets."""
import torch

x = torch.ones(2)
SETTINGS, ITEMS = {"k": 1}, [1]


class Base:
    def __init__(self, x, settings=SETTINGS, items=ITEMS):
        self.x = x * settings["k"] + len(items)


class Derived(Base):
    def __init__(self, x):
        super().__init__(x)


class Made:
    def __new__(cls, x, items=ITEMS):
        made = super().__new__(cls)
        made.count = len(items)
        return made


class Measured:
    @property
    def size(self, items=ITEMS):
        return len(items)

    @size.setter
    def size(self, value, items=ITEMS):
        self.kept = value + len(items)

    def __setattr__(self, name, value, items=ITEMS):
        super().__setattr__(name, value if name == "size" else value * len(items))


class Described:
    def __get__(self, instance, owner, items=ITEMS):
        return len(items) * 2


class Owner:
    doubled = Described()

    def __getattr__(self, name, items=ITEMS):
        return len(items) * 3


class Failed(Exception):
    def __init__(self, value, items=ITEMS):
        self.value = value * len(items)


def make():
    number = 1

    class Local:
        def __init__(self):
            self.number = number

        def get(self):
            return number

    def put(value):
        nonlocal number
        number = value

    return Local, put


Local, put = make()


class Under(Local):
    def get(self):
        return super().get()


def constructed(x):
    return Base(x).x


def constructed_below(x):
    return Derived(x).x


def made(x):
    return x * Made(x).count


def measured(x):
    one = Measured()
    one.size = 4
    return x * one.size + one.kept


def described(x):
    return x * Owner().doubled + Owner().missing


def failed(x):
    try:
        raise Failed(2)
    except Failed as error:
        return x * error.value


def local(x):
    return x * Local().number + Local().get()


def under(x):
    return x * Under().get()


for function in (constructed, constructed_below, made, measured, described, failed, local, under):
    for call in range(6):
        print(function.__name__, function(x).tolist())
        if call == 1:
            SETTINGS["k"] += 10
            put(7)
        if call == 2:
            ITEMS.append(1)
            put(9)
