"""Gradients through torch.cond, and torch's scan and map: backward of a graph with subgraphs is one of its own."""
import torch
from torch._higher_order_ops import associative_scan
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops import scan

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # so that what is printed does not hang on the last digit
LEFT, RIGHT = (torch.randn(3, 3, requires_grad=True) for _ in range(2))
SHIFT = torch.randn(3)


def chooses(x):
    return torch.cond(x.sum() > 0, lambda x: (x @ LEFT).sin(), lambda x: x @ RIGHT + SHIFT, (x,))


def chooses_several(x, y):
    def yes(x, y):
        return x * y, y.exp()

    def no(x, y):
        return x - y, y * LEFT.sum()

    a, b = torch.cond(y.mean() > 0, yes, no, (x, y))
    return a * 2, b


def chooses_within(x):
    def inner(x):
        return torch.cond(x.mean() > 1, lambda x: x * x, lambda x: x.tanh() @ LEFT, (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: x.cos(), (x,))


def detaches(x):
    return torch.cond(x.sum() > 0, lambda x: x * x.detach(), lambda x: (x * 2).detach() + x, (x,))


def without_gradient_mode(x):
    """Branches that turn gradients off for a part of them."""
    def yes(x):
        with torch.no_grad():
            y = x.sin()
        return x * y

    def no(x):
        torch._C._set_grad_enabled(False)
        y = x.cos()
        torch._C._set_grad_enabled(True)
        return x @ LEFT * y

    return torch.cond(x.sum() > 0, yes, lambda x: x @ LEFT, (x,)) + torch.cond(x.sum() > 0, lambda x: x * 1, no, (x,))


def scans(h, xs):
    last, rows = scan(lambda h, x: (torch.tanh(h @ LEFT + x), h * x), h, xs)
    return last, rows


def scans_back(h, xs):
    return scan(lambda h, x: ((h * x).sin(), (h + x).sum()), h, xs, reverse=True)


def carries_two(h, xs):
    def step(carry, x):
        h, total = carry
        return (h * 0.5 + x * total, total + h.sum()), h * total

    (last, total), rows = scan(step, (h, h.sum()), xs)
    return last * total, rows


def loss_of_rows(h, xs):
    """What is handed on last and the loss come of one node of torch's graph."""
    last, rows = scan(lambda h, x: (torch.tanh(h @ LEFT + x), h * x), h, xs)
    return last, rows.pow(2).mean()


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, h, xs):
        def step(h, x):
            h = torch.tanh(self.inner(x) + self.outer(h))
            return h, h * 2

        return scan(step, h, xs)


def each(xs):
    return map_rows(lambda x: (x * RIGHT).sum(0) + x, xs)


def each_in_turn(xs, y):
    return map_rows(lambda x, y: torch.cond(x.sum() > 0, lambda x, y: x * y, lambda x, y: y - x, (x, y)), xs, y)


def products(xs):
    return associative_scan(lambda a, b: a * b, xs, dim=0, combine_mode="generic")


def states(gates, values):
    """What is handed on first has a gradient, and has none where `values` have none: torch's then."""
    def combine(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    return associative_scan(combine, (gates, values), dim=0, combine_mode="generic")


def around(x):
    """What stands before and behind is part of the graph."""
    y = torch.nn.functional.gelu(x @ LEFT)
    y = torch.cond(y.sum() > 0, lambda y: y * 2, lambda y: y / 2, (y,))
    return torch.softmax(y @ RIGHT, -1) * y


def leaves(*shapes):
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


@torch.compiler.disable
def show(results, *inputs):
    """What a function gave, and what its gradients are; None is no gradient at all."""
    results = [*results] if isinstance(results, (tuple, list)) else [results]
    print([(tuple(result.shape), result.requires_grad) for result in results])
    sum((result * (place + 1)).sum() for place, result in enumerate(results)).backward()
    for tensor in [*results, *[leaf.grad for leaf in [*inputs, LEFT, RIGHT, *cell.parameters()]]]:
        print(None if tensor is None else [round(float(f"{number:.4g}"), 3) for number in tensor.flatten().tolist()[:6]])
    for leaf in [LEFT, RIGHT, *cell.parameters()]:
        leaf.grad = None


def written():
    """A tensor that torch keeps for the condition and that is written before backward: an error."""
    (x,) = leaves((2, 3))
    y = x * 1
    z = torch.cond(y.sum() > 0, lambda y: y * 2, lambda y: y - 1, (y,))
    with torch.no_grad():
        y += 1
    try:
        z.sum().backward()
        print("no error")
    except RuntimeError as error:
        print(str(error)[:60])


cell = Cell()
torch.set_grad_enabled(True)
for turn in range(4):
    for rows in (2, 5):
        for sign in (-1, 1):
            x, y = (sign * torch.rand(rows, 3), sign * torch.rand(rows, 3))
            x.requires_grad_(), y.requires_grad_()
            show(chooses(x), x)
            show(detaches(x), x)
            show(chooses_within(x), x)
            show(around(x), x)
            show(without_gradient_mode(x), x)
            show(chooses_several(x, y), x, y)
        h, xs, one = leaves((2, 3), (rows, 2, 3), (3,))
        show(scans(h, xs), h, xs)
        show(cell(h, xs), h, xs)
        show(loss_of_rows(h, xs), h, xs)
        rows_of_one = xs.detach()[:, 0].clone().requires_grad_()
        show(scans_back(one, rows_of_one), one, rows_of_one)
        show(carries_two(one, rows_of_one), one, rows_of_one)
        show(products(rows_of_one), rows_of_one)
        show(states(rows_of_one, rows_of_one.sin()), rows_of_one)
        show(states(rows_of_one, rows_of_one.detach()), rows_of_one)
        squares = torch.randn(rows, 3, 3, requires_grad=True)
        show(each(squares), squares)
        show(each_in_turn(rows_of_one, one), rows_of_one, one)
    written()
