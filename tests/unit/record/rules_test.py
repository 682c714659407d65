"""What a rule of capture promises, rule by rule, on real operands and without a program around it.

A rule that answers yes and gives a constant has guarded all that decided it: on any other operands for which those
guards hold, CPython gives the same. One that answers no says why, and has moved no shadow.
"""
import collections
import dis
import enum
import fractions
import functools
import itertools
import sys
import types

sys.path.insert(0, sys.argv[1])
import penstock_record_test as record  # noqa: E402


class Odd(int):
    def __add__(self, other):
        return "odd"

    def __eq__(self, other):
        return "odd"

    __hash__ = int.__hash__

    def __bool__(self):
        return False


class Everything(dict):
    def __contains__(self, key):
        return True


class Narrow(set):
    def __contains__(self, key):
        return key == 2


class Chain(list):
    """A list in all but its name."""


class Asked:
    def __init__(self, answer):
        self.answer = answer

    def __bool__(self):
        return self.answer


class Sized:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


class Measured(list):
    def __len__(self):
        return 7


class Backwards(list):
    def __iter__(self):
        return reversed(self)


Fields = collections.namedtuple("Fields", "first second")


@functools.lru_cache(maxsize=None)
def named(value, *, shown=True):
    return repr(value) if shown else None


@functools.lru_cache(maxsize=4, typed=True)
def kind(value):
    return type(value).__name__


class Level(enum.IntEnum):
    """Is true every other time that it is asked."""
    LOW = 0

    def __bool__(self):
        TURNS.append(self)
        return len(TURNS) % 2 == 1


class Shade(enum.IntEnum):
    LIGHT = 1
    DARK = 2


TURNS = []


class Pair:
    first = 1

    def __init__(self, second):
        self.second = second

    def __len__(self):
        return self.second

    def __contains__(self, item):
        return item == self.second


FIRST, OTHER = Pair(1), Pair(2)
LISTS = [[1, 2], [2, 1], [1, 2, 3], []]
VALUES = [0, 1, 2, -1, 2**70, True, False, 0.0, -0.0, 1.0, float("nan"), "a", "ab", "", b"a", None, ..., (1, 2), (2, 1), (),
          *LISTS, {"a": 1}, {"a": 2}, {1: "a"}, {}, {1, 2}, set(), frozenset({1}), Odd(1), FIRST, OTHER, int, str,
          fractions.Fraction(1, 2), range(2), Everything(), Narrow({0, 2}), Level.LOW, slice(1, 2), 1j, Chain([1, 2]), Chain([2, 1]), collections.deque([1, 2]), collections.deque([2, 1]),
          collections.deque([1, 2], 2), collections.deque(), collections.defaultdict(None, a=2),
          collections.OrderedDict(a=1), Asked(True), Asked(False), Sized(0), Sized(2), Backwards([1, 2]), Measured([1, 2]), Fields(1, 2), Fields(2, 1), {2, 1, 9}, frozenset({2}), KeyError("a"), KeyError("b"), Shade.DARK, Shade.LIGHT]

