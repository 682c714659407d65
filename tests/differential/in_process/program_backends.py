"""Backends of torch.compile that the program itself has: what graph they get, when, and what becomes of what they give."""

import operator

import torch
import torch._dynamo

torch.manual_seed(0)


def names(module):
    """The module's calls by their targets; what is taken out of tuples, and what Dynamo inlines less, left out."""
    out = []
    for node in module.graph.nodes:
        if node.op.startswith("call") and node.target is not operator.getitem:
            name = node.target if isinstance(node.target, str) else node.target.__name__
            out.append((node.op, name))
    return out


class Shows:
    """A backend that says what it gets."""

    def __init__(self, title):
        self.title = title
        self.graphs = 0

    def __call__(self, module, inputs):
        self.graphs += 1
        module.graph.lint()
        places = [node for node in module.graph.nodes if node.op == "placeholder"]
        print(self.title, type(module).__name__, len(places) == len(inputs), names(module),
              sorted(tuple(one.shape) for one in inputs))
        fakes = [node.meta["example_value"].shape for node in places]
        print("  ", fakes == [one.shape for one in inputs])
        return module.forward


def many(function, *arguments, times=3):
    for _ in range(times):
        print("  ", function(*arguments))


x, y, z = torch.arange(6.0).reshape(2, 3), torch.ones(3, 2), torch.full((2,), 0.5)


@torch.compile(backend=Shows("plain"))
def plain(x, y, z):
    return (x @ y + z).relu()


many(plain, x, y, z)
print(plain(x[:1], y, z))  # another size, another graph

linear = torch.nn.Linear(3, 2)
module = torch.compile(linear, backend=Shows("linear"))
with torch.no_grad():
    many(module, x)

net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
trained = torch.compile(net, backend=Shows("trained"))
for step in range(3):  # gradients go through what the backend gave
    net.zero_grad()
    loss = trained(x).pow(2).mean()
    loss.backward()
    print("  ", [round(p.grad.sum().item(), 4) for p in net.parameters()])


@torch.compile(backend=Shows("broken"))
def broken(x):
    x = x + 1
    torch._dynamo.graph_break()
    x = x * 2
    print("   between")
    return x - 3


many(broken, x)


@torch.compile(backend=Shows("parts"))
def parts(x):
    low, _, high = x.chunk(3, dim=1)
    values, places = high.max(dim=-1, keepdim=True)
    x = x.clone()
    x[0, 1] = 7
    x.mul_(2).add_(low)
    return {"sum": x.sum(dim=[0]), "places": places, "again": (low.T, [values, x[:, ::2]])}, x.shape[0], x.dtype


many(parts, x)


@torch.compile(backend=Shows("writes"))
def writes(x, into):
    into.add_(x)
    return into


into = torch.zeros(2, 3)
many(writes, x, into)
print(into)


# The first call is run by what the backend gave too, from the numbers that torch's generator would have given.
for draws in (lambda a: a.exponential_(), lambda a: a.uniform_() * 2, lambda a: torch.bernoulli(torch.sigmoid(a)),
              lambda a: torch.multinomial(torch.softmax(a, 0), 2) * 1, lambda a: torch.nn.functional.dropout(a + 1, 0.5)):
    drawn = torch.compile(draws, backend=lambda module, inputs: module.forward)
    for _ in range(3):
        torch.manual_seed(7)
        print("drawn", drawn(torch.zeros(4)), torch.rand(1))


class Doubles:
    """What the backend gives is what runs."""

    def __init__(self):
        self.calls = 0

    def __call__(self, module, inputs):
        def run(*arguments):
            self.calls += 1
            assert len(arguments) == len(inputs)
            return tuple(module(*arguments))
        return run


doubles = Doubles()
counted = torch.compile(lambda x: (x * 2, x + 1), backend=doubles)
for _ in range(5):
    a, b = counted(x)
print(doubles.calls >= 4, a.sum(), b.sum())


def readable(module, inputs):
    text = module.print_readable(print_output=False)
    lines = {node.name: node.stack_trace.strip().splitlines()[-1].strip()[:26] for node in module.graph.nodes
             if node.op.startswith("call")}
    print("readable", "matmul" in text and "f32[2, 3]" in text, sorted(set(lines.values())))
    interpreted = torch.fx.Interpreter(module)
    return lambda *arguments: interpreted.run(*arguments)


shown = torch.compile(lambda x, y: torch.relu(x @ y) - 1, backend=readable)
many(shown, x, y)

from torch._dynamo.backends.common import aot_autograd


def forward(module, inputs):
    print("forward", names(module))
    return module.forward


