"""torch.cond: both branches are in the graph, and one of them runs."""
import torch

torch.manual_seed(0)
SCALE = torch.tensor(3.0)


def yes(x, y):
    return x.sin() + y


def no(x, y):
    return (x.cos() * y).relu()


def plain(x, y):
    return torch.cond(x.sum() > 0, yes, no, (x, y)) * 2


def closed_over(x, shift):
    def up(x):
        return x + shift * SCALE

    def down(x):
        return x.exp() - shift

    return torch.cond(shift.sum() < 0, up, down, (x + 1,))


def several(x):
    first, second = torch.cond(x[0, 0] > 0, lambda x: (x + 1, x.sum(1)), lambda x: (x * 2, x.amax(1)), (x,))
    return first.sum() + second


def listed(x):
    return torch.cond(x.mean() > 0, lambda x: [x.abs(), x.floor()], lambda x: [x.neg(), x.ceil()], [x])


def nested(x):
    def inner(x):
        return torch.cond(x.max() > 1, lambda x: x.tanh(), lambda x: x.sigmoid() + 1, (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: inner(-x) * 3, (x,)) + x


def twice(x):
    def step(x):
        return torch.cond(x.sum() > 0, lambda x: x - 1, lambda x: x + 1, (x,))

    return step(step(step(x)))


def views(x):
    return torch.cond(x.sum() > 0, lambda x: x.t().contiguous() + 1, lambda x: (x * 2).t().contiguous(), (x[1:, :3],)) @ x[1:]


def written_inside(x):
    def fill(x):
        made = x.clone()
        made.add_(1)
        return made * 2

    return torch.cond(x.sum() > 0, fill, lambda x: x * 5, (x,))


def written_before_and_behind(x):
    x.mul_(2)
    y = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
    x.add_(y)
    return y


def constant(x, flag):
    return torch.cond(flag, yes, no, (x, x))


def of_size(x):
    return torch.cond(x.shape[0] > 2, yes, no, (x, x))


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.one, lambda x: self.two(x).relu(), (x,))


def one_of_two_shapes(x):
    return torch.cond(x.sum() > 0, lambda x: x.sum(0), lambda x: x.sum(1)[:3], (x,))


def reads(x):
    return torch.cond(x.sum() > 0, lambda x: x + x.sum().item(), lambda x: x - 1, (x,))


def show(*tensors):
    for tensor in tensors:
        if isinstance(tensor, (tuple, list)):
            print(type(tensor).__name__)
            show(*tensor)
        elif isinstance(tensor, torch.Tensor):
            print(tuple(tensor.shape), tensor.dtype, [round(v, 3) for v in tensor.detach().double().flatten().tolist()])
        else:
            print(tensor)


gate = Gate().eval()
with torch.no_grad():
    for turn in range(4):
        for sign in (1, -1):
            x = torch.rand(3 + turn // 2, 4) * sign
            y = torch.rand(3 + turn // 2, 4)
            show(plain(x, y), several(x), listed(x), nested(x), twice(x), written_inside(x), gate(x))
            show(closed_over(x, y[0] * sign), views(x), written_before_and_behind(x), x)
            show(constant(x, turn % 2 == 0), of_size(x[turn:]))
    for turn in range(3):
        for sign in (1, -1):
            x = torch.ones(3, 3) * sign
            show(one_of_two_shapes(x), reads(x))
for turn in range(3):
    x = torch.ones(2, 4, requires_grad=True)
    z = gate(x) * 2
    z.sum().backward()
    show(z, x.grad)