# By opcode: functions of two operands in which it stands once, behind what loads them.
RULES = {
    "BINARY_OP": [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x // y, lambda x, y: x / y,
                  lambda x, y: x % y, lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: "%(a)s" % y],
    "COMPARE_OP": [lambda x, y: x == y, lambda x, y: x != y, lambda x, y: x < y, lambda x, y: x >= y],
    "IS_OP": [lambda x, y: x is y, lambda x, y: x is not y],
    "CONTAINS_OP": [lambda x, y: x in y, lambda x, y: x not in y],
    "BINARY_SUBSCR": [lambda x, y: x[y]],
    "UNARY_NOT": [lambda x, y: not x],
    "UNARY_NEGATIVE": [lambda x, y: -x],
    "UNARY_INVERT": [lambda x, y: ~x],
    "FORMAT_VALUE": [lambda x, y: f"{x}"],
    "LOAD_ATTR": [lambda x, y: x.first, lambda x, y: x.second, lambda x, y: x.real, lambda x, y: x.__class__],
    "CALL": [lambda x, y: len(x), lambda x, y: isinstance(x, y), lambda x, y: type(x), lambda x, y: max(x, y),
             lambda x, y: abs(x), lambda x, y: bool(x), lambda x, y: int(x), lambda x, y: float(x), lambda x, y: str(x),
             lambda x, y: hash(x), lambda x, y: callable(x), lambda x, y: hasattr(x, "second"),
             lambda x, y: getattr(x, "second", None), lambda x, y: issubclass(x, y), lambda x, y: divmod(x, y),
             lambda x, y: repr(x), lambda x, y: ord(x), lambda x, y: round(x), lambda x, y: sum(x), lambda x, y: any(x),
             lambda x, y: tuple(x), lambda x, y: sorted(x), lambda x, y: id(x),
             lambda x, y: named(x), lambda x, y: named(x, shown=y), lambda x, y: kind(x)],
}


def run(function, operands):
    """What CPython gives, as a text that tells types, signs of zero and objects apart."""
    try:
        value = function(*operands)
    except Exception as error:  # what the operation raises is its outcome
        return f"raised {type(error).__name__}"
    if type(value) in (Pair, types.FunctionType):
        return f"{type(value).__name__} {id(value)}"
    return f"{type(value).__name__} {value!r}"


def pairs_for(function):
    """All pairs of operands; with one for a function that does nothing with its second."""
    reads = any(i.opname.startswith("LOAD_FAST") and i.argval == "y" for i in dis.get_instructions(function))
    return list(itertools.product(VALUES, repeat=2)) if reads else [(x, None) for x in VALUES]


def problems_of(function, opcode, operands, others, counts):
    """What the rule of the function's instruction gets wrong on these operands, in words."""
    code = function.__code__
    record.ask(code, opcode)
    outcome = run(function, operands)
    answer = record.answer()
    if answer is None:
        yield "its rule was not asked"
    elif not answer["followed"]:
        counts["refused"] += 1
        if answer["moved"]:
            yield "it answers no and has moved shadows"
        if not answer["reason"]:
            yield "it answers no and does not say why"
    else:
        counts["followed"] += 1
        record.check(code, opcode)
        again = run(function, operands)
        if answer["constant"] and again != outcome:
            yield f"{outcome}, and {again} the next time, by {answer['guards']}"
        if record.holds() != (True, True):
            yield f"its guards do not hold for what was recorded: {answer['guards']}"
        counts["constants"] += answer["constant"]
        for other in others if answer["constant"] else []:
            record.check(code, opcode)
            other_outcome = run(function, other)
            held, held_compiled = record.holds()
            # The program may say no where only foreign code could tell; where it says yes, the entry is used.
            if held_compiled and not held:
                yield f"the reference does not find its guards to hold for {other!r}: {answer['guards']}"
            if held_compiled and other_outcome != outcome:
                yield f"{outcome}, but {other_outcome} of {other!r}, by {answer['guards']}"


def main():
    failed = passed = 0
    counts = collections.Counter()
    for opcode, functions in RULES.items():
        for at, function in enumerate(functions):
            pairs = pairs_for(function)
            problems = []
            for operands in pairs:
                # Those that differ in one place come nearest to being taken for each other.
                others = [o for o in pairs if o is not operands and (o[0] is operands[0] or o[1] is operands[1])]
                problems += [f"{operands!r}: {problem}" for problem in
                             problems_of(function, opcode, operands, others, counts)]
            for problem in problems[:20]:
                print(f"FAILED {opcode} {at} of {problem}")
            failed += bool(problems)
            passed += not problems
    # Where no rule answers one way or the other, that was compared with nothing.
    if counts["constants"] < 300 or counts["refused"] < 200:
        failed += 1
        print(f"FAILED too few answers: {dict(counts)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
