"""Python as public code writes it: dispatch, descriptors, generators, matching, configuration by attributes."""

import functools

import torch
import torch.nn.functional as F
from torch import nn

from wide.programs import program


@program
def partials_dispatch():
    @functools.singledispatch
    def pack(o):
        raise TypeError

    @pack.register
    def _(o: torch.Tensor):
        return o * 2

    @pack.register(list)
    def _(o):
        return [pack(e) for e in o]

    @pack.register(int)
    def _(o):
        return o + 1

    g = functools.partial(F.leaky_relu, negative_slope=0.3)
    norm = functools.partial(nn.functional.normalize, dim=-1, p=2)
    comp = functools.reduce(lambda a, b: lambda x: b(a(x)), [torch.sin, g, norm])

    def f(x):
        return pack([x, 3, [x]]), comp(x), functools.partial(torch.add, alpha=2)(x, x)

    return f, (torch.randn(2, 4),)


@program
def descriptors():
    class Scaled:
        def __set_name__(self, o, n):
            self.n = "_" + n

        def __get__(self, o, t=None):
            return self if o is None else getattr(o, self.n) * 2

        def __set__(self, o, v):
            setattr(o, self.n, v)

    class Base:
        registry = {}

        def __init_subclass__(cls, **k):
            Base.registry[cls.__name__] = cls

        def __class_getitem__(cls, i):
            return cls

    class Box(Base):
        g = Scaled()
        __slots__ = ("_g", "t")

        def __init__(self, t):
            self.t = t
            self.g = 3.0

        @property
        def val(self):
            return self.t * self.g

        @val.setter
        def val(self, v):
            self.t = v

        @classmethod
        def of(cls, t):
            return cls(t)

        @staticmethod
        def two(t):
            return t + 2

        def __matmul__(self, o):
            return Box(self.t @ o.t)

        def __getitem__(self, i):
            return self.t[i]

        def __len__(self):
            return len(self.t)

        def __iter__(self):
            return iter(self.t.unbind())

        def __contains__(self, k):
            return k < len(self)

        def __bool__(self):
            return True

        def __eq__(self, o):
            return len(self) == len(o)

        def __hash__(self):
            return 1

    def f(x):
        b = Box.of(x)
        y = b.val
        b.val = y
        c = b @ Base.registry["Box"](x.T)
        return c.val, Box.two(c.t), b[0], sum(b), 1 in b, b == c, bool(b) and len(b)

    return f, (torch.randn(3, 3),)


@program
def generators_closures():
    def windows(x, n):
        for i in range(0, x.shape[-1] - n + 1, n):
            yield x[..., i : i + n]

    def chainy(x):
        yield x
        yield from windows(x, 2)
        return

    def f(x):
        total = 0
        k = 1.0

        def add(v):
            nonlocal total
            total = total + v.sum() * k

        for w in windows(x, 2):
            add(w)
        gen = (w.mean() for w in chainy(x))
        first = next(gen)
        rest = list(gen)
        if (m := x.shape[0]) > 1 and (y := x * m) is not None:
            total = total + y.sum()
        return total, first, torch.stack(rest), [*(a + b for a, b in zip(windows(x, 2), windows(x, 2)))]

    return f, (torch.randn(2, 6),)


@program
def match_and_try():
    class Pt:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a = a
            self.b = b

    class Guard:
        def __enter__(self):
            self.k = 2
            return self

        def __exit__(self, *e):
            return e[0] is KeyError

    def f(x):
        out = []
        for cmd in [("scale", 2), {"op": "shift", "by": 1}, Pt(x, 3), [1, 2, 3], "neg", 7]:
            match cmd:
                case ("scale", int(k)):
                    out.append(x * k)
                case {"op": "shift", "by": b, **rest}:
                    out.append(x + b)
                case Pt(a, b) if b > 2:
                    out.append(a * b)
                case [h, *t]:
                    out.append(x * h * len(t))
                case "neg" | "minus":
                    out.append(-x)
                case _:
                    out.append(x)
        try:
            {}["no"]
        except KeyError as e:
            out.append(x * 9)
        else:
            out.append(x)
        finally:
            out.append(x - 1)
        with Guard() as g:
            out.append(x * g.k)
            raise KeyError
        with torch.no_grad(), torch.inference_mode():
            out.append(x.sin())
        try:
            try:
                raise ValueError("bad %d" % 3)
            except ValueError as e:
                raise RuntimeError(str(e)) from e
        except RuntimeError as e:
            out.append(x * len(str(e)))
        return torch.stack(out)

    return f, (torch.randn(3),)


