"""Recipes and restore records on real frames: the objects behind a segment, in program order."""
import torch

from support import check, finish, jit


def run(function, spec, *arguments, outputs=()):
    jit.attach(function.__code__, {"guards": [], **spec}, outputs)
    try:
        return function(*arguments)
    finally:
        jit.detach()


def f(x, y=None):
    x.the_body_ran()
    return None


def result_of(recipe, *arguments, **more):
    outputs = more.pop("outputs", ())
    return run(f, {"restore": [("result", recipe)], **more}, *arguments, outputs=outputs)


X = ("source", "L['x']")
check("source", result_of(X, 5) == 5)
check("a size is a source too", result_of(("source", "L['x'].size(0)"), torch.ones(4, 2)) == 4)
check("literal", result_of(("literal", (1, "a", None)), 0) == (1, "a", None))
check("live", result_of(("live", len), 0) is len)
tensor = torch.ones(3)
check("output", result_of(("output", 0), 0, outputs=[tensor]) is tensor)
check("symbol", result_of(("symbol", "2*s0+1"), torch.ones(4, 2), symbols=[
    ("s0", "L['x'].size(0)", 0)]) == 9)
made = result_of(("tuple", X, ("list", X, ("literal", 1)), ("dict", ("literal", "k"), X)), 5)
check("containers", made == (5, [5, 1], {"k": 5}), made)
check("set", result_of(("set", X), 5) == {5})
check("frozenset", result_of(("frozenset", X), 5) == frozenset({5}))
check("slice", result_of(("slice", X, ("literal", None), ("literal", 2)), 5) == slice(5, None, 2))
first = result_of(("literal", [1, [2]]), 0)
check("mutable literals are made anew", first == [1, [2]])
shared = result_of(("tuple", ("object", 0), ("object", 0)), 0, objects=[("list", X)])
check("shared", shared[0] is shared[1] and shared[0] == [0])
loop = result_of(("object", 0), 0, objects=[("list", ("object", 0), X)])
check("cyclic", loop[0] is loop and loop[1] == 0)


class Thing:
    def __init__(self):
        raise AssertionError("__init__ ran")

    def __setattr__(self, name, value):
        raise AssertionError("__setattr__ ran")

    def method(self):
        return self.a


thing = result_of(("instance", ("live", Thing), ("literal", "a"), X), 5)
check("instance", type(thing) is Thing and thing.a == 5)
bound = result_of(("method", ("live", Thing.method), X), thing)
check("method", bound() == 5 and bound.__self__ is thing)


def outer(c):
    def inner(d=1):
        return c + d
    return inner


code = next(item for item in outer.__code__.co_consts if hasattr(item, "co_code"))
inner = result_of(("function", ("live", code), ("source", "L['y']"), ("literal", "name"),
                   ("literal", (4,)), ("literal", None), ("literal", None),
                   ("tuple", ("cell", X))), 5, globals())
check("function", inner() == 9 and inner.__qualname__ == "name")


# -- records: the frame goes on behind the segment
def offset_of(function, line):
    """The unit of the first instruction of a line, counted from the def."""
    import dis
    wanted = function.__code__.co_firstlineno + line
    return next(i.offset for i in dis.get_instructions(function) if i.starts_line == wanted) // 2


def body(x, y):
    z = x.missing
    w = z + y
    return z, w


at = offset_of(body, 2)
got = run(body, {"end": at, "restore": [("local", "z", ("literal", 10))]}, 1, 2)
check("goes on", got == (10, 12), got)


def with_cells(x):
    total = x.missing

    def read():
        return total, x
    return read


at = offset_of(with_cells, 3)
got = run(with_cells, {"end": at, "restore": [("cell", "total", ("literal", 7))]}, 3)
check("cells are made", got() == (7, 3))


def with_free(c):
    def g(x):
        a = x.missing
        return a, c
    return g


g = with_free(8)
got = run(g, {"end": offset_of(g, 2), "restore": [("local", "a", ("source", "C['c']"))]}, 0)
check("free variables are there", got == (8, 8))


def on_stack(x):
    return x.missing + 1


import dis  # noqa: E402
add = next(i.offset for i in dis.get_instructions(on_stack) if i.opname == "LOAD_CONST") // 2
got = run(on_stack, {"end": add, "restore": [("stack", 0, ("literal", 41))]}, 0)
check("operand stack", got == 42)

# -- effects
COUNT = 0
log = []


class Plain:
    pass


plain = Plain()
table = {}
run(f, {"restore": [
    ("set_global", "COUNT", ("literal", 3)),
    ("append", ("source", "L['x']"), ("literal", 1)),
    ("append", ("source", "L['x']"), ("literal", 2)),
    ("set_attribute", ("source", "L['y']"), "a", ("literal", 5)),
    ("result", ("literal", None))]}, log, plain)
check("global", COUNT == 3)
check("append in order", log == [1, 2])
check("attribute", plain.a == 5)
run(f, {"restore": [("set_item", ("source", "L['x']"), ("literal", "k"), ("literal", 1)),
                    ("contents", ("source", "L['y']"), ("list", ("literal", 9))),
                    ("result", ("literal", None))]}, table, log)
check("item", table == {"k": 1})
check("contents", log == [9])
thing.__dict__["a"] = 1
run(f, {"restore": [("set_attribute", ("source", "L['x']"), "a", ("literal", 6)),
                    ("result", ("literal", None))]}, thing)
check("attribute past __setattr__", thing.a == 6)
run(f, {"restore": [("delete_attribute", ("source", "L['x']"), "a"),
                    ("result", ("literal", None))]}, plain)
check("attribute deleted", not hasattr(plain, "a"))
try:
    run(f, {"restore": [("delete_item", ("source", "L['x']"), ("literal", "absent")),
                        ("result", ("literal", None))]}, {})
    check("effect raises", False)
except KeyError:
    check("effect raises", True)
except AssertionError:
    check("effect raises", False)
finish()
