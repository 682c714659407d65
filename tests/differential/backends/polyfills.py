"""The Python forms of functions and iterators of C do what those do.

Usage: polyfills.py SOURCE…
"""

import builtins
import functools
import itertools
import operator
import sys

SPACE = {"__name__": "polyfills", "__builtins__": builtins}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), SPACE)
TABLE = SPACE["TABLE"]
FAILED, CASES = [], [0]


def outcome(function, arguments, keywords):
    try:
        result = function(*[one() if callable(one) and getattr(one, "fresh", False) else one for one in arguments], **keywords)
        if hasattr(result, "__next__"):
            result = list(itertools.islice(result, 40))
        return type(result).__name__, result
    except Exception as error:
        return type(error).__name__, str(error)


def check(function, *arguments, **keywords):
    CASES[0] += 1
    expected, got = outcome(function, arguments, keywords), outcome(TABLE[function], arguments, keywords)
    if expected != got:
        FAILED.append(f"{function} {arguments} {keywords}: {got}, not {expected}")


def odd(value):
    return value in (1, "a", 0)


SEQUENCES = ([], [1], [1, 2, 3], range(7), "abcd", (0, 2, 0))
for items in SEQUENCES:
    for function in (any, all, enumerate, itertools.chain, itertools.cycle, itertools.accumulate, itertools.pairwise, reversed,
                     itertools.permutations, itertools.product, itertools.zip_longest, zip, sorted, itertools.count):
        if function is not itertools.count:
            check(function, items)
    for function in (map, filter, itertools.filterfalse, itertools.takewhile, itertools.dropwhile):
        check(function, odd, items)
    for function in (filter, itertools.filterfalse):
        check(function, None, items)
    for count in (0, 1, 2, 5):
        for function in (itertools.combinations, itertools.permutations, itertools.combinations_with_replacement, itertools.islice):
            check(function, items, count)
        check(itertools.islice, items, count, count + 3)
        check(itertools.islice, items, 0, count, 2)
        check(itertools.product, items, repeat=min(count, 2))
        check(itertools.repeat, items, count)
    for other in ([], [1, 2], [1, 2, 3]):
        check(zip, items, other, strict=True)
        check(zip, other, items)
        check(zip, other, items, [1], strict=True)
        check(itertools.zip_longest, items, other, fillvalue=9)
        check(itertools.compress, items, other)
        check(map, lambda a, b: (a, b), items, other)
        check(itertools.chain, items, other)
    check(functools.reduce, operator.add, list(items))
    check(functools.reduce, lambda a, b: f"{a}{b}", items, "")
    check(itertools.accumulate, items, lambda a, b: f"{a}{b}")
    check(itertools.accumulate, items, initial="" if items == "abcd" else 5)
    check(sorted, items, reverse=True)
    check(sorted, items, key=str, reverse=True)
    check(sorted, items, key=lambda value: str(value) < "b")
    check(itertools.islice, items, None, None, 2)
    check(enumerate, items, 3)
    for bounds in ((1, 3), (0, 5, 2), (2,), (0,)):
        ours, theirs = iter(items), iter(items)
        CASES[0] += 1
        if list(TABLE[itertools.islice](ours, *bounds)) != list(itertools.islice(theirs, *bounds)) or list(ours) != list(theirs):
            FAILED.append(f"islice {items} {bounds} leaves something else behind")
check(itertools.count)
check(itertools.count, 3, 2)
check(itertools.starmap, pow, [(2, 3), (3, 2)])
check(sum, [1, 2, 3])
check(sum, [[1], [2]], [])
check(sum, [0.1] * 10, 0.5)
check(pow, 3, 4, 5)
check(pow, 3, 4)
check(abs, -3.5)
check(reversed, {"a": 1, "b": 2})
for name in ("lt", "le", "eq", "ne", "ge", "gt", "add", "and_", "floordiv", "lshift", "mod", "mul", "or_", "pow", "rshift", "sub",
             "truediv", "xor", "is_", "is_not", "iadd", "iand", "ifloordiv", "ilshift", "imod", "imul", "ior", "ipow", "irshift",
             "isub", "itruediv", "ixor"):
    for a, b in ((7, 2), (2, 7), (True, False)):
        check(getattr(operator, name), a, b)
for name in ("not_", "truth", "neg", "pos", "inv", "invert"):
    check(getattr(operator, name), 5)
for name, arguments in (("contains", ([1, 2], 2)), ("getitem", ([1, 2], 1)), ("concat", ([1], [2])), ("iconcat", ([1], [2]))):
    check(getattr(operator, name), *arguments)
for method, arguments, keywords in ((list.clear, (), {}), (list.extend, (iter("ab"),), {}), (list.remove, (2,), {}),
                                    (list.remove, (9,), {}), (list.reverse, (), {}), (list.sort, (), {}),
                                    (list.sort, (), {"reverse": True}), (list.sort, (), {"key": lambda value: -value})):
    CASES[0] += 1
    ours, theirs = [3, 1, 2, 2], [3, 1, 2, 2]
    arguments = tuple(list(one) if hasattr(one, "__next__") else one for one in arguments)
    expected = outcome(method, (theirs, *arguments), keywords), theirs
    if (outcome(TABLE[method], (ours, *arguments), keywords), ours) != expected:
        FAILED.append(f"{method}: {ours}, not {theirs}")
print("\n".join(FAILED), end="\n" if FAILED else "")
print(f"{CASES[0] - len(FAILED)} passed, {len(FAILED)} failed")
sys.exit(bool(FAILED))