@program
def string_and_config():
    class Cfg:
        def __init__(self, **k):
            self.__dict__.update(k)

        def __getattr__(self, n):
            return None

    cfg = Cfg(hidden=8, act="silu", layers=["a", "b"])

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            for i in range(2):
                setattr(self, f"l{i}", nn.Linear(8, 8))
                self.register_buffer(f"b{i}", torch.randn(8))
            self.md = nn.ModuleDict({"x": nn.Linear(8, 8), "y": nn.ReLU()})
            self.pl = nn.ParameterList([torch.randn(8), torch.randn(8)])
            self.pd = nn.ParameterDict({"k": torch.randn(8)})

        def forward(self, x, **kw):
            for i in range(2):
                x = getattr(self, f"l{i}")(x) + getattr(self, f"b{i}")
            for k, m in self.md.items():
                x = m(x)
            for p in self.pl:
                x = x + p
            x = x + self.pd["k"] if "k" in self.pd else x
            act = {"silu": F.silu, "relu": F.relu}[cfg.act]
            x = act(x) if cfg.missing is None else x
            name = "_".join(cfg.layers).upper().split("_")[0].lower()
            info = {**{"n": name}, **kw}
            assert isinstance(x, torch.Tensor), f"bad {x.shape}"
            for n, p in self.named_parameters():
                if n.endswith("weight"):
                    x = x + p.mean()
            for m in self.modules():
                if isinstance(m, nn.Linear):
                    x = x * 1.0
            return x, info, list(self.state_dict())[:1], next(self.parameters()).dtype, self.training

    return M(), (torch.randn(2, 8),)


@program
def jit_paths():
    @torch.jit.script
    def act(x):
        return x * torch.sigmoid(x)

    @torch.jit.ignore
    def ig(x):
        return x + 1

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        @torch.jit.unused
        def u(self, x):
            return x * 2

        def forward(self, x):
            if torch.jit.is_scripting() or torch.jit.is_tracing():
                return x
            y = self.l(x)
            y = ig(y)
            y = self.u(y)
            t: torch.Tensor = torch.jit.annotate(torch.Tensor, y)
            assert torch.jit.isinstance(t, torch.Tensor) or True
            return act(y) + (0 if torch.onnx.is_in_onnx_export() else 1)

    return M(), (torch.randn(2, 4),)


@program
def warn_and_log():
    import logging, warnings

    log = logging.getLogger("x")

    def f(x):
        log.debug("shape %s", x.shape)
        y = x * 2
        if y.dim() > 5:
            warnings.warn("deep")
        log.info("x")
        print("seen", tuple(y.shape)) if False else None
        return y.relu()

    return f, (torch.randn(2, 4),)


@program
def early_exit():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.ls = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

        def forward(self, x):
            for l in reversed(self.ls):
                x = torch.relu(l(x))
            for i, l in enumerate(self.ls[:-1]):
                x = l(x)
            return x, len(self.ls), self.ls[-1](x)

    return M(), (torch.randn(2, 4),)


@program
def modules_in_forward():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x):
            y = nn.ReLU()(self.l(x))
            y = nn.Softmax(dim=1)(y)
            z = nn.CrossEntropyLoss()(y, torch.zeros(x.size(0), dtype=torch.long))
            return y, z, nn.MaxPool1d(2)(y.unsqueeze(0)), nn.Sequential(nn.Tanh(), nn.Flatten())(y)

    return M(), (torch.randn(2, 4),)


@program
def functional_call():
    m = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def f(x):
        p = {k: v * 2 for k, v in m.named_parameters()}
        return torch.func.functional_call(m, p, (x,))

    return f, (torch.randn(2, 4),)
