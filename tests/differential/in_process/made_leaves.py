"""Leaves that a function makes: requires_grad_ of what it computed, and functions that are told requires_grad=True, asked for by
autograd.grad and backward(), in inner loops, under penalties, with what hangs on them left behind or not."""
import torch
from torch import nn
from torch.autograd import grad

torch.set_grad_enabled(True)
torch.manual_seed(0)
NET = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()
OPTIMIZER = torch.optim.SGD(NET.parameters(), 0.01)


def shown(one):
    if isinstance(one, (list, tuple)):
        return [shown(item) for item in one]
    if isinstance(one, torch.Tensor):
        return f"{one.detach().double().sum().item():.8f} {tuple(one.shape)} {one.requires_grad} {one.is_leaf} {one.grad is not None if one.is_leaf else '-'}"
    return one


def saliency(x):
    x = x.detach().requires_grad_()
    return grad(NET(x).sum(), x)[0]


def saliency_of_computed(x):
    x = (x * 2 + 1).requires_grad_(True)
    y = NET(x)
    return grad(y, x, torch.ones_like(y))[0].abs(), y.detach()


def by_attribute(x):
    x = x.clone()
    x.requires_grad = True
    NET(x).square().sum().backward()
    inner = x.grad
    OPTIMIZER.zero_grad()
    return inner * 2


def used_before(x):
    x = x + 1
    y = x * 3
    x.requires_grad_()
    return grad((x * y).sum(), x)[0], y


def attack(x):
    start = x.detach()
    adversarial = start + 0.01
    for _ in range(3):
        adversarial = adversarial.detach().requires_grad_()
        step = grad(NET(adversarial).square().mean(), adversarial)[0]
        adversarial = adversarial.detach() + 0.05 * step.sign()
        adversarial = torch.min(torch.max(adversarial, start - 0.1), start + 0.1)
    return adversarial


def accumulated(x):
    x = x.clone().requires_grad_()
    seen = [x.grad is None]
    for k in range(3):
        (x * x * (k + 1)).sum().backward()
    first = x.grad.clone()
    x.grad.zero_()
    (x * 5).sum().backward()
    second = x.grad.clone()
    x.grad = None
    seen.append(x.grad is None)
    (x * 7).sum().backward()
    return first, second, x.grad.detach() * 1, seen


def penalty(x):
    mixed = (0.3 * x + 0.7 * x.flip(0)).requires_grad_(True)
    score = NET(mixed)
    slope = grad(score, mixed, torch.ones_like(score), create_graph=True, retain_graph=True)[0]
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


def trained_with_penalty(x):
    OPTIMIZER.zero_grad()
    loss = NET(x).mean() + 10 * penalty(x)
    loss.backward()
    OPTIMIZER.step()
    return loss.detach()


def left(x):
    x = (x + 1).requires_grad_()
    return x, (x * 2).sum()


def left_result(x):
    x = (x + 1).requires_grad_()
    return NET(x).mean()


def left_gradient(x):
    x = (x + 1).requires_grad_()
    (x * 2).sum().backward()
    return x


def left_attribute(x):
    NET.kept = (x + 1).requires_grad_()
    return grad(NET.kept.square().sum(), NET.kept)[0]


def without_gradients(x):
    with torch.no_grad():
        x = (x + 1).requires_grad_()
        return x * 2


def written(x):
    x = (x + 1).requires_grad_()
    with torch.no_grad():
        x.mul_(2)
    return grad((x * x).sum(), x)[0]


def of_integers(x):
    return (x.long() + 1).requires_grad_()


def not_a_leaf(x):
    y = NET(x)
    return y.requires_grad_(False)


def hooked(x):
    x = (x + 1).requires_grad_()
    x.register_hook(lambda gradient: gradient * 3)
    return grad((x * x).sum(), x)[0]


def langevin(x):
    x = x.detach()
    for _ in range(4):
        x.requires_grad_()
        step = grad(-(x ** 2).sum() / 2, x)[0]
        x = (x + 0.1 * step).detach()
    return x


def of_weights(x):
    with torch.no_grad():
        y = nn.functional.linear(x, NET[0].weight)
    y.requires_grad_()
    return grad((y * nn.functional.linear(x, NET[0].weight)).sum(), [y, NET[0].weight], torch.ones((), dtype=torch.float64))


def drawn(x):
    delta = torch.zeros_like(x)
    delta.uniform_(-0.1, 0.1).requires_grad_()
    NET(x + delta).square().mean().backward()
    return delta.grad.sign()


def of_factories(x):
    found = []
    for start in (torch.zeros_like(x, requires_grad=True), torch.full((4, 3), 0.5, dtype=x.dtype, requires_grad=True), x.new_ones(4, 3, requires_grad=True),
                  torch.tensor([[0.25], [0.5], [1.0], [2.0]], dtype=x.dtype, requires_grad=True), torch.tensor(0.5, requires_grad=True)):
        found.append(grad((NET(x + start) ** 2).sum(), start)[0])
    return found


def perturbed(x):
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(3):
        (NET(x + delta) ** 2).sum().backward()
        moved = (delta + 0.05 * delta.grad.sign()).clamp(-0.1, 0.1)
        delta = moved.detach().clone().requires_grad_()
    return delta.detach()


def not_required(x):
    return torch.zeros_like(x, requires_grad=False) + torch.tensor([1.0, 2.0, 3.0], requires_grad=False)


def left_factory(x):
    made = torch.ones_like(x, requires_grad=True)
    return made, (made * x).sum()


def of_integer_factory(x):
    return torch.zeros(3, dtype=torch.long, requires_grad=True)


def without_gradients_made(x):
    with torch.no_grad():
        made = torch.ones(3, requires_grad=True)
        return made, made * 2


FUNCTIONS = (of_weights, drawn, of_factories, perturbed, not_required, left_factory, of_integer_factory, without_gradients_made, saliency, saliency_of_computed, by_attribute, used_before, attack, accumulated, penalty, trained_with_penalty, left, left_result, left_gradient, left_attribute,
             without_gradients, written, of_integers, not_a_leaf, hooked, langevin)
for function in FUNCTIONS:
    for turn in range(4):
        x = torch.linspace(-1, 1, 12, dtype=torch.float64).view(4, 3) * (turn + 1)
        try:
            result = function(x)
            print(function.__name__, turn, shown(result))
            if function in (left, left_factory):
                result[1].backward()
                print(shown(result[0].grad))
            if function in (left_result, penalty):
                result.backward()
                print(shown([parameter.grad for parameter in NET.parameters()]))
                NET.zero_grad()
            if function is left_gradient:
                print(shown(result.grad))
        except RuntimeError as error:
            print(function.__name__, turn, str(error).splitlines()[0])
    print(shown([parameter.grad for parameter in NET.parameters()]))
    NET.zero_grad()
