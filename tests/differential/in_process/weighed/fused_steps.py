"""Optimizers whose loop over parameters torch has a kernel for, and what keeps the loop: layouts that differ, several
dtypes, sparse gradients, sixteen bits, settings that are tensors, gradients that are parameters, subclasses, hooks."""
import copy
import io

import torch
from torch import nn
from torch.optim import SGD, Adagrad, Adam, AdamW
from torch.optim.adam import adam


def shown(values, digits=4):
    return [float(f"{v:.{digits}g}") for v in values]


def placed(values):
    """Of which element stands where, too."""
    values = values.detach().float().flatten()
    return (values * torch.arange(1, values.numel() + 1)).sum().item()


def parameters(dtype=torch.float32):
    torch.manual_seed(0)
    made = [torch.randn(size, dtype=dtype) for size in [(5, 3), (7,), (2, 3, 4), (), (1, 1)]]
    made.append(torch.randn(4, 6, dtype=dtype).t())  # dense, not row-major
    return [nn.Parameter(one) for one in made]


def run(name, make, given=None, steps=7, gradient=None):
    given = parameters() if given is None else given
    optimizer = make(given)
    torch.manual_seed(1)
    for step in range(steps):
        for i, one in enumerate(given):
            one.grad = torch.randn_like(one) if gradient is None else gradient(step, i, one)
        before = [one.grad if one.grad is None else one.grad.clone() for one in given]
        optimizer.step()
        if gradient is not shares:
            assert all(old is None or torch.equal(old, one.grad) for old, one in zip(before, given))
    digits = 1 if given[0].dtype == torch.bfloat16 else 4
    print(name, shown((placed(one) for one in given), digits), [one.dtype for one in given][:1])
    for state in list(optimizer.state.values())[:2]:
        print("  ", {key: shown([value.float().sum().item()], digits)[0] if isinstance(value, torch.Tensor) else value
                     for key, value in state.items()})
    return optimizer, given


def shares(step, i, one):
    return one.data


def transposed(step, i, one):
    return torch.randn(one.shape[::-1]).permute(tuple(range(one.dim()))[::-1])


def some_missing(step, i, one):
    return None if (step + i) % 3 == 0 else torch.randn_like(one)


MAKERS = {
    "adam": lambda p: Adam(p, lr=0.01),
    "adam with decay": lambda p: Adam(p, lr=0.01, weight_decay=0.1, betas=(0.5, 0.9)),
    "amsgrad": lambda p: Adam(p, lr=0.01, amsgrad=True),
    "adam maximizes": lambda p: Adam(p, lr=0.01, maximize=True),
    "adamw": lambda p: AdamW(p, lr=0.01, weight_decay=0.1),
    "adamw amsgrad": lambda p: AdamW(p, lr=0.01, amsgrad=True, eps=1e-3),
    "sgd": lambda p: SGD(p, lr=0.1),
    "momentum": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "dampened": lambda p: SGD(p, lr=0.1, momentum=0.9, dampening=0.3, maximize=True),
    "adagrad": lambda p: Adagrad(p, lr=0.1),
    "adagrad decays": lambda p: Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.01, initial_accumulator_value=0.5),
    "by list": lambda p: Adam(p, lr=0.01, foreach=True),
    "by kernel": lambda p: AdamW(p, lr=0.01, fused=True),
    "capturable": lambda p: Adam(p, lr=torch.tensor(0.01)),
    "whole numbers": lambda p: SGD(p, lr=1, momentum=0.5),
}
for name, make in MAKERS.items():
    run(name, make)
    run(name + ", float64", make, parameters(torch.float64))
    run(name + ", bfloat16", make, parameters(torch.bfloat16))
    run(name + ", two dtypes", make, parameters()[:3] + parameters(torch.float64)[3:])
    run(name + ", gradients laid out otherwise", make, gradient=transposed)
    run(name + ", gradients that are missing", make, gradient=some_missing)
    run(name + ", gaps", make, [nn.Parameter(torch.randn(6, 8)[:, ::2]), nn.Parameter(torch.randn(9)[::3])])
run("gradients that are parameters", MAKERS["adam"], gradient=shares)
run("nothing in one", MAKERS["adam"], parameters() + [nn.Parameter(torch.empty(0, 4))])
run("one parameter twice", MAKERS["momentum"], (lambda p: [p[0], p[1]])(parameters()))

# Sparse gradients, complex numbers, a subclass.
torch.manual_seed(2)
table = nn.Embedding(9, 3, sparse=True)
for make in (lambda p: SGD(p, lr=0.1), lambda p: Adagrad(p, lr=0.1)):
    optimizer = make(table.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        table(torch.tensor([1, 4, 4])).pow(2).sum().backward()
        optimizer.step()
    print("sparse", shown(table.weight.flatten().tolist()[:9]))
numbers = nn.Parameter(torch.randn(4, dtype=torch.complex64))
optimizer = Adam([numbers], lr=0.1)
for _ in range(4):
    numbers.grad = torch.randn(4, dtype=torch.complex64)
    optimizer.step()
print("complex", shown(torch.view_as_real(numbers.detach()).flatten().tolist()))


class Tagged(torch.Tensor):
    pass


tagged = nn.Parameter(torch.randn(4).as_subclass(Tagged))
optimizer = Adam([tagged], lr=0.1)
for _ in range(4):
    tagged.grad = torch.ones(4).as_subclass(Tagged)
    optimizer.step()
print("subclass", type(tagged.data).__name__, shown(tagged.detach().as_subclass(torch.Tensor).tolist()))

# What stands around a step: closures, hooks, groups, schedules, states that are stored and read, copies.
torch.manual_seed(3)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
x, y = torch.randn(16, 4), torch.randn(16, 1)
optimizer = AdamW([{"params": net[0].parameters(), "lr": 0.1}, {"params": net[2].parameters(), "weight_decay": 0.5}], lr=0.01)
optimizer.register_step_pre_hook(lambda *_: print("before", end=" "))
optimizer.register_step_post_hook(lambda o, *_: print("behind", len(o.state), end=" "))
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, [0.2, 0.1], total_steps=12)


def closure():
    optimizer.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    return loss


for _ in range(10):
    print(f"{optimizer.step(closure).item():.4f}", end=" ")
    schedule.step()
print()
stored = io.BytesIO()
torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, stored)
stored.seek(0)
loaded = torch.load(stored)
other = copy.deepcopy(net)
again = AdamW([{"params": other[0].parameters()}, {"params": other[2].parameters()}])
again.load_state_dict(loaded["optimizer"])
for _ in range(3):
    again.zero_grad()
    (other(x) - y).pow(2).mean().backward()
    again.step()
print("loaded", shown(p.sum().item() for p in other.parameters()), [int(s["step"]) for s in again.state.values()])

# Errors are the loop's own.
for wrong in (lambda p: Adam(p, lr=-1.0), lambda p: SGD(p, lr=0.1, nesterov=True)):
    try:
        wrong(parameters())
    except ValueError as error:
        print(error)
one = parameters()[:1]
optimizer = Adam(one, lr=0.1)
one[0].grad = torch.ones_like(one[0])
optimizer.step()
optimizer.state[one[0]]["exp_avg"] = torch.zeros(2, 2)
try:
    optimizer.step()
except RuntimeError as error:
    print(str(error).splitlines()[0])
with torch.enable_grad():
    try:
        adam(one, [torch.ones(5, 3)], [torch.zeros(5, 3)], [torch.zeros(5, 3)], [], [torch.tensor(0.0)], amsgrad=False,
             beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, eps=1e-8, maximize=False)
    except RuntimeError as error:
        print(str(error).splitlines()[0])
