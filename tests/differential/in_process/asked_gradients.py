"""torch.autograd.grad within functions: penalties, inner loops, derivatives of derivatives, and what may stand in the way."""
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
CALLS = 4


def make_net(*sizes):
    torch.manual_seed(0)
    layers = []
    for one, other in zip(sizes, sizes[1:]):
        layers += [nn.Linear(one, other), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def text(values):
    values = values if isinstance(values, (tuple, list)) else [values]
    return [None if v is None else (tuple(v.shape), v.requires_grad, round((v.detach() * torch.arange(1, v.numel() + 1).reshape(v.shape)).sum().item(), 5))
            if isinstance(v, torch.Tensor) else v for v in values]


def batch(seed, *shape):
    torch.manual_seed(seed)
    return torch.randn(*shape)


NET, JUDGE = make_net(3, 8, 2), make_net(3, 8, 1)


def plain(x):
    loss = (NET(x) ** 2).mean()
    first, *rest = torch.autograd.grad(loss, [NET[0].weight, NET[2].bias])
    return first * 2, rest[0] + 1, loss.detach()


def with_respect_to_generator(x):
    loss = NET(x).square().sum()
    return [g.abs().sum() for g in torch.autograd.grad(loss, NET.parameters())]


def of_inputs(x):
    y = NET(x)
    return torch.autograd.grad(y, x, torch.ones_like(y))[0], torch.autograd.grad(NET(x).sum(), (x,))[0]


def given(x):
    h = NET[0](x)
    y = NET[2](NET[1](h))
    return torch.autograd.grad([y, h], [x], [y.detach(), h.detach() * 2])


def within(x):
    h = torch.tanh(NET[0](x))
    y = (h * x.sum()).sum()
    gh, gx = torch.autograd.grad(y, [h, x])
    return gh, gx


def unused(x, z):
    y = (x * 3).sum()
    return torch.autograd.grad(y, [x, z], allow_unused=True)


def of_both(x, z):
    return torch.autograd.grad((x * z.square()).sum(), [x, z])


def kept(x):
    y = NET(x).square().sum()
    first = torch.autograd.grad(y, x, retain_graph=True)[0]
    return first, torch.autograd.grad(y, NET[0].weight)[0]


def penalty(x):
    y = JUDGE(x)
    slope, = torch.autograd.grad(y.sum(), x, create_graph=True)
    loss = y.mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
    loss.backward()
    return loss.detach()


def penalty_of_weights(x):
    loss = (NET(x) ** 2).mean()
    grads = torch.autograd.grad(loss, list(NET.parameters()), create_graph=True)
    total = loss + 0.1 * sum(g.square().sum() for g in grads)
    total.backward()
    return total.detach()


def physics(x):
    u = JUDGE(x)
    du, = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
    ddu, = torch.autograd.grad(du[:, 0], x, torch.ones_like(du[:, 0]), create_graph=True)
    residual = ddu[:, 0] + du[:, 1] * u[:, 0]
    loss = residual.square().mean()
    loss.backward()
    return loss.detach()


def inner_loop(x, y):
    weights = dict(NET.named_parameters())
    for _ in range(2):
        loss = F.mse_loss(functional_call(NET, weights, (x,)), y)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {name: p - 0.1 * g for (name, p), g in zip(weights.items(), grads)}
    outer = F.mse_loss(functional_call(NET, weights, (x,)), y + 1)
    outer.backward()
    return outer.detach()


def first_order(x, y):
    weights = [p for p in NET.parameters()]
    loss = F.mse_loss(NET(x), y)
    fast = [p.detach() - 0.1 * g for p, g in zip(weights, torch.autograd.grad(loss, weights))]
    return fast[0], fast[-1]


def by_hand(x, y):
    loss = F.cross_entropy(NET(x), y)
    grads = torch.autograd.grad(loss, list(NET.parameters()))
    with torch.no_grad():
        for p, g in zip(NET.parameters(), grads):
            p.sub_(g, alpha=0.1)
    return loss.detach()


def of_ops(x):
    y = F.gelu(x) + F.softplus(x) * torch.sigmoid(x) + F.layer_norm(x, (3,)) + x.softmax(1) + F.elu(x) + x.relu() * x.abs().sqrt()
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    return torch.autograd.grad((g * x).sum(), x)[0]


def left_open(x):
    y = NET(x).sum()
    g, = torch.autograd.grad(y, x, create_graph=True)
    return g, y


def spent(x):
    y = NET(x).square().sum()
    return torch.autograd.grad(y, x)[0], y


def passed_on(x):
    y = x + 1
    ones = torch.ones_like(y)
    g, = torch.autograd.grad(y, x, ones)
    ones.add_(1)
    return g * 2, g is ones


def batched(x):
    y = x.square()
    return torch.autograd.grad(y, x, torch.eye(x.numel()).reshape(-1, *x.shape), is_grads_batched=True)[0]


def attempt(name, function, *arguments):
    try:
        result = function(*arguments)
        print(name, text(result))
        if name == "left_open":
            result[0].square().sum().backward()
        if name == "spent":
            result[1].backward()
    except RuntimeError as error:
        print(name, type(error).__name__, str(error).splitlines()[0][:60])
    print("  ", text([p.grad for net in (NET, JUDGE) for p in net.parameters()]), [text(a.grad) for a in arguments if a.is_leaf])
    for p in [*NET.parameters(), *JUDGE.parameters()]:
        p.grad = None


for call in range(CALLS):
    for function in (plain, with_respect_to_generator):
        attempt(function.__name__, function, batch(call, 4, 3))
    for function in (of_inputs, given, within, kept, penalty, physics, of_ops, left_open, spent, passed_on, batched):
        attempt(function.__name__, function, batch(call, 4, 3).requires_grad_())
    attempt("unused", unused, batch(call, 3).requires_grad_(), batch(call, 2).requires_grad_())
    attempt("penalty_of_weights", penalty_of_weights, batch(call, 4, 3))
    for function in (inner_loop, first_order):
        attempt(function.__name__, function, batch(call, 4, 3), batch(call + 10, 4, 2))
    attempt("by_hand", by_hand, batch(call, 4, 3), torch.tensor([0, 1, 1, 0]))

for seed in range(3):
    one = batch(seed, 3).requires_grad_()
    attempt("of_both", of_both, one, batch(seed + 5, 3).requires_grad_())
attempt("of one", of_both, one, one)

# What nobody may look at.
handle = NET[0].weight.register_hook(lambda g: g * 2)
attempt("hooked", plain, batch(1, 4, 3))
attempt("hooked", plain, batch(2, 4, 3))
handle.remove()
attempt("again", plain, batch(2, 4, 3))
attempt("no leaf", of_inputs, batch(2, 4, 3))
attempt("not a leaf", of_inputs, batch(2, 4, 3).requires_grad_() * 2)
with torch.no_grad():
    attempt("without", of_inputs, batch(2, 4, 3).requires_grad_())
torch.set_default_dtype(torch.float32)
