"""Small functions that between them use every kind of instruction, and how to run each of them.

A case is (name, source, entry, target): `source` is compiled anew for every run that wants cold code,
`entry(namespace, log)` runs it, `target` names the functions whose frames the harness takes over.
"""

SOURCES = {}


def case(target, entry="run(log)"):
    def register(function):
        SOURCES[function.__name__] = (function.__doc__, entry, target)

    return register


@case("f")
def nested_loops():
    """
def f(log, n):
    total = 0
    for i in range(n):
        for j, (a, b) in enumerate(zip(range(i), "abc")):
            if j == 2:
                continue
            total += a * (j + 1)
            log.append((i, j, b))
            if total > 12:
                break
        else:
            log.append("else")
    return total, [x * y for x in range(3) for y in range(x)], {k: v for k, v in zip("ab", (1, 2))}, {c for c in "aab"}
def run(log):
    return [f(log, n) for n in (0, 3, 6)]
"""


@case("f")
def finally_paths():
    """
def f(log, what):
    try:
        try:
            log.append("in")
            if what == 1:
                return "early"
            if what == 2:
                raise ValueError("two")
            if what == 3:
                1 / 0
        except ZeroDivisionError as error:
            log.append(repr(error))
            if what == 3:
                raise KeyError("three") from error
        else:
            log.append("else")
        finally:
            log.append("finally")
            if what == 4:
                return "override"
    except ValueError:
        log.append("caught")
        try:
            raise
        except ValueError as again:
            log.append(("again", again.args))
    return what
def run(log):
    results = []
    for what in range(5):
        try:
            results.append(f(log, what))
        except KeyError as error:
            results.append((repr(error), repr(error.__cause__), repr(error.__context__)))
    return results
"""


@case("f")
def uncaught():
    """
def f(log, depth):
    try:
        if depth == 0:
            {}["missing"]
        return f(log, depth - 1)
    finally:
        log.append(depth)
def run(log):
    return f(log, 3)
"""


@case("f")
def context_managers():
    """
class Manager:
    def __init__(self, log, name, swallow): self.log, self.name, self.swallow = log, name, swallow
    def __enter__(self):
        self.log.append(("enter", self.name))
        return self
    def __exit__(self, *what):
        self.log.append(("exit", self.name, what[0]))
        return self.swallow
def f(log, fail, swallow):
    with Manager(log, "a", swallow) as a, Manager(log, "b", False):
        log.append(a.name)
        for i in range(3):
            with Manager(log, i, i == 1):
                if i == fail:
                    raise OSError(i)
                if i == 2:
                    return "left"
    return "after"
def run(log):
    return [f(log, fail, True) for fail in (0, 1, 9)] + [f(log, 0, False)]
"""


@case("f")
def closures():
    """
def f(log, a, *rest, scale=2, **more):
    count = 0
    def add(value):
        nonlocal count
        count += value * scale
        return lambda: (count, a, value)
    late = None
    kept = [add(v) for v in rest]
    late = add(more.get("z", 5))
    log.append(count)
    del a
    try:
        return late()
    except NameError as error:
        return str(error), count, sorted(more)
def run(log):
    return f(log, 1, 2, 3, scale=4, z=7), f(log, 0)
"""


@case("f")
def unbound():
    """
def f(log, x):
    if x:
        y = 1
    try:
        return y
    except UnboundLocalError as error:
        log.append(str(error))
    try:
        return nowhere
    except NameError as error:
        log.append((str(error), error.name))
    try:
        a, b = x, *[1, 2]
    except ValueError as error:
        log.append(str(error))
    try:
        a, *b, c = ()
    except ValueError as error:
        log.append(str(error))
    try:
        for a in 5: pass
    except TypeError as error:
        log.append(str(error))
    try:
        raise 5
    except TypeError as error:
        log.append(str(error))
    try:
        raise ValueError from 5
    except TypeError as error:
        log.append(str(error))
    try:
        print(**{1: 2})
    except TypeError as error:
        log.append(str(error))
    try:
        try:
            1 / 0
        except 5:
            pass
    except TypeError as error:
        log.append((str(error), repr(error.__context__)))
    del y
def run(log):
    return f(log, 1), f(log, 0)
"""


@case("f")
def containers():
    """
def f(log, items, mapping):
    first, *middle, last = items
    (a, b), c = [1, 2], 3
    both = [*items, *middle, a]
    text = f"{a!r:>4}|{c:03}|{last}|{items!s}"
    table = {**mapping, "k": first, 1: b}
    table["new"] = both[1:-1:2]
    del table["k"]
    both[0] += 10
    several = {*items, c}
    log.append((text, first, middle, not a, -b, ~c, +c, a is b, 3 in several, a < b <= c, a if c else b))
    return both, sorted(map(str, table.items())), (a or b) and (0 or c), (lambda *p, q=1, **r: (p, q, r))(*items, q=2, **mapping)
def run(log):
    return f(log, [1, 2, 3, 4], {"m": 1}), f(log, (7, 8), {})
"""


