"""torch.compile(dynamic=…): `always` is one entry for every batch of at least 2 from the first call on, `never` one for each batch, `changed` one for the first batch and one for those that follow."""
import torch


@torch.compile(dynamic=True, backend="eager")
def always(x):
    return (x * 2 + x.shape[0]).relu().sum(-1)


@torch.compile(dynamic=False, backend="eager")
def never(x):
    return (x * 3 + 1).tanh()


@torch.compile(backend="eager")
def changed(x):
    return x[1:].exp() - x.shape[0]


torch.manual_seed(0)
for batch in (6, 7, 9, 3):
    x = torch.rand(batch, 5)
    print(batch, *(round(f(x).sum().item(), 3) for f in (always, never, changed)))
