"""What torch keeps for backward: errors where a program writes it meanwhile, none where it writes anything else,
hooks on what is saved that come after the call, and calls that give nothing back."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
ROUNDS = 4


def outcome(f, *arguments):
    """What f gives, or its error, with the first words of what it says."""
    try:
        result = f(*arguments)
    except RuntimeError as error:
        return type(error).__name__ + ": " + " ".join(str(error).split()[:9])
    return [round(float(x), 4) for x in result.flatten()]


def go_backward(name, f, write, *tensors):
    """Calls f, lets `write` have its way with what it gives, and goes backward."""
    def once():
        inputs = [(t * 1 if t.requires_grad else t.clone()) for t in tensors]
        results = f(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        write(inputs, results)
        leaves = [t for t in tensors if t.requires_grad]
        return torch.cat([g.flatten()[:3] for g in torch.autograd.grad(results[0].sum(), leaves)])
    print(name, [outcome(once) for _ in range(ROUNDS)])


def add_to(which):
    def write(inputs, results):
        ([*inputs, *results][which]).add_(1)
    return write


a = torch.arange(1.0, 10).view(3, 3).requires_grad_()
b = (torch.arange(9.0).view(3, 3) / 5).requires_grad_()
image = torch.arange(16.0).view(1, 1, 4, 4).requires_grad_()
places = torch.zeros(3, 3, dtype=torch.long)
mask = torch.eye(3, dtype=torch.bool)

# Inputs and results that torch keeps, whatever backward reads here.
go_backward("mul, first", lambda x, y: (x * y).relu(), add_to(0), a, b)
go_backward("mul, second", lambda x, y: (x * y).relu(), add_to(1), a, b)
go_backward("matmul", lambda x, y: (x @ y).relu(), add_to(0), a, b)
go_backward("exp", lambda x: x.exp(), add_to(1), a)
go_backward("exp, its input", lambda x: x.exp(), add_to(0), a)
go_backward("sin", lambda x: x.sin(), add_to(0), a)
go_backward("sin, its result", lambda x: x.sin(), add_to(1), a)
go_backward("softmax", lambda x: F.softmax(x, -1), add_to(1), a)
go_backward("sum", lambda x, y: (x + y).mean(1), add_to(0), a, b)
go_backward("norm", lambda x: x.norm(dim=1), add_to(0), a)
go_backward("norm, its result", lambda x: x.norm(dim=1), add_to(1), a)
go_backward("std", lambda x: x.std(1), add_to(0), a)
go_backward("prod", lambda x: x.prod(1), add_to(1), a)
go_backward("gather", lambda x, i: x.gather(1, i), lambda inputs, results: inputs[1].zero_(), a, places)
go_backward("masked_fill", lambda x, m: x.masked_fill(m, 0.5), lambda inputs, results: inputs[1].logical_not_(), a, mask)
go_backward("max, places", lambda x: x.max(1), lambda inputs, results: results[1].zero_(), a)
go_backward("sort, places", lambda x: x.sort(1, descending=True), lambda inputs, results: results[1].zero_(), a)
go_backward("topk, places", lambda x: x.topk(2), lambda inputs, results: results[1].zero_(), a)
go_backward("pool, places", lambda x: F.max_pool2d(x, 2, return_indices=True),
            lambda inputs, results: results[1].zero_(), image)
go_backward("detached", lambda x: (x.exp(), x.exp().detach()), lambda inputs, results: results[1].zero_(), a)
go_backward("forgotten", lambda x: (x.exp(), x.sin()), lambda inputs, results: (inputs[0].mul_(3), results[0].detach())[1], a)
go_backward("nothing", lambda x, y: (x * y).exp().sum(1), lambda inputs, results: None, a, b)


# The same, all of it in one function.
def store_behind_relu(x):
    y = (x * 2).relu_()
    y[0] = 1
    return y


def add_behind_exp(x):
    y = x.exp()
    z = y * x
    y.zero_()
    return z


def add_behind_views(x):
    y = x * 2
    z = y.t().sin()
    y[1].add_(1)
    return z


def harmless_writes(x):
    y = x + 2
    z = y.mean(1)
    y.add_(1)
    return z * 3


for function in (store_behind_relu, add_behind_exp, add_behind_views, harmless_writes):
    go_backward(function.__name__, function, lambda inputs, results: None, a)


# An op in place keeps a copy of what it replaces.
def in_place(x):
    y = x * 2
    y.sin_()
    y.mul_(3)
    return y


go_backward("in place", in_place, lambda inputs, results: results[0].add_(1), a)


# Gradients of gradients where the program wrote what torch did not keep.
def mixed(x, y):
    return ((x + y).exp() * y).sum()


for _ in range(ROUNDS):
    x, y = torch.arange(3.0, requires_grad=True), torch.ones(3, requires_grad=True)
    hidden = x * x
    loss = mixed(hidden, y)
    hidden.mul_(5)
    first, = torch.autograd.grad(loss, x, create_graph=True)
    print("written", first.tolist(), torch.autograd.grad(first.sum(), (x, y))[0].tolist())


# Hooks that are set when gradients are asked for are none of the call's.
def cubed(x):
    return (x**3).sum()


def twice(tensor):
    return 2 * tensor


for _ in range(ROUNDS):
    x = torch.arange(4.0, requires_grad=True)
    loss = cubed(x)
    with torch.autograd.graph.saved_tensors_hooks(twice, lambda tensor: tensor):
        slope, = torch.autograd.grad(loss, x, create_graph=True)
        slope.sum().backward()
    print("hooks behind", slope.tolist(), x.grad.tolist())
    with torch.autograd.graph.saved_tensors_hooks(twice, lambda tensor: tensor):
        loss = cubed(x)
    print("hooks around", torch.autograd.grad(loss, x, create_graph=True)[0].tolist())


# Nothing is given back.
def scale(x, by):
    x.mul_(by)


def scale_and_add(x, by):
    x.mul_(by)
    x[0].add_(by[0])


for function in (scale, scale_and_add):
    for _ in range(ROUNDS):
        x, by = torch.ones(3, 3, requires_grad=True), torch.full((3, 3), 2.0, requires_grad=True)
        hidden = x * 3
        function(hidden, by)
        hidden.sum().backward()
        print(function.__name__, x.grad[0].tolist(), by.grad[0].tolist())


# Optimizers that gradients go through.
def step(kind, parameter, gradient, state):
    parameter = parameter.clone()
    parameter.grad = gradient
    optimizer = kind([parameter], differentiable=True)
    optimizer.state[parameter].update({name: value.clone() for name, value in state.items()})
    optimizer.step()
    return parameter


for kind, names in ((torch.optim.Adamax, ("exp_avg", "exp_inf")), (torch.optim.SGD, ("momentum_buffer",))):
    leaves = [torch.rand(4, dtype=torch.float64, requires_grad=True) for _ in range(2 + len(names))]
    for _ in range(3):
        state = dict(zip(names, leaves[2:]))
        if kind is not torch.optim.SGD:
            state["step"] = torch.tensor(10.0, dtype=torch.float64)
        new = step(kind, *leaves[:2], state)
        batch = torch.autograd.grad(new, leaves[:2], torch.eye(4, dtype=torch.float64), is_grads_batched=True)
        print(kind.__name__, [[round(float(x), 5) for x in one.flatten()] for one in batch])


# What recurrent cells keep, which torch takes apart: weights where what they are multiplied by has a gradient, states.
def cell_outcome(cell, states, tracked, target):
    """Whether backward goes on when `target` was written behind forward. `tracked`: which of input and states have
    gradients."""
    torch.manual_seed(0)
    given = [torch.randn(2, 4).requires_grad_(has) * 1 for has in (tracked[0], *tracked[1:] * states)]
    made = cell(given[0], tuple(given[1:]) if states == 2 else given[1])
    made = made if isinstance(made, tuple) else (made,)
    with torch.no_grad():
        {**dict(cell.named_parameters()), **dict(zip("xhc", given)), "result": made[0]}[target].add_(0)
    try:
        sum(one.sum() for one in made).backward()
    except RuntimeError as error:
        return str(error).split()[:5]
    return "goes on"


for kind, states in ((torch.nn.LSTMCell, 2), (torch.nn.GRUCell, 1), (torch.nn.RNNCell, 1)):
    cell = kind(4, 4)
    for tracked in ((False, False), (True, False), (False, True), (True, True)):
        for target in ("x", "h", "weight_ih", "weight_hh", "bias_ih", "bias_hh", "result"):
            print(kind.__name__, tracked, target,
                  [cell_outcome(cell, states, tracked, target) for _ in range(ROUNDS)])
