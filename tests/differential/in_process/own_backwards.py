"""Functions of autograd whose backward the program wrote, where gradients are asked for."""
import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable


def made(*sizes, seed=1, grad=True):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).requires_grad_(grad)


def shown(tensor):
    return None if tensor is None else [f"{x:.4f}" for x in tensor.detach().double().flatten().tolist()[:6]]


def thrice(name, function, *shapes, **options):
    """The function on three sets of leaves, the gradients of what it gives, and the leaves."""
    for turn in range(3):
        leaves = [made(*shape, seed=turn + i) for i, shape in enumerate(shapes)]
        try:
            results = function(*leaves, **options)
            results = results if isinstance(results, tuple) else (results,)
            total = sum((one * (i + 1)).sum() for i, one in enumerate(results) if torch.is_tensor(one) and one.requires_grad)
            total.backward()
            print(name, turn, [shown(one) if torch.is_tensor(one) else one for one in results],
                  [shown(leaf.grad) for leaf in leaves], [type(one.grad_fn).__name__ for one in results if torch.is_tensor(one)])
        except Exception as error:
            print(name, turn, type(error).__name__, str(error)[:90])


class Step(Function):
    alpha = 2.0

    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x)
        ctx.threshold = threshold
        return (x > threshold).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * Step.alpha / (1 + (x - ctx.threshold).abs()) ** 2, None


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 5


