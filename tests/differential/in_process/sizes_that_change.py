"""Sizes that elements decide and that change in every call: one graph serves them all, sizes that were there before and
sizes that never come back. Most are between two and many; calls with none and with one come last."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_grad_enabled(False)
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # so that what is printed does not hang on the last digit


class Expert(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(F.silu(self.up(x)))


class Mixture(nn.Module):
    """Each row goes to two of the experts."""

    def __init__(self, width=8, experts=3):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Expert(width, 16) for _ in range(experts))

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        marks = F.one_hot(chosen, len(self.experts)).permute(2, 1, 0)
        for number, expert in enumerate(self.experts):
            which, rows = torch.where(marks[number])
            out.index_add_(0, rows, expert(x[rows]) * weight[rows, which, None])
        return out


MIXTURE = Mixture().eval()


def mixed(x, mask):
    return MIXTURE(x)


def written_in_place(x, mask):
    rows, columns = torch.where(mask)
    out = torch.zeros(8).index_add_(0, columns, x[rows, columns])
    return out.scatter_add_(0, columns, rows.float()), torch.ones(40).masked_fill_(mask.any(1), 2)


def nested(x, mask):
    """Of what is chosen something is chosen, and of that again; the last hangs on all."""
    first = x[mask]
    second = first[first > 0]
    third = (second.unsqueeze(1) @ torch.ones(1, 4))[second > 0.5]
    return first.sum(), second * 2, third + first.numel() - second.numel()


def repeated(x, mask):
    counts = mask.sum(1)
    rows = torch.repeat_interleave(x, counts, dim=0)
    return rows @ x[:8], torch.repeat_interleave(counts)


def chosen_twice(x, mask):
    """Two sizes of one count, which no op asks to be equal."""
    return x[mask] * 2, (x + 1)[mask], mask.nonzero(), int(mask.sum())


def largest(x, mask):
    """Of none there is no largest, and of many the rows stay apart."""
    rows = x[mask.any(1)]
    return rows.amax(1), x[mask].amax() if mask.any() else x[mask]


def largest_of_any(x, mask):
    return x[mask].amax(), x[mask].var()


def run(function, share, seed):
    torch.manual_seed(seed)
    x, mask = torch.randn(40, 8), torch.rand(40, 8) < share
    try:
        result = function(x, mask)
    except Exception as error:
        return print(function.__name__, share, type(error).__name__, str(error)[:60])
    parts = [torch.as_tensor(one) for one in (result if isinstance(result, tuple) else (result,))]
    print(function.__name__, share, [(tuple(one.shape), one.stride(), round(one.double().sum().item(), 3)) for one in parts])


for function in (mixed, written_in_place, nested, repeated, largest):
    for turn in range(2):
        for seed in range(40):
            run(function, 0.3 + 0.01 * (seed % 20), seed)
    for seed in range(3):
        run(function, 0.5, seed)
for function in (mixed, written_in_place, nested, repeated, chosen_twice, largest, largest_of_any):
    for share in (0.0, 0.002, 0.003, 0.5, 0.0):
        for seed in range(3):
            run(function, share, seed)
torch.set_grad_enabled(True)
torch.set_default_dtype(torch.float32)
