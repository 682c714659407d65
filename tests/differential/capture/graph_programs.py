"""Functions with the graphs and breaks that they must have: EXPECTED says how many of each. All are called
several times and print what they gave, so that check_graphs.py can compare them with plain Python too."""
import sys
import types

import torch

torch.manual_seed(0)
ASKED = []  # what Python code that attributes run was asked for


# -- objects that are made on the way

class Layer:
    def __init__(self):
        super().__init__()
        self.keys, self.ready = None, False

    def update(self, x):
        if not self.ready:
            self.keys, self.ready = torch.tensor([], dtype=x.dtype, device=x.device), True
        self.keys = torch.cat([self.keys, x], dim=-1)
        return self.keys


class Cache:
    def __init__(self):
        self.layers = []

    def update(self, x, at):
        while len(self.layers) <= at:
            self.layers.append(Layer())
        return self.layers[at].update(x)


def makes_layers_lazily(x):
    cache = Cache()
    with torch.no_grad():
        for at in range(3):
            x = cache.update(x, at) * 2 + cache.update(x, at).sum()
    return x, [layer.keys.shape for layer in cache.layers]


# -- membership

class Table:
    """Its __contains__ gives what it holds, whatever that is."""

    def __init__(self, **held):
        self.held = held

    def __contains__(self, key):
        return self.held.get(key)


def asks_what_it_holds(x, table):
    x = x + 1 if "a" in table else x - 1
    inside, outside = "b" in table, "b" not in table
    return x * 2, inside, outside


class Counting:
    def __contains__(self, key):
        self.times = getattr(self, "times", 0) + 1
        return [] if key == 0 else [key]


def asks_and_counts(x, counting):
    return (x * 3 if 0 in counting else x * 5), 7 in counting, counting.times


# -- attributes of modules and classes

class Meta(type):
    @property
    def width(cls):
        ASKED.append("width")
        return 3

    def __getattr__(cls, name):
        ASKED.append(name)
        if name.startswith("no_"):
            raise AttributeError(name)
        return len(name)


class Described:
    def __get__(self, instance, owner):
        ASKED.append("described")
        return 10 if instance is None else 20


class Settings(metaclass=Meta):
    depth = 2
    described = Described()


def reads_a_class(x):
    x = x * getattr(Settings, "depth") + getattr(Settings, "missing") + Settings.width
    x = x - getattr(Settings, "no_such", 4) + Settings.described + Settings().described
    return x, hasattr(Settings, "no_other"), hasattr(Settings, "depth"), hasattr(Settings, "other")


plain_module = types.ModuleType("plain_module")
plain_module.scale = 3.0


def reads_a_module(x):
    x = x * getattr(plain_module, "scale") + getattr(plain_module, "shift", 1)
    return x, hasattr(plain_module, "scale"), hasattr(plain_module, "shift")


lazy_module = types.ModuleType("lazy_module")


def make_on_demand(name):
    ASKED.append(name)
    if name == "absent":
        raise AttributeError(name)
    return 5


lazy_module.__getattr__ = make_on_demand


def reads_a_lazy_module(x):
    x = x * 2
    x = x + getattr(lazy_module, "made") + getattr(lazy_module, "absent", 7)
    return x * hasattr(lazy_module, "other")


# -- ops by the dispatcher's names

def calls_one_operator(x):
    return torch.ops.aten.mul.Tensor(x, x)


def calls_operators(x):
    y = torch.ops.aten.add(torch.ops.aten.relu.default(x - 1), 1, alpha=2)
    largest, at = torch.ops.aten.max.dim(y, 0)
    y = torch.ops.aten.add_.Tensor(y, largest)
    return torch.ops.aten.sum.dim_IntList(y, [0], keepdim=True), at


# -- factories behind a break

def makes_its_mask(x):
    total = (x * 2).sum().item()
    mask = torch.ones(4)
    return x * mask.unsqueeze(0) + total


def makes_what_no_op_takes(x):
    total = (x * 2).sum().item()
    zeros = torch.zeros(2)
    return x + len(zeros.tolist()) + total


def makes_beside_an_op(x):
    total = (x * 2).sum().item()
    zeros = torch.zeros(2)
    return x + total, zeros


# -- functions that the program says to be constant

class Scaled:
    def __init__(self, scale):
        self.scale = scale

    @torch.compiler.assume_constant_result
    def scale_of(self, x):
        return round(x.sum().item(), 3) * self.scale


