"""When the function that a backend gave runs, and what torch._dynamo says and lets say of graphs."""

import inspect

import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend
from torch._dynamo.utils import counters

x = torch.arange(6.0).reshape(2, 3)


def shows(function):
    """Prints what a function of no arguments gives, after a reset."""
    torch._dynamo.reset()
    try:
        print(function.__name__, function())
    except Exception as error:
        print(function.__name__, type(error).__name__, str(error).splitlines()[0][:120])
    return function


def twice(module, inputs):
    """A backend whose results differ from what the program wrote, so that they can be told."""
    return lambda *arguments: tuple(one * 2 for one in module.forward(*arguments))


@shows
def runs_in_the_first_call():
    told = []

    def backend(module, inputs):
        told.append("compiles")

        def run(*arguments):
            told.append("runs")
            return module.forward(*arguments)
        return run
    compiled = torch.compile(lambda x: x.sin() + 1, backend=backend)
    compiled(x)
    compiled(x)
    return told


@shows
def gives_its_results():
    compiled = torch.compile(lambda x: (x + 1, [x.sum(), {"a": x * 3}]), backend=twice)
    return [compiled(x) for _ in range(3)]


@shows
def gives_gradients():
    leaf, told = x.clone().requires_grad_(), []
    compiled = torch.compile(lambda x: (x.exp(), x.exp() * x, (x * 2).sum()), backend=twice)
    for _ in range(3):
        a, b, c = compiled(leaf)
        (a.sum() + b.sum() + c).backward()
        told.append(round(leaf.grad.sum().item(), 3))
        leaf.grad = None
    return told


@shows
def keeps_gradient_mode():
    leaf, told = torch.tensor([3.0], requires_grad=True), []

    @torch.compile(backend=lambda module, inputs: module.forward)
    def mixed(w):
        with torch.no_grad():
            fixed = w * 2
        return w * fixed
    for _ in range(3):
        mixed(leaf).sum().backward()
        told.append(leaf.grad.item())
        leaf.grad = None
    return told


@shows
def writes_once():
    counter, into = CompileCounter(), x.clone()
    compiled = torch.compile(lambda y: y.add_(1).mul_(2), backend=counter)
    compiled(into)
    compiled(into)
    into.t_()
    turned = torch.compile(lambda y: y.t_(), backend=counter)(into.clone())
    return into, turned.shape


@shows
def draws_once():
    compiled = torch.compile(lambda x: torch.rand(3) + x[0] * 0, backend=CompileCounter())
    torch.manual_seed(0)
    return compiled(x), compiled(x), torch.rand(1)


@shows
def gives_an_argument():
    def backend(module, inputs):
        return lambda *arguments: (arguments[0].zero_(), *module.forward(*arguments)[1:])
    into = x.clone()
    return torch.compile(lambda y: y + 1, backend=backend)(into).sum(), into.sum()


@shows
def raises_in_every_call():
    def backend(module, inputs):
        def run(*arguments):
            raise KeyError("in run")
        return run
    compiled, told = torch.compile(lambda y: y + 1, backend=backend), []
    for _ in range(3):
        try:
            told.append(compiled(x))
        except KeyError as error:
            told.append(repr(error))
    return told


@shows
def counts_calls():
    counter = CompileCounterWithBackend("eager")
    compiled = torch.compile(lambda x: x.sin() + 1, backend=counter)
    compiled(x)
    compiled(x)
    return counter.frame_count, counter.op_count, len(counter.graphs)


@shows
def functionals_are_one_call():
    counter = CompileCounterWithBackend("eager")
    F = torch.nn.functional
    compiled = torch.compile(lambda x: F.normalize(F.softmax(x, -1), p=3.0).norm() + F.mse_loss(x, x * 2, reduction="sum"),
                             backend=counter)
    told = compiled(x)
    return told, [node.name for node in counter.graphs[0].graph.nodes if node.op.startswith("call")]


@shows
def run_compiles_nothing():
    counter = CompileCounter()

    def function(x):
        return x.cos() + 1
    compiled, runs = torch._dynamo.optimize(counter)(function), torch._dynamo.run(function)
    runs(x)
    before = counter.frame_count
    compiled(x)
    runs(x)
    runs(x.double())
    return before, counter.frame_count


@shows
def disallowed():
    counter = CompileCounter()

    def function(x):
        x = torch.add(x, 1)
        x = torch.sub(x, 1)
        return torch.add(x, 1)
    torch._dynamo.disallow_in_graph(torch.sub)
    try:
        torch._dynamo.optimize(counter)(function)(x)
        return counter.frame_count, counter.op_count
    finally:
        torch._dynamo.allow_in_graph(torch.sub)


@shows
def allowed():
    counter = CompileCounterWithBackend("eager")

    def helper(x):
        return x.sin().cos() + 1
    torch._dynamo.allow_in_graph(helper)
    told = torch.compile(lambda x: helper(x) * 2, backend=counter)(x).sum()
    return told, [node.name for node in counter.graphs[0].graph.nodes if node.op.startswith("call")]


@shows
def outermost_backend():
    outer, inner = CompileCounter(), CompileCounter()
    twice_decorated = torch._dynamo.optimize(outer)(torch._dynamo.optimize(inner)(lambda x: x.sin() + 1))
    twice_decorated(x)
    told = outer.frame_count, inner.frame_count
    below = torch.compile(lambda x: x.sin() + 1, backend=inner)
    above = torch.compile(lambda x: below(x) * 2, backend=outer)
    above(x)
    above(x)
    return *told, outer.frame_count, outer.op_count, inner.frame_count


@shows
def disabled():
    counter = CompileCounter()
    alone = torch._dynamo.disable(lambda x: x.sin() + 1)
    compiled = torch.compile(lambda x: alone(x + 1) * 2, backend=counter)
    compiled(x)
    compiled(x)
    return counter.frame_count, counter.op_count


@shows
def counted():
    counters.clear()

    def function(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x.sin().cos()
    torch.compile(function, backend="eager")(x)
    torch.compile(function, backend=CompileCounter())(x)
    return dict(counters["stats"]), len(counters["graph_break"]), dict(counters["frames"])


@shows
def forgotten():
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + 1, backend=counter)
    compiled(x)
    torch._dynamo.reset()
    compiled(x)
    compiled(x)
    return counter.frame_count


@shows
def layers():
    counter = CompileCounter()
    layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    with torch.no_grad():
        shape = torch.compile(layer, backend=counter)(torch.ones(2, 3, 8)).shape
    training = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True, dropout=0.0)
    torch.compile(training, backend=counter)(torch.ones(2, 3, 8))
    return shape, counter.frame_count, counter.op_count


@shows
def labels():
    """What newer versions of torch take and what concerns their own compiler alone."""
    taken = inspect.signature(torch.compile).parameters
    given = {"name": "longer", "recompile_limit": 3, "isolate_recompiles": True}
    given = {name: value for name, value in given.items() if name in taken}

    def named(module, inputs, name="part"):
        return lambda *arguments: tuple(one * len(name) for one in module.forward(*arguments))
    return torch.compile(lambda x: x.sin() + 1, backend=named, **given)(x)


@shows
def default_of_the_program():
    """A version whose default backend cannot be set is given it."""
    if not hasattr(torch.compiler, "set_default_backend"):
        return torch.compile(lambda x: x.cos() + 1, backend=twice)(x)
    torch.compiler.set_default_backend(twice)
    try:
        return torch.compile(lambda x: x.cos() + 1)(x)
    finally:
        torch.compiler.set_default_backend(None)
