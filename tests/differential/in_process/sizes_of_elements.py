"""Sizes that elements decide: what nonzero finds, what masks select, unique values, repeats and counts. Each function is
called with elements that decide many sizes, none, one and all among them, and each result, its layout and what is computed
of it is shown."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_grad_enabled(False)
torch.manual_seed(0)
SHARES = (0.5, 0.3, 0.9, 0.0, 1.0, 0.05, 0.6, 0.5)


def show(value):
    if isinstance(value, torch.Tensor):
        flat = value.double().reshape(-1)
        return tuple(value.shape), value.stride(), str(value.dtype), round(flat.sum().item(), 3), [round(one, 2) for one in
                                                                                                     flat[:4].tolist()]
    if isinstance(value, (list, tuple)):
        return [show(one) for one in value]
    return value


def run(function, *arguments):
    """With masks of each share, twice in a row, so that what was made for the first call serves the second."""
    for share in SHARES:
        torch.manual_seed(int(share * 100))
        mask = torch.rand(6, 5) < share
        for turn in range(2):
            try:
                result = show(function(mask, *arguments))
            except Exception as error:
                result = type(error).__name__, str(error)[:60]
            print(function.__name__, share, result)


X, W = torch.randn(6, 5), torch.randn(5, 3)


# -- what is found


def places(mask):
    return mask.nonzero()


def places_of_numbers(mask, x):
    return torch.nonzero(x * mask), torch.argwhere(mask)


def columns(mask, x):
    rows, cols = torch.where(mask)
    return x[rows, cols] + 1, rows.float().mean(), cols


def as_tuple(mask, x):
    index = mask.nonzero(as_tuple=True)
    return x[index] * 2


def of_a_row(mask, x):
    index = mask[0].nonzero().squeeze(1)
    return x[:, index].sum(0), index.numel()


# -- what masks select


def selected(mask, x):
    return x[mask]


def selected_rows(mask, x, w):
    rows = x[mask.any(1)]
    return F.relu(rows @ w).softmax(-1)


def selected_of_three(mask, x):
    y = x.unsqueeze(-1) * torch.arange(4.0)
    return y[mask], y[:, mask[0]].mean(), y[:, :, torch.tensor([True, False, True, True])]


def by_masked_select(mask, x):
    return torch.masked_select(x, mask) - x.masked_select(mask[:1]).sum()


def masked_mean(mask, x):
    chosen = x[mask]
    return chosen.mean() if chosen.numel() > 0 else x.sum()


def in_turn(mask, x):
    """One size after the other."""
    first = x[mask]
    second = first[first > 0]
    return second.sort().values, first.numel() - second.numel()


def scattered_back(mask, x):
    index = mask.reshape(-1).nonzero().squeeze(-1)
    y = torch.zeros(30).index_add(0, index, x.reshape(-1)[index])
    return y.view(6, 5), torch.zeros(len(index), 2) + 1


def added_to_places(mask, x):
    """What a mask selects and where it does are as many."""
    chosen = mask.any(1)
    return torch.zeros(6, 5).index_add(0, chosen.nonzero().squeeze(1), x[chosen] * 2)


# -- values, repeats and counts


def distinct(mask, x):
    values, inverse, counts = torch.unique((x * 2).round() * mask, return_inverse=True, return_counts=True)
    return values, inverse, counts, values[inverse]


def distinct_neighbours(mask):
    return torch.unique_consecutive(mask.reshape(-1).int(), return_counts=True)


def repeated(mask, x):
    counts = mask.sum(1)
    return torch.repeat_interleave(counts), x.repeat_interleave(counts, dim=0) * 2


def counted(mask):
    return torch.bincount(mask.sum(1)), torch.bincount(mask.sum(0), minlength=9)


# -- numbers


def first_few(mask, x):
    n = int(mask.sum())
    return x.flatten()[:n] + n, n, n * 2 + 1


def padded(mask, x):
    longest = mask.sum(1).max().item()
    steps = torch.arange(longest)
    return (steps < mask.sum(1).unsqueeze(1)).float() @ torch.ones(longest, 2), longest


def averaged(mask, x):
    count = mask.sum().item()
    if count > 3:
        return (x * mask).sum() / count
    return x * count


TOTAL = {"seen": 0}


def summed_up(mask, x):
    TOTAL["seen"] += mask.sum().item()
    return (x + 1).sum(), TOTAL["seen"]


def looped(mask, x):
    for _ in range(int(mask[0].sum())):
        x = x * 1.5
    return x, f"{int(mask[0].sum())} times"


# -- in models


class Router(nn.Module):
    """Rows go to the experts that a gate chooses."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(5, 3)
        self.experts = nn.ModuleList(nn.Linear(5, 5) for _ in range(3))

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = torch.where(chosen == number)[0]
            out.index_add_(0, rows, expert(x[rows]) * weight[rows].unsqueeze(-1))
        return out


ROUTER = Router().eval()


def routed(mask, x):
    return ROUTER(x * mask)


def boxes(mask, x):
    scores = (x * mask).sigmoid().flatten()
    keep = scores > 0.55
    kept = scores[keep]
    if kept.shape[0] == 0:
        return kept, "none"
    order = kept.argsort(descending=True)
    return kept[order][:3], keep.nonzero().flatten()[order], kept.shape[0]


def drawn(mask, x):
    """The generator goes on as in plain Python, whatever was decided."""
    noise = torch.rand(6, 5)
    chosen = noise[mask]
    return chosen, torch.rand(2)


WRITTEN = torch.zeros(6, 5)


def written(mask, x):
    WRITTEN.add_(1)
    chosen = x[mask]
    WRITTEN[0, 0] = len(chosen)
    return chosen + 1, WRITTEN


for function, arguments in ((places, ()), (places_of_numbers, (X,)), (columns, (X,)), (as_tuple, (X,)), (of_a_row, (X,)),
                            (selected, (X,)), (selected_rows, (X, W)), (selected_of_three, (X,)), (by_masked_select, (X,)),
                            (masked_mean, (X,)), (in_turn, (X,)), (scattered_back, (X,)), (added_to_places, (X,)), (distinct, (X,)),
                            (distinct_neighbours, ()), (repeated, (X,)), (counted, ()), (first_few, (X,)), (padded, (X,)),
                            (averaged, (X,)), (summed_up, (X,)), (looped, (X,)), (routed, (X,)), (boxes, (X,)),
                            (drawn, (X,)), (written, (X,))):
    run(function, *arguments)

torch.set_grad_enabled(True)