@torch.compiler.assume_constant_result
def made_anew(x):
    return {"rows": [x.shape[0], 0.5], "kinds": {"a"}, "both": (None, [2])}


HELD = [1, 2]


@torch.compiler.assume_constant_result
def held_by_others(x):
    return HELD


@torch.compiler.assume_constant_result
def gives_a_tensor(x):
    return torch.ones(2)


@torch.compiler.assume_constant_result
def refuses(x):
    raise ValueError(x.shape[0])


def makes_assumed(scale):
    @torch.compiler.assume_constant_result
    def assumed():
        return scale
    return assumed


SCALED, ASSUMED = [Scaled(2), Scaled(3)], [makes_assumed(2), makes_assumed(3)]


def assumes_a_constant(x, scaled):
    return x * scaled.scale_of(x) + 1


def assumes_containers(x):
    made = made_anew(x)
    made["rows"].append(x.dim())
    return x * made["rows"][1], made


def assumes_what_others_hold(x):
    y = x + 1
    HELD[0] += 1
    return y * held_by_others(x)[1], HELD[0]


def assumes_a_tensor(x):
    y = x + 1
    return y[:1] * gives_a_tensor(x)


def assumes_and_raises(x):
    y = x + 1
    try:
        return y * refuses(x)
    except ValueError as error:
        return y, str(error)


def assumes_of_closures(x, assumed):
    return x * assumed()


# -- loops with a break inside

def turns_with_a_break(x, turns):
    done = []
    while len(done) < turns:
        x = torch.sin(x) + 1
        done.append(round(x.sum().item(), 3))
        x = x * 2
    return x, done


def leaves_a_generator(x):
    y = x * 2
    parts = [*(part.sum().item() for part in (y, y + 1))]
    return y - sum(parts)


def turns_without_end(x):
    turns = 0
    while True:
        x = x * 0.5
        turns += 1
        if x.sum() < 0.1:
            return x, turns
        x = x - 0.001


def calls():
    x = torch.rand(4)
    for turn in range(4):
        yield makes_layers_lazily, (x,)
        yield asks_what_it_holds, (x, Table(a=turn // 2, b="b"))
        yield asks_and_counts, (x, Counting())
        yield reads_a_class, (x,)
        plain_module.shift = 2 if turn > 1 else plain_module.scale
        if turn == 3:
            del plain_module.shift
        yield reads_a_module, (x,)
        yield reads_a_lazy_module, (x,)
        yield calls_one_operator, (x,)
        yield calls_operators, (x,)
        yield makes_its_mask, (x,)
        yield makes_what_no_op_takes, (x,)
        yield makes_beside_an_op, (x,)
        yield assumes_a_constant, (x, SCALED[turn % 2])
        yield assumes_containers, (x,)
        yield assumes_what_others_hold, (x,)
        yield assumes_a_tensor, (x,)
        yield assumes_and_raises, (x,)
        yield assumes_of_closures, (x, ASSUMED[turn % 2])
        yield turns_with_a_break, (x, 4 + turn)
        yield leaves_a_generator, (x,)
        yield turns_without_end, (x,)


# By function: graphs, and breaks that are reported.
EXPECTED = {
    "makes_layers_lazily": (1, 0), "asks_what_it_holds": (2, 0), "asks_and_counts": (1, 0),
    "reads_a_class": (1, 0), "reads_a_module": (3, 0), "reads_a_lazy_module": (4, 3),
    "calls_one_operator": (1, 0), "calls_operators": (1, 0), "turns_with_a_break": (4, 2),
    "makes_its_mask": (2, 1), "makes_what_no_op_takes": (2, 1), "makes_beside_an_op": (2, 1),
    "assumes_a_constant": (2, 0), "assumes_containers": (1, 0), "assumes_what_others_hold": (3, 1),
    "assumes_a_tensor": (2, 1), "assumes_and_raises": (1, 0), "assumes_of_closures": (2, 0),
    "leaves_a_generator": (2, 1), "turns_without_end": (3, 2),
}

# By function: the first op of each graph.
FIRST_OPS = {
    "makes_its_mask": ["aten.mul.Tensor", "aten.ones.default"],
    "makes_what_no_op_takes": ["aten.mul.Tensor", "aten.add.Tensor"],
    "makes_beside_an_op": ["aten.mul.Tensor", "aten.add.Tensor"],
}


def main():
    for function, arguments in calls():
        ASKED.clear()
        result = function(*arguments)
        print(function.__name__, result, ASKED)


if __name__ == "__main__":
    torch.set_printoptions(precision=3)
    main()
    sys.exit(3)
