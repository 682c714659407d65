"""Guard programs on real frames: every kind of guard, holding and failing, and what is skipped."""
import enum
import gc
import math
import sys
import weakref

import torch

from support import attach, check, finish, fits, guard, jit, why_not


def f(x, y=None):
    return x


# -- one source, one check
CASES = [
    ("is_none", guard("is_none", "L['x']"), [None], [0, False, ""]),
    ("not_none", guard("not_none", "L['x']"), [0], [None]),
    ("equals int", guard("equals", "L['x']", 3), [3], [True, 3.0, 4, "3", 2**70]),
    ("equals bool", guard("equals", "L['x']", True), [True], [1, False, None]),
    ("equals float", guard("equals", "L['x']", 0.0), [0.0], [-0.0, 0, math.nan]),
    ("equals nan", guard("equals", "L['x']", math.nan), [math.nan], [0.0]),
    ("equals str", guard("equals", "L['x']", "ab"), ["ab", "".join(["a", "b"])], ["abc", b"ab"]),
    ("equals tuple", guard("equals", "L['x']", (1, "a", None)), [(1, "a", None)],
     [(1, "a"), [1, "a", None], (1, "a", 0)]),
    ("equals dict", guard("equals", "L['x']", {"a": 1}), [{"a": 1}], [{"a": 2}, {}, {"b": 1}]),
    ("length", guard("length", "L['x']", 2), [[1, 2], (1, 2), {1: 1, 2: 2}, "ab", {1, 2}], [[1], 5]),
    ("truth", guard("truth", "L['x']", True), [1, [0], "a", 0.5], [0, [], None, object()]),
    ("dict_keys", guard("dict_keys", "L['x']", ["a", "b"]), [{"a": 1, "b": 2}],
     [{"b": 1, "a": 2}, {"a": 1}, 5]),
    ("dict_keys of words", guard("dict_keys", "L['x']", [(torch.device("cpu"), torch.float32), torch.strided]),
     [{(torch.device("cpu"), torch.float32): 1, torch.strided: 2}],
     [{(torch.device("cpu", 0), torch.float32): 1, torch.strided: 2}, {(torch.device("cpu"), torch.float64): 1, torch.strided: 2},
      {(torch.device("cpu"), torch.float32): 1, torch.sparse_coo: 2}, {("cpu", torch.float32): 1, torch.strided: 2}]),
    ("has_key", guard("has_key", "L['x']", "a"), [{"a": 1}, {"a"}], [{}, [1]]),
    ("lacks_key", guard("lacks_key", "L['x']", "a"), [{}, {"b"}], [{"a": 1}, 7]),
    ("has_attribute", guard("has_attribute", "L['x']", "real"), [5], ["a"]),
    ("lacks_attribute", guard("lacks_attribute", "L['x']", "real"), ["a"], [5]),
    # What is computed of numbers: exact ints and floats alone, as Python computes.
    ("computed int", guard("equals", "((L['x'] // 3) % 4)", 1), [5, 17, -8], [6, 5.0, True, "a", 2**70, None]),
    ("computed float", guard("equals", "(L['x'] / 2)", 2.5), [5, 5.0], [5.5, math.nan, "5"]),
    ("computed signs", guard("equals", "(-L['x'])", -0.0), [0.0], [-0.0, 0]),
    ("computed truth", guard("truth", "(L['x'] < 10)", True), [9, -9.5, -math.inf], [10, math.inf, math.nan, 2**70, "a"]),
    ("computed falsehood", guard("truth", "(L['x'] < 10)", False), [10, math.nan], [9, 2**70]),
    ("computed overflow", guard("type_is", "(L['x'] * 2)", live=int, expected="int"), [2**61], [2**62, 1.0]),
    ("computed kind", guard("type_is", "(2 ** L['x'])", live=float, expected="float"), [-1, 0.5], [1, 2]),
    ("what raises", guard("type_is", "(1 / L['x'])", live=float, expected="float"), [3, 0.5], [0, 0.0]),
    ("computed length", guard("truth", "(len(L['x']) >= 2)", True), [[1, 2], (1, 2, 3), "abc"], [[1], 5]),
    ("functions", guard("equals", "max(math.sqrt(L['x']), 2.0)", 3.0), [9, 9.0], [4, 16, -1, "a"]),
]
for name, row, good, bad in CASES:
    attach(f, [row])
    for value in good:
        check(f"{name}: {value!r} fits", fits(f, value), jit.last())
    for value in bad:
        check(f"{name}: {value!r} does not fit", not fits(f, value))


