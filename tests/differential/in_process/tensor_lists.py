"""torch's functions of lists of tensors, which are followed op by op: every one of them, with numbers, lists and tensors,
in place and not, with gradients and without; what torch refuses; clip_grad_norm_ and the optimizers that use them."""
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
SHAPES = [(3,), (2, 4), (1, 5, 2)]
# Those of matrices came with torch 2.15.
NAMES = [name for name in dir(torch) if name.startswith("_foreach_") and not name.startswith("_foreach_mm")]
WITH_SECOND = "add sub mul div clamp_min clamp_max maximum minimum pow".split()


def lists(seed, low=0.2, requires_grad=False):
    generator = torch.Generator().manual_seed(seed)
    return [(torch.rand(shape, generator=generator) * 0.7 + low).requires_grad_(requires_grad) for shape in SHAPES]


def arguments_of(base):
    if base in ("addcmul", "addcdiv"):
        return [(lists(2), lists(3)), (lists(2), lists(3), 0.5), (lists(2), lists(3), [0.5, 2.0, 3.0]),
                (lists(2), lists(3), torch.tensor([0.5, 2.0, 3.0]))]
    if base == "lerp":
        return [(lists(2), 0.3), (lists(2), lists(3)), (lists(2), [0.1, 0.2, 0.3])]
    if base == "copy":
        return [(lists(2),)]
    if base == "norm":
        return [(), (1,), (float("inf"),), (3.0, torch.float64)]
    if base == "add":
        return [(0.5,), (lists(2),), ([1.0, 2.0, 3.0],), (torch.tensor(2.0),)]
    if base in ("mul", "div"):
        return [(0.5,), (lists(2),), ([1.0, 2.0, 3.0],), (torch.tensor(2.0),)]
    if base in WITH_SECOND:
        return [(2.0,), (lists(2),), ([1.0, 2.0, 3.0],)]
    return [()]


def show(tensors):
    return " ".join(f"{tensor.double().sum().item():.6f}" for tensor in tensors)


# Code of its own for each function, and with it entries.
CALL = """
def call(first, arguments):
    with_ops = [tensor * 1.5 for tensor in first]
    given = torch.NAME(with_ops, *arguments)
    return [tensor + 1 for tensor in given], given is with_ops, type(given).__name__
"""


for name in NAMES:
    made = {"torch": torch}
    exec(CALL.replace("NAME", name), made)
    for place, arguments in enumerate(arguments_of(name.removeprefix("_foreach_").rstrip("_"))):
        for repeat in range(2):
            with torch.no_grad():
                results, same, kind = made["call"](lists(1), arguments)
            print(name, place, show(results), same, kind)

scaled = lambda a, b: torch._foreach_add([x * 2 for x in a], b, alpha=0.25)
scaled_in_place = lambda a, b: torch._foreach_sub_([x * 2 for x in a], b, alpha=3)
powers = lambda a: torch._foreach_pow(2.0, [x * 1.0 for x in a])
for repeat in range(3):
    with torch.no_grad():
        print(show(scaled(lists(1), lists(4))), show(scaled_in_place(lists(1), lists(4))), show(powers(lists(1))))


def loss(a, b):
    c = torch._foreach_mul([x + 1 for x in a], b)
    d = torch._foreach_sub(torch._foreach_div(c, b), a, alpha=0.5)
    torch._foreach_exp_(d)
    return sum(x.sum() for x in torch._foreach_lerp(d, a, 0.25)) + torch.stack(torch._foreach_norm(a)).sum()


for repeat in range(3):
    a, b = lists(1, requires_grad=True), lists(2, requires_grad=True)
    value = loss(a, b)
    value.backward()
    print(f"{value.item():.6f}", show([x.grad for x in a]), show([x.grad for x in b]))


def refused(kind, a):
    b = [x * 2 for x in a]
    if kind == "length":
        return torch._foreach_add(b, [a[0]])
    if kind == "empty":
        return torch._foreach_add([], 1.0)
    if kind == "shape":
        return torch._foreach_mul(b, torch.ones(2))
    return torch._foreach_addcmul_(b, a, a, scalars=[1.0])


for kind in ("length", "empty", "shape", "scalars"):
    for repeat in range(2):
        try:
            refused(kind, lists(1))
        except (RuntimeError, TypeError) as error:
            print(kind, type(error).__name__, str(error).splitlines()[0])

# Elements that change what a step does, and the same tensor twice.
twice = torch.ones(3)


def both(t):
    torch._foreach_add_([t, t], 1.0)
    return t * 2


for repeat in range(3):
    print(both(twice).tolist())

for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad,
             torch.optim.Adadelta, torch.optim.Adamax, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Rprop):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = kind(net.parameters(), lr=0.01, foreach=True)
    for step in range(6):
        optimizer.zero_grad()
        net(torch.randn(5, 4)).square().sum().backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
    print(kind.__name__, f"{norm.item():.5f}", f"{sum(p.sum().item() for p in net.parameters()):.5f}")

# Gradients of two dtypes, which are clipped in groups.
mixed = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2, dtype=torch.float32)), nn.Parameter(torch.ones(2))]
for repeat in range(4):
    for parameter in mixed:
        parameter.grad = torch.full_like(parameter, 2.0)
    norm = nn.utils.clip_grad_norm_(mixed, 1.0)
    nn.utils.clip_grad_value_(mixed, 0.4 - repeat / 10)
    print(f"{norm.item():.5f}", [[f"{value:.5f}" for value in parameter.grad.tolist()] for parameter in mixed])


def grouped(tensors):
    doubled = [tensor * 2 for tensor in tensors]
    groups = torch.utils._foreach_utils._group_tensors_by_device_and_dtype([doubled, []], with_indices=True)
    return sorted((str(dtype), len(lists[0]), places) for (_, dtype), (lists, places) in groups.items())


with torch.no_grad():
    for repeat in range(3):
        print(grouped([p.grad for p in mixed]), grouped([p.grad for p in mixed[::2]]))
torch.set_default_dtype(torch.float32)
