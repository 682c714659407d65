"""Sections of guards that are skipped while nothing has changed: every way to change what they saw.

Each change is made behind guards that have passed often enough to be skipped; it must be seen on the
next call, and taking it back must make them fit again.
"""
import gc

import torch

from support import attach, check, finish, fits, guard, jit


def f(x, y=None):
    return x


def settled(*arguments):
    """The guards hold, and go on to once they are skipped."""
    return all(fits(f, *arguments) for _ in range(3))


fresh = None  # guards to begin anew with, so that no section is known to change often


def seen(name, argument, change, back=None):
    """`change` makes the guards fail; `back` (which may make a new object) makes them hold again."""
    if fresh is not None:
        attach(f, fresh)
    check(f"{name}: before", settled(argument), jit.last())
    change()
    check(name, not fits(f, argument) and not fits(f, argument))
    if back is not None:
        back()
        check(f"{name}: back", settled(argument), jit.last())


# -- a module tree
class Root(torch.nn.Module):
    scale = 2

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 4) for _ in range(12))
        self.register_buffer("mask", torch.ones(4))
        self.sizes = (3, 4)
        self.names = ["a", "b"]
        self.rate = 0.5
        self.calls = 0


root = Root().eval()
for parameter in root.parameters():
    parameter.requires_grad_(False)
HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")


def of_module(source, kind):
    return [guard("type_is", source, live=kind), guard("equals", f"{source}.training", False),
            guard("lacks_key", f"{source}.__dict__", "forward"),
            *[guard("truth", f"{source}.{name}", False) for name in HOOKS]]


tree = of_module("L['x']", Root)
tree += [guard("equals", "L['x'].scale", 2), guard("equals", "L['x'].sizes[1]", 4),
         guard("equals", "L['x'].rate", 0.5), guard("equals", "L['x'].names[1]", "b"),
         guard("length", "L['x'].names", 2), guard("lacks_attribute", "L['x']", "extra"),
         guard("tensor", "L['x']._buffers['mask']", tensor=("float32", [4])),
         guard("dict_keys", "L['x']._modules['layers']._modules", [str(i) for i in range(12)])]
for i in range(12):
    layer = f"L['x']._modules['layers']._modules['{i}']"
    tree += of_module(layer, torch.nn.Linear)
    tree += [guard("tensor", f"{layer}._parameters['weight']", tensor=("float32", [4, 3])),
             guard("tensor", f"{layer}._parameters['bias']", tensor=("float32", [4]))]
attach(f, tree)

