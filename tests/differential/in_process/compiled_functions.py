"""torch.compile and its kin: what they give, what runs inside, and what they raise."""

import copy
import inspect
import io
import pickle

import torch


@torch.compile  # the one that plain Python compiles with Inductor, which takes its time
def waves(x):
    """sine and cosine"""
    return x.sin() + x.cos()


print(waves(torch.arange(3.0)).sum() > 2, waves(torch.arange(3.0)).shape)
print(waves.__name__, waves.__doc__, inspect.signature(waves), inspect.isfunction(waves), waves.__wrapped__.__name__)

linear = torch.nn.Linear(3, 3)
module = torch.compile(linear, fullgraph=True, backend="eager")
with torch.no_grad():
    print(module(torch.ones(1, 3)).shape, torch.allclose(module(torch.ones(2, 3)), linear(torch.ones(2, 3))))
print(type(module).__name__, isinstance(module, torch.nn.Module), isinstance(module, torch.nn.Linear))
print(module, list(module.state_dict()), module._orig_mod is linear, module.in_features)
module.eval()
print(linear.training, module.training, len(list(module.parameters())), list(copy.deepcopy(module).state_dict()))

# What is saved loads where there is no penstock, too.
memory = io.BytesIO()
torch.save(module, memory)
memory.seek(0)
for again in (pickle.loads(pickle.dumps(module)), torch.load(memory, weights_only=False), copy.copy(module)):
    print(type(again).__name__, list(again.state_dict()), torch.allclose(again(torch.ones(2, 3)), linear(torch.ones(2, 3))))
print([name in dir(module) for name in ("weight", "in_features", "_orig_mod", "forward", "no_such_name")])


@torch.compile(fullgraph=True, backend="eager")
def branch(x):
    if x.sum() > 0:
        return x
    return -x


@torch.compile(fullgraph=True, backend="eager")
def caught(x):
    y = x + 1
    try:
        if y.sum() > 0:
            return y
    except RuntimeError:
        return x
    return -y


@torch.compile(fullgraph=True, backend="eager")
def shout(x):
    print("never")
    return x + 1


@torch.compile(fullgraph=True, backend="eager")
def asks(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x


@torch.compile(fullgraph=True, dynamic=False, backend="eager")
def asserts(x):
    assert x.sum() > 0
    return x * 2


for function in (branch, branch, caught, shout, asks, asserts, asserts):
    try:
        print(function.__name__, function(torch.ones(3)))
    except Exception as error:
        names = [type(error).__module__, *(kind.__name__ for kind in type(error).__mro__)]
        print(function.__name__, names, str(error).splitlines()[0])
        print([line.strip() for line in str(error).splitlines() if line.startswith("   File")][0].partition(", ")[2])
try:
    branch(torch.ones(3))
except torch._dynamo.exc.Unsupported:
    print("caught by name")
print(branch.__wrapped__(torch.ones(2)))


@torch.compiler.disable
def plain(x):
    return x * 2, torch.compiler.is_compiling()


@torch.compile(backend="eager")
def nested(x):
    y = (x + 1).relu()
    return plain(y), either_compiled(y), torch.compiler.is_compiling()


def either(x):
    return x + 1 if torch.compiler.is_compiling() else x - 1


either_compiled = torch.compile(either, backend="aot_eager")
for _ in range(3):
    print(nested(torch.ones(2)), plain(torch.ones(2)), torch.compiler.is_compiling())
    print(either(torch.ones(2)), either_compiled(torch.ones(2)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(2.0))

    @torch.compile(backend="eager")
    def forward(self, x, *, shift=0):
        return x * self.scale + shift


net = Net()
print(net(torch.ones(2)), net(torch.ones(2), shift=3))
other = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
other.compile(dynamic=True, backend="eager")
print(other(torch.tensor([-1.0, 1.0])), other(torch.tensor([2.0])))

for wrong in ({"backend": "no such backend"}, {"mode": "no such mode"}, {"mode": "default", "options": {}},
              {"options": {"no such option": 1}}):
    try:
        torch.compile(either, **wrong)
    except Exception as error:
        print(type(error).__name__, str(error)[:40])
print(torch.compile(either, disable=True)(torch.ones(1)))
print(torch.compiler.allow_in_graph(either) is either, torch.compiler.reset())


@torch._dynamo.optimize("eager", nopython=True)
def old_way(x):
    return x.exp().sum()


print(old_way(torch.zeros(4)), torch._dynamo.disable(old_way)(torch.zeros(2)))
marked = torch.ones(3, 2)
torch._dynamo.mark_dynamic(marked, 0)
torch._dynamo.mark_static(marked, 1)
print(either_compiled(marked).shape)
torch._dynamo.reset()
print(either_compiled(marked).sum().item() > 0)


def backend(graph, inputs):
    print("backend of the program", len(inputs))
    return graph.forward


print(torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2)))
