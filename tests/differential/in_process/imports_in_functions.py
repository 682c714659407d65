"""Imports in functions: what modules hold changes between calls, whichever way a function came by them. The modules
are made here; one is imported while the function runs."""

import sys
import types

import torch

torch.set_grad_enabled(False)
ones = torch.ones(2, dtype=torch.float64)


def made_module(name, code):
    module = types.ModuleType(name)
    module.__package__ = name.rpartition(".")[0]
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    exec(code, module.__dict__)
    return module


package = made_module("imported_here", "VERSION = 1\n__path__ = []\n")
inner = made_module("imported_here.inner", "__path__ = []\n")
settings = made_module(
    "imported_here.settings",
    """
NUMBER = 1
SIZES = [1]
OPTIONS = {"a": 1}
class Kept:
    value = 1
kept = Kept()
kept.other = 1
""",
)
beside = made_module("imported_here.inner.beside", "FACTOR = 1\n")
relative = made_module(
    "imported_here.inner.relative",
    """
def relative(x):
    from ..settings import NUMBER, SIZES
    from .. import settings
    from . import beside
    from .beside import FACTOR as factor
    import imported_here.settings as again
    import imported_here.inner
    return (x * NUMBER + len(SIZES) + settings.OPTIONS["a"] + beside.FACTOR + again.kept.other + factor
            + imported_here.VERSION + again.Kept.value + imported_here.inner.beside.FACTOR)
""",
)


def absolute(x):
    import imported_here.inner.beside
    import imported_here.settings as again
    from imported_here.inner import beside
    from imported_here.settings import NUMBER, OPTIONS, SIZES

    return x * NUMBER + len(SIZES) + OPTIONS["a"] + again.kept.other + imported_here.VERSION + beside.FACTOR


def of_torch(x):
    import torch.nn.functional as F
    from torch.nn import functional

    return F.relu(x - 2) + functional.relu(x)


def changes():
    yield "NUMBER", lambda: setattr(settings, "NUMBER", settings.NUMBER + 1)
    yield "SIZES", lambda: settings.SIZES.append(1)
    yield "OPTIONS", lambda: settings.OPTIONS.update(a=settings.OPTIONS["a"] + 10)
    yield "kept", lambda: setattr(settings.kept, "other", settings.kept.other + 3)
    yield "beside", lambda: setattr(beside, "FACTOR", beside.FACTOR + 7)
    yield "VERSION", lambda: setattr(package, "VERSION", package.VERSION + 100)
    yield "Kept", lambda: setattr(settings.Kept, "value", settings.Kept.value + 1000)
    yield "another module", lambda: sys.modules.update({"imported_here.settings": beside})
    yield "the old one", lambda: sys.modules.update({"imported_here.settings": settings})


for function in (absolute, relative.relative):
    for name, change in changes():
        for _ in range(2):
            try:
                print(function.__name__, function(ones).tolist())
            except ImportError as error:
                print(function.__name__, type(error).__name__)
        print(name)
        change()

relu = torch.nn.functional.relu
for patched in (relu, lambda x: x * 3, relu):
    torch.nn.functional.relu = patched
    print("torch", of_torch(ones).tolist(), of_torch(ones).tolist())


class OnDemand(types.ModuleType):
    count = 0

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        OnDemand.count += 1
        return OnDemand.count


sys.modules["imported_here.lazy"] = OnDemand("imported_here.lazy")


def on_demand(x):
    from imported_here.lazy import number

    return x + number


def found_late(x):
    from imported_here.settings import LATE

    return x + LATE


for _ in range(3):
    print("on demand", on_demand(ones).tolist())
for _ in range(3):
    try:
        print("late", found_late(ones).tolist())
    except ImportError:
        print("not there")
        settings.LATE = 5
for name in [name for name in sys.modules if name.startswith("imported_here")]:
    del sys.modules[name]