@case("f")
def classes():
    """
def f(log, base):
    class Made(base):
        attribute: int = 3
        log.append("body")
        def method(self, value=1):
            return super().__repr__()[:1], self.attribute + value, __class__ is Made
        @property
        def shown(self):
            return self.attribute
        @staticmethod
        def fixed(): return 9
        def __getitem__(self, key): return key
        def __matmul__(self, other): return "matmul"
    made = Made()
    made.attribute = 5
    made.other = 1
    del made.other
    bound = made.method
    log.append((made.method(), bound(value=4), made.shown, Made.fixed(), made[1:2], made @ 1, hasattr(made, "other")))
    assert made.attribute, "never"
    try:
        assert not made.attribute, "always"
    except AssertionError as error:
        return str(error), Made.__annotations__
def run(log):
    return f(log, object)
"""


@case("f")
def matching():
    """
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
def f(log, subject):
    match subject:
        case 0 | 1: return "small"
        case [first, *rest] if rest: return first, rest
        case {"key": value, **others}: return value, others
        case Point(x=0, y=y): return "axis", y
        case Point(a, b): return a, b
        case str() as text: return text.upper()
        case None: return "none"
        case _: return "other"
def run(log):
    return [f(log, s) for s in (0, [1, 2], [1], {"key": 1, "z": 2}, Point(0, 4), Point(1, 2), "abc", None, 2.5)]
"""


@case("f")
def imports():
    """
def f(log):
    import os.path as path
    from json import dumps, loads as parse
    import collections.abc
    try:
        from json import nothing_of_the_kind
    except ImportError as error:
        log.append(str(error).split("(")[0])
    try:
        import no_such_module_anywhere
    except ModuleNotFoundError as error:
        log.append(str(error))
    global shared
    shared = dumps({"a": 1})
    kept = shared
    del shared
    return path.join("a", "b"), parse(kept), collections.abc.Sized.__name__
def run(log):
    return f(log)
"""


@case("f")
def exception_groups():
    """
def f(log, errors):
    try:
        raise ExceptionGroup("several", errors)
    except* ValueError as group:
        log.append(("values", [e.args for e in group.exceptions]))
    except* (TypeError, KeyError) as group:
        log.append(("others", [type(e).__name__ for e in group.exceptions]))
        raise OSError("in handler")
    return "done"
def run(log):
    results = []
    for errors in ([ValueError(1)], [ValueError(1), TypeError(2)], [LookupError(3)]):
        try:
            results.append(f(log, errors))
        except BaseException as error:
            results.append((type(error).__name__, str(error), [repr(e) for e in getattr(error, "exceptions", ())]))
    return results
"""


@case("f")
def first_local_rewritten():
    """
import sys
class Value:
    alive = 0
    def __init__(self, name):
        self.name, self.parts = name, [name] * 4
        Value.alive += 1
    def __del__(self):
        Value.alive -= 1
class Writer:
    def wrote(self, name, result):
        sys._getframe(2).f_locals["x"] = Value(name)
        return result
    def __getattr__(self, name): return self.wrote(name, self)
    def __call__(self, *operands, **named): return self.wrote("call", len(operands))
    def __add__(self, other): return self.wrote("add", self)
    def __neg__(self): return self.wrote("neg", self)
    def __lt__(self, other): return self.wrote("lt", False)
    def __getitem__(self, key): return self.wrote("getitem", self)
    def __setitem__(self, key, value): self.wrote("setitem", None)
    def __contains__(self, item): return self.wrote("contains", True)
    def __bool__(self): return self.wrote("bool", True)
    def __iter__(self): return self.wrote("iter", self)
    def __next__(self): return self.wrote("next", 7)
    def __enter__(self): return self.wrote("enter", self)
    def __exit__(self, *error): return self.wrote("exit", True)
    def __format__(self, how): return self.wrote("format", how)
class Pair(Writer):
    left = 3
    def __next__(self):
        self.left -= 1
        if self.left == 0: raise StopIteration
        return self.wrote("pair", self.left)
def check(log, x):
    log.append((x.name, x.parts, [[k] * k for k in range(8)][3]))
def f(x, log, w, kept):
    check(log, x)
    w.name; check(log, x)
    w(1, 2); check(log, x)
    w(*(1, 2), **{}); check(log, x)
    w(a=1); check(log, x)
    w + 1; check(log, x)
    -w; check(log, x)
    w < 1; check(log, x)
    w[0]; check(log, x)
    w[0] = 1; check(log, x)
    1 in w; check(log, x)
    if w: check(log, x)
    a, b = Pair(); check(log, x)
    *c, d = Pair(); check(log, x)
    [*Pair()]; check(log, x)
    for i in w:
        check(log, x)
        break
    with w as entered:
        check(log, x)
        raise KeyError(1)
    check(log, x)
    f"{w:one}"; check(log, x)
    del x
    w.again
    try:
        check(log, x)
    except UnboundLocalError:
        log.append("unbound")
    x = w(); log.append(x)
    kept.append(lambda: a)
    return c, d, f"{w}"
def run(log):
    results = [f(Value("first"), log, Writer(), []) for _ in range(2)]
    return results, Value.alive
"""


