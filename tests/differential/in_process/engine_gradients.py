"""torch.autograd.grad in functions: of one number and of many, for leaves and for what the function computed, once and again
(create_graph), kept and let go, for what is not used; what hangs on a leaf, what lies otherwise, and what torch refuses."""
import torch
from torch import nn
from torch.autograd import grad

torch.set_grad_enabled(True)


def make(seed, *widths, act=nn.Tanh):
    torch.manual_seed(seed)
    layers = [module for a, b in zip(widths, widths[1:]) for module in (nn.Linear(a, b), act())]
    return nn.Sequential(*layers[:-1]).double()


def points(seed, rows=7, wide=2):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(rows, wide, generator=generator, dtype=torch.float64)


def steps_of(one):
    """Its strides; along a dim with one element any will do."""
    return [stride for size, stride in zip(one.shape, one.stride()) if size > 1]


def shown(one):
    if isinstance(one, (tuple, list)):
        return "[" + ", ".join(map(shown, one)) + "]"
    if not isinstance(one, torch.Tensor):
        return str(one)
    numbers = [f"{round(number, 7) + 0.0:.7f}" for number in (one.double().sum().item(), one.double().square().sum().item())]
    return f"{'/'.join(numbers)} {tuple(one.shape)} {steps_of(one)} {one.requires_grad} {one.is_leaf}"


def attempt(name, function, *inputs):
    for turn in range(3):
        try:
            print(name, turn, shown(function(*(make_one() if callable(make_one) else make_one for make_one in inputs))))
        except (RuntimeError, ValueError, TypeError) as error:
            print(name, turn, type(error).__name__, str(error).splitlines()[0])


NET = make(3, 2, 8, 8, 1)
LEAF = lambda: points(5).requires_grad_()
PLAIN = lambda: points(6)


# -- once

def of_a_number(x):
    return grad(NET(x).square().mean(), x)[0]


def of_many(x):
    y = NET(x)
    return grad(y, x, torch.full_like(y, 0.5))[0]


def of_several(x):
    y = NET(x)
    return grad([y.sum(), (y * y).sum()], [x], [torch.tensor(2.0, dtype=torch.float64), torch.tensor(3.0, dtype=torch.float64)])


def of_several_without(x):
    y = NET(x)
    return grad((y.sum(), (y * y).sum()), x)


def for_parameters(x):
    return grad(NET(x).square().mean(), NET.parameters())


def for_a_dictionary(x):
    parameters = dict(NET.named_parameters())
    return grad(NET(x).square().mean(), list(parameters.values()))


def for_both(x):
    first = NET[0](x)
    y = NET[2](NET[1](first)).square().sum()
    return grad(y, [x, first, NET[2].weight])


def for_what_is_computed(x):
    hidden = torch.sin(NET[0](x))
    loss = (hidden * hidden).sum() + NET[2](hidden).sum()
    return grad(loss, hidden)[0]


def attack(x):
    sign = grad(NET(x).square().mean(), [x])[0].sign()
    return (x.detach() + 0.1 * sign).clamp(0, 1)


def langevin(x):
    with torch.enable_grad():
        energy = NET(x).sum()
        slope, = grad(energy, x)
    with torch.no_grad():
        return x - 0.1 * slope


for function in (of_a_number, of_many, of_several, of_several_without, for_parameters, for_a_dictionary, for_both, for_what_is_computed, attack,
                 langevin):
    attempt(function.__name__, function, LEAF)


# -- again

def residual(x):
    u = NET(x)
    du = grad(u, x, torch.ones_like(u), create_graph=True)[0]
    ux, ut = du[:, :1], du[:, 1:]
    uxx = grad(ux, x, torch.ones_like(ux), create_graph=True)[0][:, :1]
    return ut + u * ux - 0.1 * uxx