# -- objects
class Thing:
    shared = 7

    def __init__(self, **values):
        self.__dict__.update(values)


thing = Thing(a=1)
attach(f, [guard("identity", "L['x']", live=thing)])
check("identity holds", fits(f, thing))
check("identity fails", not fits(f, Thing(a=1)))
attach(f, [guard("type_is", "L['x']", live=Thing)])
check("type holds", fits(f, thing))
check("type fails", why_not(f, 3) == [("L['x']", "None", "int")], jit.last())
attach(f, [{"kind": "same_object", "source": "L['x']", "other": "L['y']"}])
check("same object", fits(f, thing, thing) and not fits(f, thing, 3))
attach(f, [{"kind": "distinct_object", "source": "L['x']", "other": "L['y']"}])
check("distinct object", not fits(f, thing, thing) and fits(f, thing, 3))

# -- nothing is kept alive, and a new object at the old address is not taken for the old one
dying = Thing()
attach(f, [guard("identity", "L['x']", live=dying)])
reference = weakref.ref(dying)
check("identity before", fits(f, dying))
del dying
gc.collect()
check("not kept alive", reference() is None)
check("gone for good", not any(fits(f, Thing()) for _ in range(20)) and not fits(f, None))


# -- attributes
class Slotted:
    __slots__ = ("a",)


class Computed:
    @property
    def a(self):
        raise AssertionError("a guard ran Python code")


attach(f, [guard("equals", "L['x'].a", 1)])
check("attribute of a fresh instance", fits(f, Thing(a=1)) and not fits(f, Thing(a=2)))
slotted = Slotted()
slotted.a = 1
check("slot", fits(f, slotted))
check("unset slot", not fits(f, Slotted()))
check("property is not run", not fits(f, Computed()))
check("missing attribute", why_not(f, 3) == [("L['x'].a", "1", "nothing there")], jit.last())
inline = Thing.__new__(Thing)
inline.a = 1
check("inline values", fits(f, inline))
inline.a = 2
check("inline values changed", not fits(f, inline))
attach(f, [guard("equals", "L['x'].shared", 7)])
check("class attribute", fits(f, thing))
Thing.shared = 8
check("class attribute changed", not fits(f, thing))
Thing.shared = 7
check("class attribute back", fits(f, thing))
thing.shared = 9
check("instance hides class", not fits(f, thing))
del thing.shared

# -- items of dicts that have tensors for their keys: the tensor of the call is looked up, in one tree and in two
first, second = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
same = torch.nn.Parameter(torch.ones(2))
state = {first: {"count": 1}, second: {"count": 2}}
keeper = Thing(state=state, rows=[first, second])
attach(f, [guard("equals", "L['x'].state[L['x'].rows[0]]['count']", 1),
           guard("equals", "L['x'].state[L['x'].rows[1]]['count']", 2)])
for _ in range(3):
    check("items of tensors", fits(f, keeper), jit.last())
keeper.rows.reverse()
check("other tensors", not fits(f, keeper))
keeper.rows.reverse()
check("the tensors back", fits(f, keeper) and fits(f, keeper))
keeper.rows[0] = same
check("an equal tensor", not fits(f, keeper) and why_not(f, keeper))
keeper.rows[0] = first
state[first] = {"count": 3}
check("another item", why_not(f, keeper) == [("L['x'].state[L['x'].rows[0]]['count']", "1", "3")], jit.last())
state[first]["count"] = 1
check("the item back", fits(f, keeper) and fits(f, keeper))
kept = state.pop(second)
check("no item", not fits(f, keeper) and why_not(f, keeper))
state[second] = kept
keeper.rows[1] = 3
check("no tensor", not fits(f, keeper) and why_not(f, keeper))
keeper.rows.clear()
check("no key", not fits(f, keeper) and why_not(f, keeper))
attach(f, [guard("equals", "L['x'][L['y']]['count']", 1)])
for _ in range(3):
    check("a tensor of another tree", fits(f, state, first) and not fits(f, state, second), jit.last())