for fresh, place in [(tree, 0), (tree, 5), (tree, 11), (None, 0), (None, 5), (None, 11)]:
    layer = root.layers[place]
    old_weight = layer.weight
    row = f"layer {place}: "
    seen(row + "train()", root, layer.train, layer.eval)
    handle = None

    def add_hook():
        global handle
        handle = layer.register_forward_hook(lambda *_: None)

    def remove_hook():
        handle.remove()

    seen(row + "hook", root, add_hook, remove_hook)
    seen(row + "attribute on the instance", root, lambda: layer.__dict__.update(forward=1),
         lambda: layer.__dict__.pop("forward"))
    seen(row + "__class__", root, lambda: setattr(layer, "__class__", torch.nn.Identity),
         lambda: setattr(layer, "__class__", torch.nn.Linear))
    seen(row + "__dict__ replaced", root,
         lambda: setattr(layer, "__dict__", {**layer.__dict__, "training": True}),
         lambda: setattr(layer, "__dict__", {**layer.__dict__, "training": False}))
    seen(row + "parameter's data, other size", root,
         lambda: setattr(layer.weight, "data", torch.zeros(5, 3)),
         lambda: setattr(layer.weight, "data", torch.zeros(4, 3)))
    seen(row + "parameter's data, other dtype", root,
         lambda: setattr(layer.weight, "data", torch.zeros(4, 3, dtype=torch.float64)),
         lambda: setattr(layer.weight, "data", torch.zeros(4, 3)))
    seen(row + "parameter's data, other strides", root,
         lambda: setattr(layer.weight, "data", torch.zeros(3, 4).t()),
         lambda: setattr(layer.weight, "data", torch.zeros(4, 3)))
    for times in range(2):  # the first makes the record of gradients, the second finds it there
        seen(row + f"requires_grad_ {times}", root, lambda: layer.weight.requires_grad_(True),
             lambda: layer.weight.requires_grad_(False))
    seen(row + "resize_", root, lambda: layer.weight.resize_(2, 3), lambda: layer.weight.resize_(4, 3))
    seen(row + "t_", root, lambda: layer.weight.t_(), lambda: layer.weight.t_())
    seen(row + "parameter replaced", root,
         lambda: setattr(layer, "weight", torch.nn.Parameter(torch.zeros(6, 3), False)),
         lambda: setattr(layer, "weight", old_weight))
    seen(row + "parameter deleted", root, lambda: delattr(layer, "weight"),
         lambda: layer.register_parameter("weight", old_weight))
    seen(row + "class of a parameter", root,
         lambda: setattr(layer.bias, "__class__", type("Mine", (torch.nn.Parameter,), {})),
         lambda: setattr(layer.bias, "__class__", torch.nn.Parameter))
    seen(row + "layer replaced", root,
         lambda: root.layers.__setitem__(place, torch.nn.Linear(3, 4).train()),
         lambda: root.layers.__setitem__(place, layer))
    seen(row + "layer deleted", root, lambda: root.layers._modules.pop(str(place)),
         lambda: root.layers._modules.update(sorted({**root.layers._modules, str(place): layer}.items(),
                                                    key=lambda item: int(item[0]))) if place == 11 else
         setattr(root.layers, "_modules", {str(i): {**root.layers._modules, str(place): layer}[str(i)]
                                           for i in range(12)}))
seen("buffer replaced", root, lambda: setattr(root, "mask", torch.ones(5)),
     lambda: setattr(root, "mask", torch.ones(4)))
seen("class attribute", root, lambda: setattr(Root, "scale", 3), lambda: setattr(Root, "scale", 2))
seen("class attribute of a base", root, lambda: setattr(torch.nn.Module, "extra", 3),
     lambda: delattr(torch.nn.Module, "extra"))
seen("instance hides class", root, lambda: setattr(root, "scale", 3), lambda: delattr(root, "scale"))
seen("list item", root, lambda: root.names.__setitem__(1, "c"), lambda: root.names.__setitem__(1, "b"))
seen("list grows", root, lambda: root.names.append("c"), lambda: root.names.pop())
seen("list replaced", root, lambda: setattr(root, "names", ["a"]), lambda: setattr(root, "names", ["a", "b"]))
seen("tuple replaced", root, lambda: setattr(root, "sizes", (3, 5)), lambda: setattr(root, "sizes", (3, 4)))

other = Root().eval()
check("another module", not fits(f, other) and settled(root))  # its parameters require gradients
for parameter in other.parameters():
    parameter.requires_grad_(False)
check("two modules in turn", all(fits(f, module) for module in (other, root) * 4))
other.layers[3].train()
check("two modules in turn, one changed", fits(f, root) and not fits(f, other) and fits(f, root))

# What changes on every call makes nothing else go unseen.
layers = root.layers
for i in range(80):
    root.calls = i
    check("a counter", fits(f, root))
    if i % 20 == 10:
        root.layers[i % 12].train()
        check("a change beside a counter", not fits(f, root))
        root.layers[i % 12].eval()
    if i % 20 == 13:
        root.rate = 0.75
        check("a value beside a counter", not fits(f, root))
        root.rate = 0.5
    if i % 20 == 15:
        root.extra = i
        check("a name beside a counter", not fits(f, root))
        del root.extra
    if i % 20 == 17:
        root.__dict__["_modules"] = {**root._modules, "layers": torch.nn.ModuleList()}
        check("a dict beside a counter", not fits(f, root))
        root.__dict__["_modules"]["layers"] = layers

# A tensor's memory and version are those of now.
root.layers[0].weight.data = torch.ones(4, 3)
weight = "L['x']._modules['layers']._modules['0']._parameters['weight']"
jit.attach(f.__code__, {"guards": tree, "inputs": [weight]})
check("inputs", settled(root))