@case("f")
def looked_at():
    """
import sys, traceback, inspect, warnings
def spy(log):
    frame = sys._getframe(1)
    log.append((frame.f_code.co_name, frame.f_lineno, frame.f_lasti, sorted(k for k in frame.f_locals if k != "log")))
    log.append([entry.lineno for entry in traceback.extract_stack()[-2:]])
    log.append(inspect.stack(0)[1].function)
    return frame
def f(log, x):
    y = x + 1
    kept = spy(log)
    if spy(log) is kept:
        log.append("same")
    z = [spy(log).f_lineno, y]
    log.append(sorted(locals()) [:2])
    return kept.f_locals["x"], kept.f_lineno
def run(log):
    return f(log, 3)
"""


BIG = "\ndef f(log, n):\n    x = n\n" + "".join(
    f"    if x == {i}:\n        x += 1\n        log.append({i + 1000})\n" for i in range(70)) + """
    while x > 0:
        x -= 30
        if x % 7 == 0:
            break
    return x
def run(log):
    return f(log, 3), f(log, 69)
"""
SOURCES["big"] = (BIG, "run(log)", "f")


@case("g")
def generators():
    """
def inner(log, n):
    try:
        for i in range(n):
            got = yield i
            log.append(("inner", got))
    except KeyError as error:
        log.append(repr(error))
        yield "recovered"
    finally:
        log.append("inner done")
    return "inner result"
def g(log, n):
    log.append("start")
    try:
        result = yield from inner(log, n)
        log.append(result)
        x = yield (yield "nested")
        log.append(x)
    except ValueError as error:
        log.append(repr(error))
        yield "handled"
    with open("/dev/null") as file:
        yield file.closed
    return "result"
def drive(log, script):
    it = g(log, 2)
    results = []
    for action, value in script:
        try:
            if action == "next": results.append(next(it))
            elif action == "send": results.append(it.send(value))
            elif action == "throw": results.append(it.throw(value))
            elif action == "close": results.append(it.close())
            results.append((it.gi_running, it.gi_frame and it.gi_frame.f_lineno, it.gi_yieldfrom is not None))
        except StopIteration as stop: results.append(("stop", stop.value))
        except Exception as error: results.append((repr(error), repr(error.__context__)))
    return results
def run(log):
    n = ("next", None)
    scripts = [[n] * 8, [n, ("send", 1), ("send", 2), ("send", 3), ("send", 4), n, n],
               [n, ("throw", KeyError(1)), n, n, n, n], [n, ("throw", ValueError(2)), n, n],
               [n, n, ("close", None), n], [("close", None), n], [("throw", OSError(3)), n],
               [n, n, n, ("throw", ValueError(4)), n, n], [n, ("throw", LookupError(5)), n]]
    return [drive(log, script) for script in scripts], list(g(log, 1)), sum(len(str(x)) for x in g(log, 3))
"""


SOURCES["yield_from_target"] = (SOURCES["generators"][0], "run(log)", "inner")


@case("c")
def coroutines():
    """
import asyncio
class Stepped:
    def __init__(self, n): self.n = n
    def __await__(self):
        for i in range(self.n):
            yield
        return self.n
class Manager:
    async def __aenter__(self): return await Stepped(1)
    async def __aexit__(self, *what): return what[0] is KeyError
async def numbers(log, n):
    try:
        for i in range(n):
            await Stepped(0)
            yield i
    finally:
        log.append("numbers done")
async def helper(log, x):
    await asyncio.sleep(0)
    if x == 2: raise ValueError(x)
    return x
async def c(log):
    total = await Stepped(2)
    async for i in numbers(log, 3):
        total += i
        if i == 1: continue
    async with Manager() as m:
        log.append(m)
        raise KeyError("swallowed")
    try:
        await helper(log, 2)
    except ValueError as error:
        log.append(repr(error))
    results = await asyncio.gather(helper(log, 1), helper(log, 3), helper(log, 2), return_exceptions=True)
    listed = [i async for i in numbers(log, 2)]
    return total, [repr(r) for r in results], listed, [await helper(log, k) for k in (0, 1)]
def run(log):
    return asyncio.run(c(log))
"""


SOURCES["async_generator"] = (SOURCES["coroutines"][0], "run(log)", "numbers")
SOURCES["awaited"] = (SOURCES["coroutines"][0], "run(log)", "helper")
