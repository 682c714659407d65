"""torch.while_loop: condition and body are in the graph, and run without Python."""
import torch

torch.manual_seed(0)
STEP = torch.tensor(2.0)


def counted(x):
    return torch.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2 + i), (torch.tensor(0), x))


def until_small(x):
    return torch.while_loop(lambda x: x.abs().max() > 0.1, lambda x: x * 0.5, (x,))


def closed_over(x, shift):
    def going(i, y):
        return (i < 3) & (y.sum() < 100)

    def body(i, y):
        return i + 1, y + shift * STEP + x

    return torch.while_loop(going, body, (torch.zeros((), dtype=torch.int64), x))


def listed(x):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x.sin()], [torch.tensor(0), x])


def nested(x):
    def row(i, x):
        def inner(j, y):
            return j + 1, torch.where(y > 0, y - 0.25, y + 0.25)

        return i + 1, torch.while_loop(lambda j, y: j < i, inner, (torch.tensor(0), x))[1] + i

    return torch.while_loop(lambda i, x: i < 4, row, (torch.tensor(0), x))[1] * 2


def with_condition(x):
    def body(i, x):
        return i + 1, torch.cond(x.sum() > 0, lambda x: x - 1, lambda x: x + 1.5, (x,))

    return torch.while_loop(lambda i, x: i < 6, body, (torch.tensor(0), x))


def never(x):
    return torch.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x + 1), (torch.tensor(0), x))


def turned(x):
    i, y = torch.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y + 1), (torch.tensor(0), x.t()))
    return i, y, torch.tensor(y.stride())


def written_inside(x):
    def body(i, x):
        made = x.clone()
        made.add_(1)
        return i + 1, made * 2

    return torch.while_loop(lambda i, x: i < 3, body, (torch.tensor(0), x))


def written_behind(x):
    i, y = torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + x), (torch.tensor(0), x))
    x.add_(y)
    return y


def takes_turns(x, y):
    def body(i, a, b):
        return i + 1, b + 1, a * 2

    return torch.while_loop(lambda i, a, b: i < 5, body, (torch.tensor(0), x, y))


class Settles(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        def going(i, x):
            return (i < 10) & (x.norm() > 0.5)

        return torch.while_loop(going, lambda i, x: (i + 1, self.layer(x).tanh()), (torch.tensor(0), x))


def reads(x):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + x.sum().item()), (torch.tensor(0), x))


def branches(i, x):
    def body(i, x):
        if i > 1:
            return i + 1, x * 2
        return i + 1, x + 1

    return torch.while_loop(lambda i, x: i < 4, body, (i, x))


def integers(x):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + i), (0, x))


def nests(x):
    return torch.while_loop(lambda i, d: i < 3, lambda i, d: (i + 1, {"a": d["a"] * 2}), (torch.tensor(0), {"a": x}))


def passes_on(x):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), (torch.tensor(0), x))


def other_dtype(x):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.double()), (torch.tensor(0), x))


def writes(x):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.add_(1)), (torch.tensor(0), x))


def no_flag(x):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + 1), (torch.tensor([0]), x))


def notes(x):
    seen = []

    def body(i, x):
        seen.append(1)
        return i + 1, x + 1

    return torch.while_loop(lambda i, x: i < 3, body, (torch.tensor(0), x)), len(seen)


@torch.compiler.disable
def show(*tensors):
    for tensor in tensors:
        if isinstance(tensor, (tuple, list)):
            print(type(tensor).__name__)
            show(*tensor)
        elif isinstance(tensor, dict):
            show(*tensor.items())
        elif isinstance(tensor, torch.Tensor):
            print(tuple(tensor.shape), tensor.dtype, [round(v, 3) for v in tensor.detach().double().flatten().tolist()])
        else:
            print(tensor)


def attempt(function, *arguments):
    try:
        show(function(*arguments))
    except Exception as error:
        print(type(error).__name__)


settles = Settles().eval()
with torch.no_grad():
    for turn in range(4):
        x = torch.rand(3 + turn // 2, 4) - 0.5
        y = torch.rand(3 + turn // 2, 4)
        show(counted(x), until_small(x), closed_over(x, y[0]), listed(x), nested(x), with_condition(x), never(x))
        show(turned(x), written_inside(x), written_behind(x), x, takes_turns(x, y), settles(x))
    for turn in range(3):
        x = torch.rand(2, 3)
        for function in (reads, integers, nests, passes_on, other_dtype, writes, no_flag, notes):
            attempt(function, x.clone())
        attempt(branches, torch.tensor(turn), x)
for turn in range(3):
    x = torch.ones(2, 4, requires_grad=True)
    i, z = settles(x)
    z.sum().backward()
    show(i, z, x.grad)