def trains(net, optimizer, loss_of):
    def step(x):
        optimizer.zero_grad()
        loss = loss_of(x)
        loss.backward()
        optimizer.step()
        return loss.detach(), *(parameter.grad for parameter in net.parameters())
    return step


def penalty(x):
    scores = NET(x)
    slopes = grad(outputs=scores, inputs=x, grad_outputs=torch.ones_like(scores), create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((slopes.norm(2, dim=1) - 1) ** 2).mean() + scores.mean()


def inner_step(x):
    inner = NET(x).square().mean()
    slopes = grad(inner, tuple(NET.parameters()), create_graph=True)
    w, b, *_ = [parameter - 0.1 * slope for parameter, slope in zip(NET.parameters(), slopes)]
    return torch.tanh(x @ w.t() + b).square().mean()


def inner_step_of_first_order(x):
    slopes = grad(NET(x).square().mean(), tuple(NET.parameters()))
    w, b, *_ = [parameter - 0.1 * slope for parameter, slope in zip(NET.parameters(), slopes)]
    return torch.tanh(x @ w.t() + b).square().mean()


def product_with_hessian(x):
    parameters = list(NET.parameters())
    slopes = grad(NET(x).square().mean(), parameters, create_graph=True)
    return sum((slope * torch.ones_like(slope)).sum() for slope in slopes)


for loss_of in (lambda x: residual(x).square().mean(), penalty, inner_step, inner_step_of_first_order, product_with_hessian):
    for optimizer in (torch.optim.SGD(NET.parameters(), 0.01), torch.optim.Adam(NET.parameters(), 0.001)):
        attempt(getattr(loss_of, "__name__", "loss"), trains(NET, optimizer, loss_of), LEAF)


def hessian(x):
    u = (torch.sin(x) * x.roll(1, 0)).sum() * x.prod()
    slope = grad(u, x, create_graph=True)[0].reshape(-1)
    return torch.stack([grad(one, x, retain_graph=True)[0].reshape(-1) for one in slope])


def third(x):
    y = (x ** 4).sum()
    for _ in range(3):
        y = grad(y, x, create_graph=True)[0].sum()
    return y.detach()


def slopes_that_are_handed_on(x):
    return grad(NET(x).sum(), x, create_graph=True)[0]


def residual_and_backward_outside():
    x = LEAF()
    loss = residual(x).square().mean()
    loss.backward()
    return x.grad


def by_rows(x):
    y = NET(x).squeeze(1)
    for _ in range(6):
        y = torch.cat([y, y.flip(0)])
    return torch.stack([grad(one, x, retain_graph=True)[0] for one in y.unbind()])


def forward_by_two_backwards(x):
    direction = torch.zeros(7, 1, dtype=torch.float64, requires_grad=True)
    slope = grad(NET(x), x, direction, create_graph=True)[0]
    return grad(slope, direction, torch.ones_like(slope))[0]


def asked_for_twice(x):
    return grad(NET(x).sum(), [x, x])


attempt("rows", by_rows, LEAF)
attempt("forward", forward_by_two_backwards, LEAF)
attempt("twice", asked_for_twice, LEAF)
attempt("hessian", hessian, lambda: points(9, 2).requires_grad_())
attempt("third", third, LEAF)
attempt("handed on", slopes_that_are_handed_on, LEAF)
attempt("outside", residual_and_backward_outside)
for act in (nn.ReLU, nn.GELU, nn.SiLU, nn.Softplus, nn.ELU, nn.Sigmoid, nn.Softmax, nn.LeakyReLU, nn.Hardswish, nn.Mish, nn.LogSigmoid):
    NET = make(4, 2, 8, 1, act=(lambda: nn.Softmax(-1)) if act is nn.Softmax else act)
    attempt(act.__name__, lambda x: (trains(NET, torch.optim.SGD(NET.parameters(), 0.01), penalty)(x)), LEAF)


def penalty_of_what_torch_differentiates(x):
    u = torch.linalg.det(x.t() @ x + torch.eye(2, dtype=torch.float64)) + torch.special.i1(x).sum()
    return (grad(u, x, create_graph=True)[0] ** 2).sum() + NET(x).mean()


attempt("differentiated by torch", trains(NET, torch.optim.SGD(NET.parameters(), 0.01), penalty_of_what_torch_differentiates), LEAF)


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Conv2d(1, 3, 3, padding=1), nn.GroupNorm(1, 3), nn.Linear(3, 1)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x))).mean((2, 3)))


