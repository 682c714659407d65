"""torch's scan and map: their function is in the graph once, and runs for each row without Python."""
import torch
from torch._higher_order_ops import associative_scan
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops import scan

torch.manual_seed(0)
SCALE = torch.tensor(0.5)


def summed(start, xs):
    return scan(lambda c, x: (c + x, c * x), start, xs)


def backwards(start, xs):
    return scan(lambda c, x: (c + x, c.sin() + x), start, xs, reverse=True)


def along(start, xs):
    return scan(lambda c, x: (c * 0.5 + x, (c + x).relu()), start, xs, dim=1)


def trees(start, xs):
    def combine(carry, x):
        total = carry["total"] + x[0] * x[1]["b"]
        return {"total": total, "last": x[0] * 1}, [total + carry["last"], x[1]["b"] + SCALE]

    return scan(combine, {"total": start, "last": start * 2}, (xs, {"b": xs + 1}))


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, h, xs):
        def step(h, x):
            h = torch.tanh(self.inner(x) + self.outer(h))
            return h, h * 2

        return scan(step, h, xs)


def each(xs, shift):
    return map_rows(lambda x, shift: x * shift + x.sum(), xs, shift)


def closed_over(xs, shift):
    return map_rows(lambda x: (x + shift).cumsum(0), xs)


def maps_trees(xs):
    return map_rows(lambda x: {"sum": x[0] + x[1], "first": x[0].sin()}, [xs, xs * 2])


def turned(xs):
    result = map_rows(lambda x: x.t() + 1, xs)
    return result, torch.tensor(result.stride())


def inside_a_map(xs):
    return map_rows(lambda x: scan(lambda c, y: (c + y, c - y), x[0] * 0, x)[1], xs)


def with_condition(xs):
    return map_rows(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)), xs)


def with_loop(start, xs):
    def combine(c, x):
        c = torch.while_loop(lambda c: c.abs().max() > 1, lambda c: c * 0.5, (c + x,))
        return c, c + x

    return scan(combine, start, xs)


def products(xs):
    return associative_scan(lambda a, b: a * b, xs, dim=0, combine_mode="generic")


def states(gates, values):
    def combine(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    return associative_scan(combine, (gates, values), dim=1, reverse=True, combine_mode="generic")


def matrices(xs):
    return associative_scan(lambda a, b: a @ b, xs, dim=0, combine_mode="generic")


def integers(xs):
    return scan(lambda c, x: (c + x, (c * 1, x > 2)), xs[0] * 0, xs)


def gives_carry(start, xs):
    return scan(lambda c, x: (c + x, c), start, xs)


def other_shape(start, xs):
    return scan(lambda c, x: ((c + x).sum(), c + x), start, xs)


def writes(start, xs):
    return scan(lambda c, x: (c.add_(x), x + 1), start, xs)


def no_tensor(start, xs):
    return scan(lambda c, x: (c + x, x + 1), 3, xs)


def no_rows(start, xs):
    return map_rows(lambda x: x + 1, xs[:0])


def strided(start, xs):
    return scan(lambda c, x: (c + x, c * x), torch.stack([start, start], 1)[:, 0], xs)


def unequal(start, xs):
    return map_rows(lambda x: x[0] + x[1], [xs, xs[1:]])


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


# TorchDynamo of 2.15, by which plain Python runs a scan, fails at a loop in one.
TAKES_LOOPS = torch.__version__ < "2.12"
cell = Cell().eval()
with torch.no_grad():
    for turn in range(4):
        rows = 3 + turn
        xs, start = torch.rand(rows, 4) - 0.3, torch.rand(4)
        show(summed(start, xs), backwards(start, xs), along(xs[:, 0].clone(), xs), trees(start, xs), cell(start, xs))
        show(each(xs, start), closed_over(xs, start), maps_trees(xs), turned(torch.rand(rows, 2, 3)))
        show(inside_a_map(torch.rand(2, rows, 3)), with_condition(xs - 0.2), with_loop(start, xs) if TAKES_LOOPS else 0)
        show(products(xs + 1), states(torch.rand(2, rows, 4), torch.rand(2, rows, 4)), matrices(torch.rand(rows, 2, 2)))
        show(products(xs[:1]), integers(torch.arange(rows * 2).view(rows, 2)))
    for turn in range(2):
        xs, start = torch.rand(3, 4), torch.rand(4)
        for function in (gives_carry, other_shape, writes, no_tensor, no_rows, unequal, strided):
            attempt(function, start, xs)
for turn in range(2):
    xs, start = torch.ones(3, 4, requires_grad=True), torch.zeros(4)
    last, all_of_them = cell(start, xs)
    all_of_them.sum().backward()
    show(last, xs.grad, each(xs, start))
