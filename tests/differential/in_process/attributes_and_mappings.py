"""The slots of attributes, mappings and constructors that Python classes define or inherit, in segments."""
import collections
import contextvars
import dataclasses
import inspect
import types

import torch


class Config:
    """Every attribute goes through its __getattribute__; some have other names."""
    attribute_map = {"width": "hidden_size"}

    def __init__(self, **settings):
        for name, value in settings.items():
            setattr(self, name, value)

    def __getattribute__(self, name):
        if name != "attribute_map" and name in super().__getattribute__("attribute_map"):
            name = super().__getattribute__("attribute_map")[name]
        return super().__getattribute__(name)

    def __setattr__(self, name, value):
        if name in super().__getattribute__("attribute_map"):
            name = super().__getattribute__("attribute_map")[name]
        super().__setattr__(name, value)

    @property
    def doubled(self):
        return self.hidden_size * 2

    @doubled.setter
    def doubled(self, value):
        self.hidden_size = value // 2

    @doubled.deleter
    def doubled(self):
        self.hidden_size = 0


class Falls(Config):
    """What __getattribute__ and a property do not find, __getattr__ makes or refuses."""

    @property
    def lost(self):
        raise AttributeError("lost")

    def __getattr__(self, name):
        if name == "missing":
            raise AttributeError(name)
        return len(name)


class Typed:
    """A data descriptor in Python."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, value + 1)

    def __delete__(self, instance):
        delattr(instance, self.name)


class Holder:
    size = Typed()


class Output(collections.OrderedDict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def __setattr__(self, name, value):
        names = {field.name for field in dataclasses.fields(self)}
        if name in names and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Scores(Output):
    logits: torch.Tensor | None = None
    hidden: tuple | None = None
    cache: object | None = None


class Registry(dict):
    """A mapping with some methods of its own."""

    def __setitem__(self, key, value):
        super().__setitem__(str(key), value)

    def get(self, key):
        return super().get(str(key)) or {}


class Plain(dict):
    pass


class Layer:
    def __init__(self):
        super().__init__()
        self.keys = None

    def update(self, x):
        if self.keys is None:
            self.keys = torch.tensor([], dtype=x.dtype, device=x.device)
        self.keys = torch.cat([self.keys, x], dim=-1)
        return self.keys


class View(collections.abc.Sequence):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


Point = collections.namedtuple("Point", "first second")
registry = Registry()
registry[Config] = {"scale": 2.0}
known = {Config, Scores}
active = contextvars.ContextVar("active", default=None)


def attributes(x, config):
    y = x * config.width + config.doubled + getattr(config, "bias", 1.0)
    if hasattr(config, "shift"):
        y = y + config.shift
    return y, hasattr(config, "nothing"), getattr(config, "doubled", None)


def falling(x, config):
    y = x * config.abc + config.lost
    return y + getattr(config, "missing", 5), hasattr(config, "missing"), hasattr(config, "other")


def stores(x, config, holder):
    config.width = 7
    config.doubled = 12
    setattr(config, "extra", x.sum())
    config.later = 3
    del config.later
    holder.size = 4
    y = x * config.hidden_size + holder.size
    delattr(holder, "_size")
    config.doubled = 10
    y = y + config.width
    del config.doubled
    return y * 2


def forgives(x, config):
    try:
        return x + config.nowhere
    except AttributeError as error:
        return x - len(str(error))


def outputs(x, fails):
    scores = Scores(logits=x * 2, hidden=(x, x + 1))
    scores.cache = x.mean()
    scores["hidden"] = (x,)
    y = scores[0] + scores["logits"] + len(scores)
    if fails:
        print("seen", list(scores), scores.cache)
    return scores, y


def mappings(x):
    d = Plain(a=x, b=1)
    d["c"] = x + d["b"]
    d.update(e=x * 3)
    popped = d.popitem()
    again = dict([("k", x), ("l", 2)])
    ordered = collections.OrderedDict([("z", x), ("y", x + 1)])
    ordered["x"] = ordered.pop("z") * 2
    e = dict(d.items())
    e.clear()
    scale = registry.get(Config).get("scale", 1.0)
    both = Config in known, Layer in known
    found = "a" in d, d.get("q", 4), d.setdefault("r", 6), len(d), bool(e), bool(d)
    return d, popped, again, ordered, e, x * scale, both, found


def deletes(x, d):
    del d["gone"]
    d["kept"] = x + 1
    return x * len("ab")


def caches(x, layer):
    return layer.update(x) * 2, layer


def makes_layers(x, n):
    layers = [Layer() for _ in range(n)]
    for index, (layer, scale) in enumerate(zip(layers, View([1.0, 2.0, 3.0]))):
        x = layer.update(x * scale)[..., index:]
    return x, layers


def contexts(x, print_it):
    token = active.set({"x": x})
    try:
        y = inner(x)
        if print_it:
            print("inside", sorted(active.get()))
    finally:
        active.reset(token)
    return y + 1


def inner(x):
    return x + len(active.get() or ())


def signatures(x, function):
    return x * len(inspect.signature(function).parameters)


def two(a, b=2):
    return a, b


def one_more(self, a):
    return self, a


class Method:
    def three(self, a, b, c):
        return a, b, c


def named(x):
    point = Point(x, second=x + 1)
    return point, point.first + point[1], point._fields


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))

    def forward(self, x, n):
        for layer in self.layers[:n]:
            x = layer(x)
        for layer in self.layers[::-2]:
            x = layer(x)
        return x


def devices(x):
    y = (x + 1).to(x.device)
    z = (y * 2).to(device="cpu")
    return y, z.to("cpu", torch.float64), torch.tensor(3), torch.tensor([[1.5, 1.5]]), torch.tensor([]), \
        torch.tensor([True, True]), torch.tensor([1, 1], dtype=torch.float32)


def tags(x, name, turn):
    """Attributes in the dicts of tensors: of an argument, of what ops give, and of what is the same tensor twice."""
    x.note = ("turn", turn)
    setattr(x, name, x + turn)
    y = (getattr(x, name) * 2).relu()
    y.made_by = "relu"
    y.source = x
    z = y + len(y.made_by) if hasattr(y, "made_by") and not hasattr(y, "absent") else y - 100
    z.scale = getattr(x, "scale", 3)
    del y.made_by
    x.note, w = "last", x
    if w.note == "last":
        z = z * getattr(z, "scale")
    return z, y, hasattr(y, "made_by"), y.source is x, getattr(z, "shape"), getattr(x, "T"), getattr(x, "sum")()


def tag_all(x, tensors):
    y = x * 2
    for i, tensor in enumerate(tensors):
        tensor.order = i
        tensor.mine = y
    return y + 1


def reads_tags(x, other):
    y = x + 1
    x.seen = True
    return y * 2 if hasattr(other, "seen") else y


def refuses(x, turn):
    """What an attribute of a tensor's class does, and errors."""
    y = x + 1
    try:
        y.absent
    except AttributeError as error:
        print(error)
    try:
        del y.absent
    except AttributeError as error:
        print(error)
    y.data = x * turn
    y.add = 3
    z = y + 2
    z.requires_grad = False
    return z, y.add


