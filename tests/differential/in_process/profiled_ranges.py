"""Ranges that programs name for torch's profilers: they end no graph, and are seen by whoever watches."""

import torch
from torch.autograd.profiler import profile, record_function


def inside(x):
    y = x * 2
    with record_function("inside"):
        y = torch.relu(y) + 1
    return y.sum()


def around_a_break(x):
    with record_function("around"):
        y = x * 2
        print("the sum is", float(y.sum()))
        return y + 1


def kept(x):
    with record_function("kept") as span:
        y = torch.sin(x)
    return y.sum(), span.name


def raises(x):
    try:
        with record_function("raises"):
            if x.shape[0] > 3:
                raise ValueError("too long")
            return x.sum()
    except ValueError as error:
        return x.sum() * len(error.args)


@record_function("decorated")
def decorated(x):
    return x.cos().sum()


started = record_function("from outside")


def ends(x):
    y = x * 3
    started.__exit__(None, None, None)
    return y.sum()


def all_of(x):
    print(float(inside(x)), around_a_break(x).tolist(), kept(x)[1], float(raises(x)), round(float(decorated(x)), 4))
    started.__enter__()
    print(float(ends(x)))


for size in (3, 3, 4, 4):
    all_of(torch.ones(size))
for _ in range(2):
    with profile(use_kineto=False) as watched:
        all_of(torch.ones(3))
    names = ("inside", "around", "kept", "raises", "decorated", "from outside")
    print(sorted((event.key, event.count) for event in watched.key_averages() if event.key in names))
    all_of(torch.ones(3))

model, rate = torch.nn.Linear(3, 1), 0.1
optimizer = torch.optim.SGD(model.parameters(), lr=rate)


def step(x):
    loss = model(x).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return [parameter.grad is None for parameter in model.parameters()]


for _ in range(4):
    print(step(torch.ones(2, 3)))
optimizer.zero_grad()
print([parameter.grad for parameter in model.parameters()])
