"""Activation checkpoints: what they compute is in graphs, and backward computes it again as torch does."""

import functools

import torch
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, checkpoint_sequential, create_selective_checkpoint_contexts

torch.manual_seed(3)


def show(*tensors):
    for tensor in tensors:
        print([round(value, 6) for value in tensor.detach().double().reshape(-1)[:4].tolist()], tuple(tensor.shape))


class Block(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm, self.dropout = nn.LayerNorm(width), dropout

    def forward(self, x, scale=1.0):
        hidden = torch.relu(self.up(self.norm(x)))
        hidden = nn.functional.dropout(hidden, self.dropout, self.training)
        return x + scale * torch.tanh(self.down(hidden))


class Stack(nn.Module):
    def __init__(self, reentrant, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList(Block(8, dropout) for _ in range(3))
        self.reentrant = reentrant

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return x


def train(model, rows=5, steps=4):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        x = torch.randn(rows + step, 8, dtype=torch.float64, requires_grad=True)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        show(loss, x.grad)


for reentrant in (False, True):
    for dropout in (0.0, 0.4):
        print("reentrant", reentrant, "dropout", dropout)
        train(Stack(reentrant, dropout).double())
print("the generator stands at", torch.rand(1).item())

print("sequential")
layers = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.GELU()) for _ in range(6)]).double()


def in_segments(x):
    return checkpoint_sequential(layers, 3, x, use_reentrant=False)


for _ in range(3):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    in_segments(x).sum().backward()
    show(x.grad, layers[0][0].weight.grad)

print("keywords, closures and several results")
weight = torch.randn(8, 8, dtype=torch.float64, requires_grad=True)


def several(x, y, *, power):
    hidden = torch.exp(-(x @ weight).abs())
    return hidden.pow(power), hidden + y, power


def call_several(x, y):
    a, b, c = checkpoint(several, x, y, use_reentrant=False, power=3)
    return (a * b).sum() * c


for _ in range(3):
    x, y = (torch.randn(4, 8, dtype=torch.float64, requires_grad=True) for _ in range(2))
    call_several(x, y).backward()
    show(x.grad, y.grad, weight.grad)

print("a checkpoint in a checkpoint")
inner = Block(8).double()


def outer(x):
    return checkpoint(inner, torch.sin(x), 0.5, use_reentrant=False).exp()


def nested(x):
    return checkpoint(outer, x, use_reentrant=False).sum()


for _ in range(3):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    nested(x).backward()
    show(x.grad, inner.up.weight.grad)

print("what is read again is what is there then")


def product(x):
    return checkpoint(lambda x: torch.sigmoid(x @ weight) * x, x, use_reentrant=False)


for _ in range(3):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    weight.grad = None
    y = product(x)
    with torch.no_grad():
        weight.mul_(1.25)
    y.sum().backward()
    show(y, x.grad, weight.grad)

print("policies")
policy = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])


def mostly(context, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op is torch.ops.aten.mm.default else CheckpointPolicy.PREFER_RECOMPUTE


def chosen(x):
    x = checkpoint(inner, x, use_reentrant=False, context_fn=policy)
    made_here = functools.partial(create_selective_checkpoint_contexts, mostly)
    return checkpoint(inner, x, use_reentrant=False, context_fn=made_here, preserve_rng_state=True)


for _ in range(3):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    chosen(x).sum().backward()
    show(x.grad, inner.up.weight.grad)

print("an argument that is written before backward")


def written(x):
    h = x * 2
    return checkpoint(torch.sigmoid, h, use_reentrant=False), h


for _ in range(3):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    y, h = written(x)
    with torch.no_grad():
        h.add_(1)
    try:
        y.sum().backward()
        show(x.grad)
    except RuntimeError as error:
        print("modified by an inplace operation" in str(error))

print("a result that is written before backward")


def given(x):
    return checkpoint(torch.sigmoid, x, use_reentrant=False)


for _ in range(3):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    y = given(x)
    total = y.sum()
    with torch.no_grad():
        y.zero_()
    total.backward()
    show(x.grad)

print("backward twice")
for _ in range(3):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    total = nested(x)
    total.backward(retain_graph=True)
    total.backward()
    show(x.grad)
    try:
        total.backward()
    except RuntimeError as error:
        print("second time" in str(error))
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(given(x).square().sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.square().sum(), x)
    show(first, second)

print("what runs twice in torch")


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.layer = 0, nn.Linear(8, 8)

    def forward(self, x):
        self.calls += 1
        return self.layer(x).tanh()


counting = Counting().double()


def counted(x):
    return checkpoint(counting, x, use_reentrant=False).sum()


for _ in range(10):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    counted(x).backward()
    show(x.grad)
    print(counting.calls)

norm = nn.BatchNorm1d(8).double()


def normed(x):
    return checkpoint(norm, x, use_reentrant=False).sigmoid().sum()


generator = torch.Generator().manual_seed(5)


def noisy(x):
    def draw(x):
        return x * torch.rand(x.shape, dtype=x.dtype, generator=generator)
    return checkpoint(draw, x, use_reentrant=False).sum()


for _ in range(10):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    normed(x).backward()
    show(x.grad, norm.running_var)
    print(norm.num_batches_tracked.item())
    noisy(x).backward()
    show(x.grad, torch.rand(2, generator=generator, dtype=torch.float64))

print("errors")


def fails(x, wanted):
    def refuse(x):
        y = x.exp()
        if wanted:
            raise ValueError("no")
        return y
    try:
        return checkpoint(refuse, x, use_reentrant=False).sum()
    except ValueError as error:
        return x.sum() * len(str(error))


for wanted in (False, True, True, False):
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    fails(x, wanted).backward()
    show(x.grad)

print("without gradients")
with torch.no_grad():
    for _ in range(2):
        show(Stack(False).double()(torch.ones(2, 8, dtype=torch.float64)))


def unwanted(x):
    return checkpoint(torch.sin, x, use_reentrant=True)


for _ in range(2):
    print(unwanted(torch.ones(2, dtype=torch.float64)).requires_grad)


def constant(x):
    def sides(x):
        return x.sin(), torch.ones(3, dtype=torch.float64)
    a, b = checkpoint(sides, x, use_reentrant=True)
    return a.sum(), b


for _ in range(3):
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    total, b = constant(x)
    print(b.requires_grad)
    total.backward()
    show(x.grad)


def back(x, flag):
    def same(x, flag):
        return x if flag else x.cos()
    y = checkpoint(same, x, flag, use_reentrant=True)
    return y is x, y


for flag in (True, True, False, False):
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    same, y = back(x, flag)
    y.sum().backward()
    print(same)
    show(x.grad)

print("autocast")
block = Block(8)


def cast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return checkpoint(block, x, use_reentrant=False).float().sum()


for _ in range(3):
    x = torch.ones(4, 8, requires_grad=True)
    cast(x).backward()
    print(x.grad.dtype, [round(value, 1) for value in x.grad.reshape(-1)[:4].tolist()])


def without_gradients(x):
    y = checkpoint(lambda z: z.detach().sin(), x * 2, use_reentrant=True)
    return (y * 3).sum() + x.sum()


for _ in range(3):
    x = torch.ones(4, dtype=torch.float64, requires_grad=True)
    try:
        without_gradients(x).backward()
        show(x.grad)
    except RuntimeError as error:
        print(error)