def tagged(tensor):
    return {k: v if not isinstance(v, torch.Tensor) else show(v) for k, v in vars(tensor).items()}


def show(value):
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), [round(float(e), 3) for e in value.flatten()]
    if isinstance(value, dict):
        fields = {k: show(v) for k, v in vars(value).items()} if hasattr(value, "__dict__") else None
        return type(value).__name__, [(k, show(v)) for k, v in dict.items(value)], fields
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [show(v) for v in value]
    if isinstance(value, (Layer, Config, Holder)):
        return type(value).__name__, {k: show(v) for k, v in vars(value).items()}
    return repr(value)


def main():
    torch.manual_seed(0)
    x = torch.arange(6.0).reshape(2, 3)
    method = Method()
    stack = Stack().eval()
    with torch.no_grad():
        for turn in range(6):
            config = Config(hidden_size=4, shift=turn // 3)
            print(show(attributes(x, config)), show(config))
            print(show(falling(x, Falls(hidden_size=2))))
            holder = Holder()
            print(show(stores(x, config, holder)), show(config), show(holder))
            print(show(forgives(x, config)))
            print(show(outputs(x, turn % 2)))
            print(show(mappings(x)))
            d = {"gone": 1, "first": 2}
            print(show(deletes(x, d)), show(d))
            layer = Layer()
            print(show(caches(x, layer)), show(caches(x, layer)))
            print(show(makes_layers(x, 3)))
            print(show(contexts(x, turn % 2)), active.get())
            print(show(signatures(x, two)), show(signatures(x, method.three)))
            print(show(named(x)))
            print(show(stack(x, 1 + turn % 3)))
            print(show(devices(x)))
            own = x + turn
            own.scale = 2.5 * (turn // 3)
            z, y, *rest = tags(own, "extra" if turn < 4 else "other", turn % 2)
            print(show(z), show(y), show(rest), tagged(own), tagged(z), tagged(y))
            print(show(tags(x + 1, "extra", 2)[0]))
            pair = [x + 1, x + 2]
            print(show(tag_all(x, pair if turn % 2 else [pair[0]] * 2)), [tagged(tensor) for tensor in pair], pair[0].mine is pair[-1])
            print(show(reads_tags(pair[1], pair[0])), show(reads_tags(pair[0], pair[0])))
            print(show(refuses(x, turn)))
            if turn == 2:
                Config.attribute_map = {"width": "shift"}
                Method.three = one_more
                known.discard(Config)
                registry[Config] = {}
            if turn == 4:
                Config.__getattribute__ = object.__getattribute__
                Config.width = 9
                two.__signature__ = inspect.Signature([])


main()
print(types.MappingProxyType({"a": 1})["a"])