check("nothing to look into", not fits(f, {}, first) and not fits(f, 3, first) and why_not(f, {}, first))


# -- a small tree
inner = Thing(flag=True, size=3)
outer = Thing(inner=inner, table={"k": 5, "j": 2})
attach(f, [
    guard("equals", "L['x'].inner.flag", True),
    guard("equals", "L['x'].inner.size", 3),
    guard("equals", "L['x'].table['k']", 5),
    guard("equals", "L['x'].table['j']", 2),
])
for _ in range(3):
    check("tree holds", fits(f, outer))
inner.size = 4
check("leaf changed", why_not(f, outer) == [("L['x'].inner.size", "3", "4")], jit.last())
inner.size = 3
check("leaf back", fits(f, outer))
outer.table["k"] = 6
check("dict item changed", not fits(f, outer))
outer.table["k"] = 5
check("dict item back", fits(f, outer) and fits(f, outer))
outer.inner = Thing(flag=False, size=3)
check("object replaced", not fits(f, outer))
outer.inner = inner
check("object back", fits(f, outer))
del outer.table["j"]
check("key gone", not fits(f, outer))
outer.table = {"k": 5, "j": 2}
check("new table", fits(f, outer))


class Other:
    flag = False


inner.__class__ = Other
attach(f, [guard("type_is", "L['x'].inner", live=Thing), guard("equals", "L['x'].inner.size", 3)])
check("class of a leaf", not fits(f, outer))
inner.__class__ = Thing
check("class of a leaf back", fits(f, outer) and fits(f, outer))
inner.__class__ = Other
check("class changed behind the dict", not fits(f, outer))
inner.__class__ = Thing

# -- globals, builtins, modules, cells
LIMIT = 10
attach(f, [guard("equals", "G['LIMIT']", 10), guard("identity", "B['len']", live=len),
           guard("identity", "M['sys'].getrefcount", live=sys.getrefcount)])
check("globals", fits(f, 0))
LIMIT = 11
check("global changed", why_not(f, 0) == [("G['LIMIT']", "10", "11")], jit.last())


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


# A metaclass with a __getattr__, and members that nothing can refer to weakly.
attach(f, [guard("identity", "G['Level'].HIGH", live=Level.HIGH), guard("identity", "L['x']", live=Level.HIGH)])
check("member of an enum", fits(f, Level.HIGH))
check("another member of an enum", not fits(f, Level.LOW))
check("the number that a member of an enum stands for", not fits(f, 2))
type.__setattr__(Level, "HIGH", Level.LOW)
check("member of an enum changed", not fits(f, Level.HIGH))


def make(c):
    def g(x):
        return x, c

    def change(value):
        nonlocal c
        c = value

    return g, change


g, change = make(5)
attach(g, [guard("equals", "C['c']", 5)])
check("free variable", fits(g, 0))
change(6)
check("free variable changed", not fits(g, 0))


def h(x):
    return lambda: x


attach(h, [guard("equals", "C['x']", 5)])
check("argument that becomes a cell", fits(h, 5) and not fits(h, 6))


def with_default(a, b=3):
    return a


attach(f, [guard("identity", "L['x'].__code__", live=with_default.__code__),
           guard("equals", "L['x'].__defaults__[0]", 3)])
check("function", fits(f, with_default))
with_default.__defaults__ = (4,)
check("defaults changed", not fits(f, with_default))


# -- tensors
def t(x, y=None):
    return x


attach(t, [guard("tensor", "L['x']", tensor=("float32", [4, 10]))])
check("tensor", fits(t, torch.zeros(4, 10)))
for name, other in {
    "size": torch.zeros(5, 10), "rank": torch.zeros(4), "dtype": torch.zeros(4, 10).double(),
    "stride": torch.zeros(10, 4).t(), "grad": torch.zeros(4, 10, requires_grad=True),
    "no tensor": [1], "none": None,
}.items():
    check(f"tensor: {name}", not fits(t, other))
