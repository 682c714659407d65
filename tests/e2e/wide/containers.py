"""What programs keep tensors in: dataclasses, named tuples, dicts and lists of every kind, caches."""

import collections
import contextvars
import dataclasses
import enum
import functools
import math
import typing
import weakref

import torch
import torch.nn.functional as F
from torch import nn

from wide.programs import program


@dataclasses.dataclass
class Out:
    loss: typing.Optional[torch.Tensor] = None
    logits: torch.Tensor = None
    parts: list = dataclasses.field(default_factory=list)

    @property
    def best(self):
        return self.logits.argmax(-1)


@dataclasses.dataclass(frozen=True)
class Conf:
    width: int = 8
    act: str = "gelu"


class Kind(enum.Flag):
    A = 1
    B = 2
    C = 4


Pair = collections.namedtuple("Pair", "mu sigma")


class State(typing.NamedTuple):
    h: torch.Tensor
    step: int = 0

    def advance(self, x):
        return self._replace(h=self.h + x, step=self.step + 1)


@program
def dataclass_outputs():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conf = Conf()
            self.l = nn.Linear(8, 8)

        def forward(self, x, kind=Kind.A | Kind.C):
            c = dataclasses.replace(self.conf, act="relu")
            y = getattr(F, c.act)(self.l(x))
            out = Out(logits=y)
            if Kind.A in kind:
                out.loss = y.pow(2).mean()
            if kind & Kind.B:
                out.loss = None
            out.parts.append(out.best)
            return (
                dataclasses.asdict(out)
                if False
                else (out.loss, out.logits, out.parts[0], [f.name for f in dataclasses.fields(out)])
            )

    return M(), (torch.randn(4, 8),)


@program
def named_tuples():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(8, 16)

        def enc(self, x):
            return Pair(*self.l(x).chunk(2, -1))

        def forward(self, x):
            p = self.enc(x)
            st = State(p.mu)
            for _ in range(3):
                st = st.advance(p.sigma)
            mu, sg = p
            q = p._asdict()
            return st.h + q["mu"] * sg + st.step, p._fields, st

    return M(), (torch.randn(4, 8),)


@program
def context_vars():
    v = contextvars.ContextVar("scale", default=1.0)

    def inner(x):
        return x * v.get()

    def f(x):
        tok = v.set(3.0)
        try:
            y = inner(x).relu()
        finally:
            v.reset(tok)
        return y + inner(x)

    return f, (torch.randn(4, 4),)


@program
def lru_caches():
    @functools.lru_cache(maxsize=None)
    def grid(n, d="x"):
        return torch.arange(n).float() / n

    @functools.lru_cache(maxsize=8)
    def num(n):
        return math.sqrt(n)

    class M(nn.Module):
        @functools.cached_property
        def scale(self):
            return 2.0

        def forward(self, x):
            return (x + grid(x.shape[-1])) / num(x.shape[0]) * self.scale

    return M(), (torch.randn(4, 6),)


@program
def dict_by_types():
    table = {
        int: lambda x, v: x * v,
        float: lambda x, v: x + v,
        torch.Tensor: lambda x, v: x @ v,
        type(None): lambda x, v: x,
    }

    def f(x, args=(2, 1.5, torch.eye(4), None)):
        for a in args:
            x = table[type(a)](x, a)
        acc = {torch.float32: 0, torch.int64: 1, (1, 2): 5, torch.device("cpu"): 3}
        return x + acc[x.dtype] + acc[(1, 2)] + acc[x.device]

    return f, (torch.randn(4, 4),)


@program
def defaultdicts():
    def f(xs):
        by = collections.defaultdict(list)
        tot = collections.defaultdict(lambda: torch.zeros(3))
        cnt = collections.Counter()
        for i, x in enumerate(xs):
            by[i % 2].append(x)
            tot[i % 3] += x
            cnt[i % 2] += 1
        od = collections.OrderedDict(a=xs[0])
        od["b"] = xs[1]
        od.move_to_end("a")
        return (
            {k: torch.stack(v).sum(0) for k, v in by.items()},
            dict(tot),
            sum(cnt.values()),
            list(od),
            "a" in od.keys(),
            torch.stack(list(od.values())).sum(),
        )

    return f, ([torch.randn(3) for _ in range(5)],)


@program
def dict_by_tensors():
    def f(a, b):
        d = {a: 1, b: 2}
        e = collections.defaultdict(dict)
        e[a]["s"] = a * 2
        e[b]["s"] = b * 3
        return sum(v["s"].sum() for v in e.values()) + d[a], len(e)

    return f, (torch.randn(3), torch.randn(4))


@program
def list_subclasses():
    class Chain(list):
        def __call__(self, x):
            for f in self:
                x = f(x)
            return x

        def named(self):
            return [type(f).__name__ for f in self]

    class D(dict):
        __getattr__ = dict.__getitem__

    class Instances(collections.UserDict):
        pass

    c = Chain([nn.ReLU(), nn.Linear(4, 4)])
    c.append(nn.Tanh())

    def f(x):
        o = D(y=c(x))
        o["z"] = o.y * 2
        i = Instances()
        i["k"] = o.z
        return o.y, o.z, c.named(), len(c), c[1](x), i["k"], [m for m in reversed(c)][0](x), c[:2][0](x)

    return f, (torch.randn(2, 4),)


@program
def weak_references():
    class P:
        pass

    class C(nn.Module):
        def __init__(self, p):
            super().__init__()
            self._p = weakref.ref(p)
            self.l = nn.Linear(4, 4)
            self.wd = weakref.WeakKeyDictionary()
            self.wd[p] = 3.0
            self.px = weakref.proxy(p)

        def forward(self, x):
            p = self._p()
            return self.l(x) * p.gain * self.wd[p] if p is not None else x

    p = P()
    p.gain = 2.0
    m = C(p)
    m.keep = p
    return m, (torch.randn(2, 4),)


@program
def sets_and_orders():
    names = {"a", "b", "c"}
    fz = frozenset({1, 2})

    def f(d):
        t = 0
        for k in sorted(names):
            t = t + d[k]
        for k in names & set(d):
            t = t + d[k]
        for i in fz:
            t = t * i
        seen = set()
        for k, v in d.items():
            if k not in seen:
                seen.add(k)
                t = t + v
        return t, len(seen), seen - {"a"} == {"b", "c"}, names <= seen

    return f, ({"a": torch.randn(3), "b": torch.randn(3), "c": torch.randn(3)},)