torch.manual_seed(8)
NET = Picture().double()



def penalty_of_pictures(x):
    scores = NET(x)
    slopes = grad(scores.sum(), x, create_graph=True)[0]
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean() + scores.mean()


attempt("pictures", lambda x: trains(NET, torch.optim.SGD(NET.parameters(), 0.01), penalty_of_pictures)(x),
        lambda: points(3, 4, 36).reshape(4, 1, 6, 6).requires_grad_())


# -- kept, let go, not used, refused

NET = make(3, 2, 8, 8, 1)
OTHER = torch.ones(2, dtype=torch.float64, requires_grad=True)


def kept(x):
    y = NET(x).sum()
    first = grad(y, x, retain_graph=True)[0]
    return first, grad(y, x)[0]


def let_go(x):
    y = NET(x).sum()
    first = grad(y, x)[0]
    return first, grad(y, x)[0]


def kept_and_backward(x):
    y = NET(x).square().sum()
    first = grad(y, x, retain_graph=True)[0]
    y.backward()
    return first, x.grad


def not_used(x):
    return grad(NET(x).sum(), [x, OTHER])


def not_used_but_allowed(x):
    first, second = grad(NET(x).sum(), [x, OTHER], allow_unused=True)
    return first, second is None


def not_used_made_zero(x):
    return grad(NET(x).sum(), [x, OTHER], materialize_grads=True)


def needs_no_gradient(x):
    return grad((x.detach() * 2).sum(), x)


def of_other_shape(x):
    return grad(NET(x), x, torch.ones(3, dtype=torch.float64))


def of_no_number(x):
    return grad(NET(x), x)


def of_a_sum(x):
    return grad(x.sum(), x)[0]


def of_a_transpose(x):
    return grad((x.t() * torch.arange(7, dtype=torch.float64)).square().sum(), [x, NET[0].weight], allow_unused=True)


def of_a_batch(x):
    y = NET(x).squeeze(1)
    return grad(y, x, torch.eye(7, dtype=torch.float64), is_grads_batched=True)[0]


def without_gradients(x):
    with torch.no_grad():
        y = NET(x).sum()
    return grad(y, x)


def written(x):
    hidden = x * 2
    hidden.mul_(3)
    return grad(hidden.square().sum(), hidden)[0]


for function in (kept, let_go, kept_and_backward, not_used, not_used_but_allowed, not_used_made_zero, needs_no_gradient, of_other_shape, of_no_number,
                 of_a_sum, of_a_transpose, of_a_batch, without_gradients, written):
    attempt(function.__name__, function, LEAF)


def hooked():
    x = points(5).requires_grad_()
    x.register_hook(lambda gradient: gradient * 2)
    return x


def computed_before():
    return points(5).requires_grad_() * 2


def same_twice(x, y):
    return grad((x * y).sum(), [x, y])


attempt("hooked", of_a_number, hooked)
attempt("plain again", of_a_number, LEAF)
attempt("computed before", of_a_number, computed_before)
TWICE = points(2).requires_grad_()
attempt("two", same_twice, LEAF, LEAF)
attempt("the same twice", same_twice, TWICE, TWICE)
for rows in (4, 5, 6, 9):
    attempt(f"{rows} rows", of_many, lambda: points(5, rows).requires_grad_())
    attempt(f"{rows} rows", trains(NET, torch.optim.SGD(NET.parameters(), 0.01), penalty), lambda: points(5, rows).requires_grad_())