check("tensor explained", why_not(t, torch.zeros(5, 10))[0][1:] ==
      ("float32[4, 10]", "float32[5, 10] strides [10, 1]"), jit.last())

SYMBOLS = [("s0", "L['x'].size(0)", 2), ("s1", "L['y'].size(0)", 2)]
two = [guard("tensor", "L['x']", tensor=("float32", ["s0", 3])),
       guard("tensor", "L['y']", tensor=("float32", ["s1", "s0"]))]
attach(t, two, symbols=SYMBOLS)
check("symbols bound", fits(t, torch.zeros(4, 3), torch.zeros(7, 4)))
check("duck size", not fits(t, torch.zeros(4, 3), torch.zeros(7, 5)))
check("range", not fits(t, torch.zeros(1, 3), torch.zeros(7, 1)))
attach(t, two + [guard("condition", condition="s0 < s1"), guard("condition", condition="s1 != 10")],
       symbols=SYMBOLS)
check("conditions hold", fits(t, torch.zeros(4, 3), torch.zeros(7, 4)))
check("condition fails", why_not(t, torch.zeros(8, 3), torch.zeros(7, 8)) ==
      [("", "s0 < s1", "s0 = 8, s1 = 7")], jit.last())
check("other condition fails", not fits(t, torch.zeros(8, 3), torch.zeros(10, 8)))
attach(t, [guard("tensor", "L['x']", tensor=("float32", ["2*s0+1"]))],
       symbols=[("s0", "L['y']", 0)])
check("integer symbol", fits(t, torch.zeros(7), 3) and not fits(t, torch.zeros(8), 3))
attach(t, [guard("type_is", "L['x'].size(1)", live=int), guard("truth", "L['x'].size(0)", True),
           guard("truth", "L['x'].size(1)", False)])
check("sizes are integers", fits(t, torch.ones(2, 0), [1]) and not fits(t, torch.ones(0, 0), [1]) and
      not fits(t, torch.ones(2, 1), [1]))
check("and told as such", why_not(t, torch.ones(2, 1), [1]) == [("L['x'].size(1)", "False", "1")], jit.last())
attach(t, [guard("equals", "L['x'].size(1)", 3), guard("equals", "len(L['y'])", 2)])
check("size and length", fits(t, torch.zeros(2, 3), "ab") and not fits(t, torch.zeros(2, 4), "ab")
      and not fits(t, torch.zeros(2, 3), "abc") and not fits(t, torch.zeros(2), "ab"))
base = torch.zeros(10)
attach(t, [{"kind": "no_overlap", "source": "L['x']", "other": "L['y']"}])
check("overlap", fits(t, base[:5], base[5:]) and not fits(t, base[:6], base[5:]))

attach(f, [guard("grad_mode", expected=True)])
check("grad mode on", fits(f, 0))
with torch.no_grad():
    check("grad mode off", why_not(f, 0) == [("", "True", "False")], jit.last())
attach(f, [guard("is_compiling", expected=False)])
check("outside of torch.compile", fits(f, 0))
attach(f, [guard("is_compiling", expected=True)])
check("not inside of torch.compile", why_not(f, 0) == [("", "True", "False")], jit.last())

# -- a tensor whose data is replaced behind an unchanged dict
layer = torch.nn.Linear(3, 4)
attach(f, [guard("type_is", "L['x']", live=torch.nn.Linear),
           guard("tensor", "L['x']._parameters['weight']", tensor=("float32", [4, 3])),
           ], inputs=["L['x']._parameters['weight']"])
layer.weight.requires_grad_(False)
check("parameter", fits(f, layer) and fits(f, layer))
layer.weight.data = torch.zeros(5, 3)
check("parameter's data replaced", not fits(f, layer))
layer.weight.data = torch.zeros(4, 3)
check("parameter back", fits(f, layer))
layer.weight = torch.nn.Parameter(torch.zeros(6, 3), requires_grad=False)
check("parameter replaced", not fits(f, layer))

jit.detach()
check("no error is left", sys.exc_info() == (None, None, None))
finish()
