"""Programs whose calls are rehearsed, abandoned and made real (materialise.py)."""

SOURCES = {}
SOURCES["arguments"] = """
def g(log, a, b=2, *rest, c, d=4, **more):
    total = a + b + c + d
    for value in rest:
        total += value
        log.append(total)
    return total, rest, sorted(more.items())
def f(log):
    first = g(log, 1, c=3)
    second = g(log, 1, 2, 5, 6, c=3, z=9, d=0)
    third = g(log, *(1, 2), **{"c": 7, "k": 1})
    return first, second, third
"""
SOURCES["closures"] = """
def make(log):
    count = 0
    def bump(by):
        nonlocal count
        held = [by]
        def inner():
            nonlocal count
            count += held[0]
            return count, by
        escaped = inner
        log.append(escaped())
        by += 1
        return escaped
    return bump, lambda: count
def f(log):
    bump, read = make(log)
    kept = bump(3)
    log.append(read())
    return kept(), bump(10)(), read()
"""
SOURCES["methods"] = """
class Counter:
    def __init__(self): self.n = 0
    def add(self, by, *, times=1):
        for _ in range(times):
            self.n += by
        return self.report(prefix="n")
    def report(self, prefix): return f"{prefix}={self.n}"
def f(log):
    counter = Counter()
    log.append(counter.add(2, times=3))
    bound = counter.add
    return bound(by=1), bound(5, times=0), counter.n
"""
SOURCES["levels"] = """
import sys, inspect
def chain():
    frame, seen = sys._getframe(1), []
    for _ in range(4):
        seen.append((frame.f_code.co_name, frame.f_lineno, sorted(k for k in frame.f_locals if k not in ("log",))))
        frame = frame.f_back
    return seen
def low(log, x):
    y = x * 2
    log.append(chain()[:3])
    log.append([entry.function for entry in inspect.stack(0)[:3]])
    return y + 1
def middle(log, x):
    try:
        z = low(log, x + 1)
        log.append(z)
        return z * low(log, z)
    finally:
        log.append("finally")
def f(log):
    before = "set"
    return middle(log, 4), before
"""
SOURCES["raises"] = """
def low(log, x):
    log.append(x)
    return 10 // x
def middle(log, x):
    try:
        return low(log, x)
    finally:
        log.append("unwound")
def f(log):
    try:
        return middle(log, 5), middle(log, 0)
    except ZeroDivisionError as error:
        log.append(str(error))
        return low(log, 2)
"""
SOURCES["uncaught"] = """
def low(log, x):
    values = {"a": x}
    log.append(x)
    return values["b"]
def middle(log, x):
    y = x + 1
    return low(log, y)
def f(log):
    return middle(log, 1)
"""
SOURCES["in_handler"] = """
import sys
def low(log, x):
    log.append(repr(sys.exc_info()[1]))
    try:
        raise KeyError(x)
    except KeyError as error:
        log.append((repr(sys.exc_info()[1]), repr(error.__context__)))
        kept = error.args
    log.append(repr(sys.exc_info()[1]))
    return kept
def f(log):
    try:
        raise ValueError("outer")
    except ValueError:
        result = low(log, 3)
        log.append(repr(sys.exc_info()[1]))
    return result, repr(sys.exc_info()[1])
"""
SOURCES["recursive"] = """
def f(log, n=3):
    if n == 0:
        log.append("bottom")
        return 1
    with open("/dev/null"):
        below = f(log, n - 1)
    log.append(below)
    return below * n + len(list(map(str, range(n))))
"""
