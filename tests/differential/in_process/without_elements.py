"""Tensors without elements, through ops that would read elements of theirs, in dims before and behind the empty one."""
import torch


def none():
    return torch.empty(0, dtype=torch.long)


FUNCTIONS = {
    "index": lambda x: x[none()],
    "index_select": lambda x: x.index_select(0, none()),
    "gather": lambda x: x.gather(0, torch.empty(x.shape, dtype=torch.long)) + 1,
    "index_add": lambda x: x.index_add(0, none(), x[:0]),
    "written": lambda x: x.index_add_(0, none(), x[:0]).mul_(2),
    "two sums": lambda x: (x.logsumexp(-1), x.sum(dim=0, keepdim=True)),
    "several sums": lambda x: (x.logsumexp(-1), x.sum(dim=0, keepdim=True), x.sum(-1)),
    "whole sums": lambda x: (x.sum(), x.prod(), x.any(), x.all(), x.count_nonzero()),
    "scans": lambda x: (x.cumsum(0), x.cumprod(-1).exp()),
    "joined": lambda x: (torch.cat([x, x * 2], -1), torch.stack([x, x])),
    "product": lambda x: x.unsqueeze(-1) @ x.unsqueeze(-2),
    "moved": lambda x: (x.flip(0) * 2, x.roll(1), x.softmax(-1)),
}

FUNCTIONS |= {
    "converted": lambda x: x.double(),
    "copied": lambda x: (x.clone(), x.exp()),
    "used": lambda x: (x.double() * 2, x.clone().sum()),
}
LAYOUTS = {
    "every other row": lambda: torch.ones(4, 3)[::2][:0],
    "columns": lambda: torch.ones(0, 4)[:, ::2],
    "transposed": lambda: torch.ones(6, 3)[::3][:0].t(),
    "in the middle": lambda: torch.ones(4, 2, 6)[:, :0, ::2],
}


def shown(made):
    if isinstance(made, tuple):
        return [(tuple(t.shape), t.stride(), t.dtype, t.tolist()) for t in made]
    return (tuple(made.shape), made.stride(), made.dtype) if isinstance(made, torch.Tensor) else made


for name, function in FUNCTIONS.items():
    for layout, make in LAYOUTS.items():
        for _ in range(3):
            try:
                made = function(make())
            except (RuntimeError, IndexError) as error:
                made = type(error).__name__
        print(name, layout, shown(made))

for name, function in FUNCTIONS.items():
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)):
        for _ in range(3):
            try:
                made = function(torch.ones(shape))
            except (RuntimeError, IndexError) as error:
                made = type(error).__name__
        print(name, shape, [(tuple(t.shape), t.dtype, t.tolist()) for t in made] if isinstance(made, tuple) else made)
