"""Objects that segments make, change and leave behind at breaks; sharing, cycles, identity."""
import collections
import dataclasses
import enum
from typing import NamedTuple

import torch


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@dataclasses.dataclass
class State:
    x: torch.Tensor
    step: int = 0
    history: list = dataclasses.field(default_factory=list)
    mode: Mode = Mode.FAST

    @property
    def norm(self):
        return self.x.norm()

    def advance(self, by):
        self.history.append(self.x)
        self.x = self.x + by
        self.step += 1
        if self.norm > 4:
            self.mode = Mode.SLOW
        return self


@dataclasses.dataclass(frozen=True)
class Config:
    scale: float
    shift: float = 0.5


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor

    def swap(self):
        return Pair(self.second, self.first)


class Node:
    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
        if parent is not None:
            parent.children.append(self)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


def chain(x):
    root = Node(x)
    at = root
    for i in range(3):
        at = Node(at.value * 2, at)
        if at.value.sum() > 10:
            at.value = at.value - 1
    return root, at


def states(state, config):
    for i in range(3):
        state.advance(config.scale * i + config.shift)
    return dataclasses.replace(state, step=-1), dataclasses.asdict(config)


def pairs(pair):
    a, b = pair.swap()
    if a.sum() > b.sum():
        pair = pair._replace(first=a + b)
    return pair, pair._fields, pair == pair.swap()[::-1] if pair.first is pair.second else len(pair)


def containers(x):
    groups = collections.defaultdict(list)
    order = collections.OrderedDict()
    queue = collections.deque(maxlen=2)
    counts = collections.Counter()
    for i in range(4):
        y = x + i
        key = "big" if y.sum() > 5 else "small"
        groups[key].append(y)
        order[key] = y
        order.move_to_end(key, last=False)
        queue.append(y * 2)
        counts[key] += 1
    return dict(groups), list(order.items()), list(queue), counts.most_common(1)


def shared(x):
    y = x + 1
    pair = [y, y]
    nest = {"a": pair, "b": pair}
    nest["self"] = nest
    if y.sum() > 0:
        pair.append(y * 2)
    return nest["a"] is nest["b"], nest["self"] is nest, pair[0] is pair[1], len(nest["b"])


def slots(x):
    s = Slots(x + 1)
    if s.a.sum() > 1:
        s.b = s.a * 2
    return s.a, getattr(s, "b", None), hasattr(s, "c")


for run in range(3):
    x = torch.ones(2) * (run + 1)
    root, last = chain(x)
    print(last.value, last.parent.parent.parent is root, len(root.children), root.children[0].parent is root)
    state = State(x)
    copy, config = states(state, Config(2.0))
    print(state.x, state.step, len(state.history), state.mode, copy.step, copy.history is state.history, config)
    print(pairs(Pair(x, x * 2)), pairs(Pair(x * 3, x)))
    print(containers(x))
    print(shared(x), slots(x), slots(-x))