# -- equal addresses: a new object where the old one was
class Holder:
    pass


class Slots:
    __slots__ = ("value",)


for name, make, source in (
        ("float in a tuple", lambda value: (value + 0.0,), "L['x'][0]"),
        ("float in a list", lambda value: [value + 0.0], "L['x'][0]"),
        ("inner tuple", lambda value: ((value + 0.0,),), "L['x'][0][0]"),
):
    attach(f, [guard("equals", source, 0.25)])
    for _ in range(50):
        argument = make(0.25)
        check(f"{name}: holds", fits(f, argument) and fits(f, argument))
        del argument
        argument = make(0.75)
        check(f"{name}: another at the old address", not fits(f, argument))
        del argument

# The object is loaded in one section and looked at in a later one.
many = {str(i): i + 1000.5 for i in range(300)}
attach(f, [*[guard("not_none", f"L['x']['{i}']") for i in range(300)],
           *[guard("equals", f"L['x']['{i}'][0]", 0.25) for i in (0, 150, 299)]])
for i in (0, 150, 299):
    many[str(i)] = (0.25 + 0.0 * i,)
same_address = 0
for i in (0, 150, 299) * 3:
    check(f"item {i} of many: holds", settled(many))
    before = id(many[str(i)])
    many[str(i)] = None
    many[str(i)] = (0.75 + 0.0 * i,)
    same_address += id(many[str(i)]) == before
    check(f"item {i} of many: another at the old address", not fits(f, many))
    many[str(i)] = (0.25 + 0.0 * i,)
check("an address was used again", same_address > 0)

for make in (Holder, Slots):
    attach(f, [guard("equals", "L['x'].value", 0.25)])
    for _ in range(50):
        argument = make()
        argument.value = 0.25 + 0.0 * len(gc.garbage)
        check(f"{make.__name__}: holds", fits(f, argument) and fits(f, argument))
        argument.value = None
        argument.value = 0.75 + 0.0 * len(gc.garbage)
        check(f"{make.__name__}: value changed", not fits(f, argument))
        del argument
        argument = make()
        argument.value = 0.75 + 0.0 * len(gc.garbage)
        check(f"{make.__name__}: another at the old address", not fits(f, argument))

attach(f, [guard("tensor", "L['x'][0]", tensor=("float32", [4, 3]))])
for _ in range(20):
    argument = [torch.zeros(4, 3)]
    check("tensor in a list", settled(argument))
    argument[0] = None
    argument[0] = torch.zeros(3, 4)
    check("another tensor at the old address", not fits(f, argument))

# -- inline attributes of a fresh class, absent ones included
attach(f, [guard("lacks_attribute", "L['x']", "late"), guard("equals", "L['x'].value", 1)])
argument = Holder()
argument.value = 1
seen("attribute added to an instance", argument, lambda: setattr(argument, "late", 1),
     lambda: delattr(argument, "late"))
seen("attribute added to its class", argument, lambda: setattr(Holder, "late", 1),
     lambda: delattr(Holder, "late"))


# -- functions
def with_closure(value):
    def inner(a, b=value):
        return a, value

    def change(new):
        nonlocal value
        value = new

    return inner, change


inner, change = with_closure(5)
attach(f, [guard("equals", "L['x'].__defaults__[0]", 5),
           guard("identity", "L['x'].__code__", live=inner.__code__)])
seen("defaults", inner, lambda: setattr(inner, "__defaults__", (6,)),
     lambda: setattr(inner, "__defaults__", (5,)))
old_code = inner.__code__
seen("code", inner, lambda: setattr(inner, "__code__", with_closure(1)[0].__code__.replace(co_name="x")),
     lambda: setattr(inner, "__code__", old_code))

# -- memory that is shared lazily is not taken for the tensor's own
attach(f, [guard("tensor", "L['x']", tensor=("float32", [4]))], inputs=["L['x']"])
lazy = torch.ones(4)
check("before a lazy clone", settled(lazy))
clone = torch._lazy_clone(lazy)
check("after a lazy clone", settled(lazy) and settled(clone))

jit.detach()
finish()
