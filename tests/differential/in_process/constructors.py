"""Breaks inside constructors, with context variables set, and dicts asked for classes that come and go."""
import contextvars
import torch
V = contextvars.ContextVar("V", default=None)
REGISTRY = {int: abs, str: "s"}


class Base:
    pass


class State(Base):
    def __init__(self, x, limit=3.0, *more, **named):
        super().__init__()
        self.x = x * 2
        self.parts = [self.x]
        if self.x.sum() > limit:
            self.big = True
        self.y = self.x + 1
        self.parts.append(self.y)


class Inner(State):
    def __init__(self, x, **kw):
        State.__init__(self, x, **kw)
        self.z = State(self.y, 100.0).y * 3


class Made(Base):
    def __new__(cls, x):
        one = super().__new__(cls)
        one.x = x + 1
        return one
    def __init__(self, x):
        if (self.x * x).sum() > 2:
            self.x = self.x * 2
        self.y = self.x + x


class Wrong:
    def __init__(self, x):
        if x.sum() > 0:
            print("positive")
        return x


def f(x, limit):
    x = x + 1
    s = Inner(x, limit=limit)
    t = State(*(x, limit), a=1)
    m = Made(x)
    return s.x + s.y * s.z, s.parts, hasattr(s, "big"), t.y, type(t).__name__, m.y, t.parts[0] is t.x


def g(x):
    token = V.set([x * 2])
    try:
        y = x * 3
        print("at", V.get()[0].sum())
        z = y + 1
    finally:
        V.reset(token)
    return z * 2, V.get()


def h(x):
    y = x * 3
    V.set(y)
    if y.sum() > 4:
        y = y + 1
    return y


def w(x):
    x = x * 2
    try:
        return Wrong(x)
    except TypeError as e:
        return str(e), x + 1


def asked(x, kind, held):
    x = x * 2
    found = REGISTRY.get(kind, "nothing")
    return x + 1, found if isinstance(found, str) else found(-3), kind in REGISTRY, hasattr(held, "big"), hasattr(Base, "size")


with torch.no_grad():
    for turn in range(3):
        for x in (torch.ones(2), -torch.ones(2), torch.ones(2) * 3):
            print(f(x, 2.0 + turn), g(x), h(x), V.get(), w(x))
    held = [Base(), Base()]
    held[0].big = 1
    for turn in range(6):
        print([asked(x, kind, one) for kind in (int, float, str) for one in held])
        if turn == 2:
            REGISTRY[float], REGISTRY[int] = abs, "changed"
            Base.size = 1
        if turn == 4:
            del REGISTRY[int], Base.size