class Mask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = x > 0
        return torch.where(ctx.mask, x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.mask


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        result, = ctx.saved_tensors
        return grad * result


class Pair(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a + b, 7, (a > b)

    @staticmethod
    def backward(ctx, g, h, *others):
        a, b = ctx.saved_tensors
        ga = gb = None
        if ctx.needs_input_grad[0]:
            ga = g * b + h
        if ctx.needs_input_grad[1]:
            gb = g * a + h * 2
        return ga, gb


class Top(Function):
    @staticmethod
    def forward(ctx, x):
        values, places = x.max(dim=1)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return values, places

    @staticmethod
    def backward(ctx, grad, _):
        places, = ctx.saved_tensors
        return torch.zeros(ctx.shape).scatter(1, places[:, None], grad[:, None])


class Linear(Function):
    @staticmethod
    def forward(x, weight, bias):
        return x @ weight.t() + bias

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.t() @ x, grad.sum(0)


class Wide(Function):
    """Gives gradients of other sizes and dtypes than its arguments."""

    @staticmethod
    def forward(ctx, x, row):
        ctx.save_for_backward(x, row)
        return x * row

    @staticmethod
    def backward(ctx, grad):
        x, row = ctx.saved_tensors
        return (grad * row).double(), grad * x


class Lazy(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return (7 if g is None else g * 2) + (0 if h is None else h * 3)


class Loud(Function):
    @staticmethod
    def forward(ctx, x):
        print("forward")
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        print("backward", float(grad.sum()))
        return grad * 2


class Counted(Function):
    forwards = backwards = 0

    @staticmethod
    def forward(ctx, x):
        Counted.forwards += 1
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        Counted.backwards += 1
        return grad * 2 * Counted.backwards


notes = []


class Noted(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.number = len(notes)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        notes.append(ctx.number)
        return grad * 2


class State:
    backwards = 0


state = State()


class Kept(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        state.backwards = state.backwards + 1
        return grad * 2


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * 3 * x ** 2


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * 3 * x ** 2


class Doubled(Function):
    """Writes what it takes."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Broken(Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("no gradient today")


class Inner(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Exp.apply(x) + Mask.apply(x)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return Reverse.apply(grad, 0.5) * Exp.apply(x)


class ByVjp(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def vjp(ctx, grad):
        return grad * 11


class NoneFirst(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, grad):
        return None, grad * 2


reverse = Reverse.apply
thrice("step", lambda x: Step.apply(x * 2, 0.3), (4, 3))
Step.alpha = 0.5
thrice("step", lambda x: Step.apply(x * 2, 0.3), (4, 3))
thrice("reverse", lambda x: reverse(x * 2, 0.25) * 3, (4, 3))
thrice("same", lambda x: Same.apply(x * 2) * 3, (4, 3))
thrice("mask", lambda x: Mask.apply(x - 0.1).sin(), (4, 3))
thrice("exp", lambda x: Exp.apply(x.sin()) * 2, (5,))
thrice("pair", lambda a, b: Pair.apply(a * 2, b.cos()), (5,), (5,))
thrice("pair of one", lambda a, b: Pair.apply(a * 2, b.detach()), (5,), (5,))
thrice("first of pair", lambda a, b: Pair.apply(a * 2, b.cos())[0].sin(), (5,), (5,))
thrice("top", lambda x: Top.apply(x * 2), (4, 3))
thrice("linear", lambda x, w, b: torch.relu(Linear.apply(x, w, b)), (4, 3), (2, 3), (2,))
thrice("wide", lambda x, row: Wide.apply(x * 2, row), (4, 3), (1, 3))
thrice("lazy", lambda x: Lazy.apply(x.sin())[1], (5,))
thrice("loud", lambda x: Loud.apply(x.sin()), (5,))
thrice("counted", lambda x: Counted.apply(x.sin()), (5,))
print(Counted.forwards, Counted.backwards)
thrice("noted", lambda x: Noted.apply(x.sin()), (5,))
thrice("kept", lambda x: Kept.apply(x.sin()), (5,))
print(notes, state.backwards)
thrice("once", lambda x: Once.apply(x.sin()), (5,))
thrice("doubled", lambda x: Doubled.apply(x * 3) + 1, (5,))
thrice("broken", lambda x: Broken.apply(x * 3), (5,))
thrice("inner", lambda x: Inner.apply(x * 3), (5,))
thrice("by vjp", lambda x: ByVjp.apply(x.sin()), (5,))
thrice("none", lambda x, y: NoneFirst.apply(x * 2, y * 3), (5,), (5,))
thrice("saved and written behind", lambda x: Exp.apply(x * 2).add_(1), (5,))
thrice("written behind", lambda x: Mask.apply(x * 2).add_(1).sin_() * x, (5,))


class Same2(Function):
    """Gives one tensor twice."""

    @staticmethod
    def forward(ctx, x):
        result = x * 2
        return result, result

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 3


contexts = []


class Stashed(Function):
    @staticmethod
    def forward(ctx, x):
        contexts.append(ctx)
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


class Options(Function):
    @staticmethod
    def forward(ctx, x, options, count=2, flag=None):
        ctx.options, ctx.count = options, count
        return x * count, "text", {"key": 1}, None

    @staticmethod
    def backward(ctx, grad, *others):
        return grad * ctx.count * ctx.options["weight"], None, None, None


class MaybeBias(Function):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.save_for_backward(x, bias)
        return x * 2 if bias is None else x * bias

    @staticmethod
    def backward(ctx, grad):
        x, bias = ctx.saved_tensors
        return (grad * 2, None) if bias is None else (grad * bias, grad * x)


class Given(Function):
    """Gives back what the program has it give."""
    gives = None

    @staticmethod
    def forward(ctx, x, y):
        return x * 2 + y

    @staticmethod
    def backward(ctx, grad):
        return Given.gives(grad)


class Part(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.size = x.size()
        return x[1:]

    @staticmethod
    def backward(ctx, grad):
        whole = grad.new_zeros(ctx.size)
        whole[1:] = grad
        return whole


class Drawing(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.mask = (torch.rand_like(x) > p).float()
        return x * ctx.mask

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.mask, None


class Decorated(Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad


def writes_grad(grad):
    return grad.mul_(2), None


def draws(grad):
    return grad * torch.rand_like(grad), None


def branches(grad):
    return (grad / 2 if grad.abs().max() > 2 else grad), None


thrice("twice the same", lambda x: Same2.apply(x.sin()), (5,))
thrice("stashed", lambda x: Stashed.apply(x.sin()), (5,))
print(len(contexts), type(contexts[0]).__name__)
thrice("options", lambda x: Options.apply(x.sin(), {"weight": 3}, 4, None), (5,))
thrice("defaults", lambda x: Options.apply(x.sin(), {"weight": 3}), (5,))
thrice("without bias", lambda x: MaybeBias.apply(x.sin(), None), (5,))
thrice("bias", lambda x, b: MaybeBias.apply(x.sin(), b), (5,), (5,))
thrice("part", lambda x: Part.apply(x.sin()) * 2, (5,))
torch.manual_seed(3)
thrice("drawing", lambda x: Drawing.apply(x.sin(), 0.5), (6,))
thrice("decorated", lambda x, w: Decorated.apply(x.sin(), w), (4, 4), (4, 4))
gives = {"more": lambda g: (g * 2, g, None), "less": lambda g: g * 2, "of other sizes": lambda g: (g[:2], g),
         "number": lambda g: (5, g), "written": writes_grad, "drawn": draws, "branch": branches}
for name, given in gives.items():
    Given.gives = given
    thrice("gives " + name, lambda x, y: Given.apply(x.sin() * 4, y) * 3, (5,), (5,))

hooked, seen = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), []
for parameter in hooked.parameters():
    nn.init.constant_(parameter, 0.25)
hooked[0].register_full_backward_hook(lambda module, inputs, outputs: seen.append(shown(outputs[0])))
for turn in range(3):
    hooked(made(2, 4, seed=turn)).sum().backward()
print(seen)


def penalty(x, function):
    y = function(x.sin())
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    return first * first


thrice("penalty", lambda x: penalty(x, Cube.apply), (5,))
thrice("penalty", lambda x: penalty(x, Exp.apply), (5,))
thrice("penalty of once", lambda x: penalty(x, Once.apply), (5,))


def outer(function, x):
    return function(x.sin() * 2)


for turn in range(3):  # backward of backward outside of the function that was captured
    for function in (Cube.apply, Exp.apply, Once.apply):
        x = made(5, seed=turn)
        first, = torch.autograd.grad(outer(function, x).sum(), x, create_graph=True)
        try:
            second, = torch.autograd.grad((first * first).sum(), x)
            print("second", turn, shown(first), shown(second))
        except RuntimeError as error:
            print("second", turn, shown(first), str(error)[:60])


class Spiking(nn.Module):
    def __init__(self):
        super().__init__()
        self.input, self.output, self.spike = nn.Linear(6, 8), nn.Linear(8, 3), Step.apply

    def forward(self, x, steps):
        state, total = torch.zeros(x.shape[0], 8), 0
        for _ in range(steps):
            state = 0.9 * state + self.input(x)
            fired = self.spike(state, 1.0)
            state = state - fired
            total = total + self.output(fired)
        return total / steps


torch.manual_seed(0)
net = Spiking()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step, rows in enumerate((4, 4, 6, 9, 4, 12)):
    x, y = made(rows, 6, seed=step, grad=False), torch.arange(rows) % 3
    loss = nn.functional.cross_entropy(net(x, 4), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("spiking", f"{loss.item():.5f}", [f"{p.grad.norm():.4f}" for p in net.parameters()])


def trained(leaf, x):
    leaf.grad = None
    argument = x * leaf
    first, = torch.autograd.grad(Exp.apply(argument.sin()).sum(), argument, create_graph=True)
    loss = (first * first).sum() + Step.apply(reverse(leaf * x, 0.5), 0.1).sum()
    loss.backward()
    return loss


leaf = made(5, seed=9)
for turn in range(3):
    print("whole step", f"{trained(leaf, torch.ones(5) + turn / 10).item():.3f}", shown(leaf.grad))

kept = made(5)
result = outer(Cube.apply, kept)
result.register_hook(lambda grad: print("hook", shown(grad)))
result.retain_grad()
result.sum().backward(retain_graph=True)
result.sum().backward()
print(shown(kept.grad), shown(result.grad))
with torch.no_grad():
    print(shown(outer(Cube.apply, kept)), outer(Cube.apply, kept).requires_grad)