# The backward graph is made by the first call of what the backend gave, which is the second one here.
differentiated = torch.compile(lambda x, y: torch.relu(x @ y).sum(), backend=aot_autograd(
    fw_compiler=forward, bw_compiler=lambda module, inputs: module.forward))
many(differentiated, x, y)
leaf = x.clone().requires_grad_()
for _ in range(2):
    leaf.grad = None
    differentiated(leaf, y).backward()
    print("  ", leaf.grad)

# -- names, options, and the older ways to ask


@torch._dynamo.register_backend
def named_backend(module, inputs, options=None):
    print("named", options, names(module))
    return module.forward


many(torch.compile(lambda x: x.exp() - 1, backend="named_backend"), x)
many(torch.compile(lambda x: x.exp() + 1, backend=named_backend, options={"level": 3}), x)
many(torch._dynamo.optimize(named_backend)(lambda x: x.exp() * 2), x)
many(torch._dynamo.optimize_assert(named_backend)(lambda x: x.exp() * 3), x)

from torch._dynamo.testing import CompileCounter
counter = CompileCounter()


@torch.compile(backend=counter)
def steps(x):
    y = x + 1
    print("   a break")
    return y * 2 - 1


for _ in range(3):
    steps(x)
print(counter.frame_count, counter.op_count)
steps(x.double())
print(counter.frame_count, counter.op_count)
torch._dynamo.reset()
steps(x)
print(counter.frame_count, counter.op_count)


@torch._dynamo.disable
def left_alone(x):
    return x * 3


counter = CompileCounter()


@torch.compile(backend=counter)
def around(x):
    return left_alone(x + 1) - 1


many(around, x)
print(counter.frame_count, counter.op_count)


def allowed(x):
    return x.sin() * 2


torch.compiler.allow_in_graph(allowed)
many(torch.compile(lambda x: allowed(x) + 1, backend=CompileCounter()), x)
for ask in (lambda: torch._dynamo.disable(), lambda: torch._dynamo.optimize("eager")):
    try:
        with ask():
            pass
    except RuntimeError as error:
        print(str(error)[:60])

# -- the same function with and without

shared = Shows("shared")


def either(x):
    return x * 2 + 1


compiled = torch.compile(either, backend=shared)
many(either, x)
many(compiled, x)
many(either, x)
many(torch.compile(either, backend=shared), x)
many(torch.compile(either, backend=Shows("another")), x)
print(shared.graphs)

# -- what goes wrong


def refuses(module, inputs):
    raise ValueError("no such thing")


def gives_nothing(module, inputs):
    return 3


def fails_later(module, inputs):
    calls = []

    def run(*arguments):
        calls.append(1)
        if len(calls) > 3:
            raise KeyError("later")
        return module(*arguments)
    return run


for backend in (refuses, refuses, gives_nothing):
    try:
        print(torch.compile(lambda x: x + 1, backend=backend)(x))
    except torch._dynamo.exc.BackendCompilerFailed as error:
        print(type(error).__name__, str(error).splitlines()[:2], type(error.inner_exception).__name__)


@torch.compile(backend=refuses)
def catches(x):
    try:
        return x + 1
    except Exception:
        return "caught inside"


for _ in range(2):
    try:
        print(catches(x))
    except torch._dynamo.exc.BackendCompilerFailed as error:
        print(error.backend_name)
late = torch.compile(lambda x: x + 1, backend=fails_later)
raised = None
for _ in range(8):
    try:
        late(x)
    except KeyError as error:
        raised = error
print(repr(raised))


# An op in place gives back the very list that it was given, wherever that came from.
class Holder:
    def __init__(self):
        self.held = [torch.ones(3), torch.ones(2, 2)]
        self.lists = {"a": [torch.zeros(3), torch.zeros(2, 2)], "b": (torch.ones(3), torch.ones(2))}


def step(holder, gradients, rate):
    torch._foreach_lerp_(holder.lists["a"], gradients, weight=rate)
    torch._foreach_mul_(holder.lists["b"], rate)
    torch._foreach_add_(holder.held, holder.lists["a"], alpha=-1.5)
    torch._foreach_zero_(gradients)
    same = torch._foreach_neg_(holder.held)
    return same[0] + holder.held[0], torch._foreach_add(same, 1)


for function in (step, torch.compile(step, backend=lambda module, inputs: module.forward)):
    holder = Holder()
    for turn in range(4):
        gradients = [torch.ones(3) * turn, torch.ones(2, 2)]
        print(function(holder, gradients, 1 - 0.75), holder.held, holder.lists, gradients)
