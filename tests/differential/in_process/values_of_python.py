"""Sets, words, patterns and members of enumerations as values that guards determine."""
import collections
import enum
import re
import weakref

import torch

NAMES = re.compile(r"(?P<name>\w+)\.(?P<number>\d+)")
KNOWN = frozenset(("p", "q"))


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2
    RUN = 4


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 3


class Word(str, enum.Enum):
    ONE = "one"
    LONGER = "longer"


Point = collections.namedtuple("Point", "left right scale", defaults=[3])


class Version:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number

    def __repr__(self):
        return f"v{self.number}"

    def __abs__(self):
        return abs(self.number)

    __hash__ = None


def given_sets(x, one, other):
    y = x + 1
    union = one | other
    if 2 in union:
        y = y * 2
    y = y + len(one & other) - len(one ^ other)
    return y, union, one - other, one <= other, one == other, one.union(other), one.issubset(other), one.isdisjoint(other)


def made_sets(x):
    some = set()
    some.update([4, 5], (n for n in (6,)))
    some.add(3)
    some |= {9}
    some.difference_update([4])
    frozen = frozenset(n * 2 for n in some)
    pairs = set({"a": 1, "b": 2})
    last = {7}
    return x * len(frozen) + last.pop() + len(last), frozen | KNOWN, sorted(pairs), KNOWN.symmetric_difference(["p", "z"])


def words(x, name):
    y = x + len("%(name)s-%(number)03d" % {"name": name, "number": 3})
    text = "%s/%5.2f/%r" % (name, 2.5, [1, name])
    return y * len(text), text, "{a}-{b}".format_map({"a": 1, "b": name}), name.translate({112: "z"}), name.translate(str.maketrans("pq", "qp")), str({"a": [1, name]})


def patterns(x, text):
    y = x + 1
    match = NAMES.match(text)
    if match:
        y = y * int(match.group("number")) + match.start() + match.end(1) + len(match.groups())
        return y, match.groupdict(), match["name"], match.span(), match.group(1, 2), match.lastindex, match.string, match.re is NAMES
    if re.search(r"^\d+$", text) is not None:
        y = y - len(re.sub(r"\d", "__", text))
    return y, re.findall(r"\w", text), re.split(",", text), re.fullmatch("a+", "aaa").end()


def replaced(x, text):
    seen = []

    def note(match):
        seen.append(match.group())
        return "<" + match.group() + ">"

    return x * len(re.sub(r"\d", note, text)), seen


SEEN = []


def note_globally(match):
    SEEN.append(match.group())
    return str(len(SEEN))


def replaced_by_function(x, text):
    return x * len(re.sub(r"\d", note_globally, text)), len(SEEN)


def left_behind(x, text):
    match = NAMES.match(text)
    return x * 2, match


def members(x, access, colour, word):
    y = x * colour
    if access & Access.WRITE:
        y = y * 2
    wider = access | Access.RUN
    y = y + wider.value + int(wider) + (4 | access) + (colour + 1) + (Colour.BLUE - colour) + -colour
    if Colour.RED < colour:
        y = y + 1
    return y, wider, ~wider, Access.READ in wider, word + "!", word * 2, word == "one", "%s" % word.value, colour % 2


def named(x):
    point = Point(x + 1, 2)
    other = point._replace(left=x - 1)
    return other.left * other.scale, other._asdict()["right"], Point._make(n for n in (1, 2, 3)), Point(**other._asdict()).right, other


def compared(x):
    one, other = Version(1), Version(2)
    if one != other:
        x = x * 2
    if one != Version(1):
        x = x + 100
    return x + abs(other), repr(one), [repr(each) for each in (one, other)]


class Flagged:
    def __init__(self, same):
        self.same = same

    def __eq__(self, other):
        return self.same

    __hash__ = None


def flagged(x, one):
    return x * 2 if one != x.shape else x * 3


class Counted(type):
    """A metaclass that makes instances in a way of its own."""

    def __call__(cls, *arguments):
        made = super().__call__(*arguments)
        made.by = cls.__name__
        return made


class Scale(metaclass=Counted):
    def __init__(self, value):
        self.value = value


class Single(type):
    def __call__(cls, *arguments):
        if cls.only is None:
            cls.only = super().__call__(*arguments)
        return cls.only


class Settings(metaclass=Single):
    only = None


def by_metaclass(x):
    one, other = Scale(x + 1), Scale(3)
    return one.value * other.value + len(one.by), one == other, one == one, one != other, other in [one, other], other


def single(x):
    y = x + 1
    return y * 2, Settings() is Settings()


def in_order(x, **parts):
    """Names decide the order of pairs of which the second cannot be compared."""
    for name, part in sorted(parts.items(), reverse=True):
        x = x * part + len(name)
    return x, [name for name, _ in sorted({"b": x, "a": Scale}.items())]


class Node:
    def __init__(self, parent):
        self.parent = weakref.ref(parent)
        self.scale = 2


def references(x, parent):
    reference = weakref.ref(parent)
    node = Node(parent)
    return x * reference().scale + node.parent().scale, node, reference() is parent


def told(value):
    if isinstance(value, torch.Tensor):
        return [round(v, 4) for v in value.flatten().tolist()]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(value, key=str)
    if isinstance(value, re.Match):
        return value.groups()
    if isinstance(value, Scale):
        return value.value, value.by
    if isinstance(value, Node):
        return value.parent().scale, value.parent() is parent
    if hasattr(value, "_fields"):
        return type(value)(*map(told, value))
    return type(value)(map(told, value)) if isinstance(value, (tuple, list)) else value


torch.set_grad_enabled(True)
with torch.no_grad():
    x = torch.arange(3.0)
    pairs = (({1, 2}, {2, 3}), ({1, 2}, {2, 5}), ({1}, {1}), (frozenset((1, 2)), {5}), (frozenset((1, 2)), frozenset((2,))))
    calls = [(given_sets, x, one, other) for one, other in pairs]
    calls += [(made_sets, x), (named, x), (compared, x), (flagged, x, Flagged(True)), (flagged, x, Flagged(False)), (by_metaclass, x), (single, x)] + [(words, x, name) for name in ("p", "pq")]
    calls += [(function, x, text) for text in ("layer.3", "layer.10", "a,b", "12") for function in (patterns, replaced, replaced_by_function, left_behind)]
    calls += [(members, x, *given) for given in ((Access.READ, Colour.RED, Word.ONE), (Access.WRITE, Colour.BLUE, Word.LONGER),
                                                 (Access.READ | Access.WRITE, Colour.RED, Word.ONE))]
    for function, *arguments in calls * 3:
        print(function.__name__, told(function(*arguments)))
    growing = {1}
    for n in range(3):
        growing.add(n)
        calls = [(given_sets, x, growing, {0, 1})]
        for function, *arguments in calls * 3:
            print(function.__name__, told(function(*arguments)))
    for scale in (2, 3):
        parent = type("Parent", (), {})()
        for parent.scale in (scale, scale + 10):
            calls = [(references, x, parent)]
            for function, *arguments in calls * 3:
                print(function.__name__, told(function(*arguments)))
    for _ in range(3):
        print(told(in_order(x, first=x + 1, second=x - 1)))
