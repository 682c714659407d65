"""Gradients through what masks and places choose: each function is differentiated with elements that decide many sizes,
none and one among them, also twice, and where one of its results leads to another."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_grad_enabled(True)
torch.manual_seed(0)
SHARES = (0.5, 0.4, 0.8, 0.0, 1.0, 0.05, 0.5)
X, W = torch.randn(12, 5, requires_grad=True), torch.randn(5, 4, requires_grad=True)


def show(value):
    return None if value is None else (tuple(value.shape), round(value.double().sum().item(), 2) + 0.0,
                                       round(value.double().abs().sum().item(), 2))


def run(function):
    for share in SHARES:
        torch.manual_seed(int(share * 100))
        mask = torch.rand(12) < share
        for turn in range(2):
            try:
                results = function(mask, X, W)
                results = results if isinstance(results, tuple) else (results,)
                total = sum((result * result).sum() for result in results if result.requires_grad)
                grads = torch.autograd.grad(total, (X, W), allow_unused=True) if torch.is_tensor(total) else ()
                print(function.__name__, share, [show(one) for one in results], [show(one) for one in grads])
            except Exception as error:
                print(function.__name__, share, type(error).__name__, str(error)[:60])


def rows(mask, x, w):
    return (x @ w)[mask]


def rows_and_mean(mask, x, w):
    """One result leads to the other."""
    h = F.relu(x @ w)
    chosen = h[mask]
    return chosen, chosen.sum(0) * 2


def by_places(mask, x, w):
    index = mask.nonzero().squeeze(1)
    h = x[index] @ w
    return torch.zeros(12, 4).index_add(0, index, h), h.sum()


def selected(mask, x, w):
    h = x @ w
    return h.masked_select(mask.unsqueeze(1)), torch.masked_select(h, h > 0).sum()


def masked_loss(mask, x, w):
    if mask.sum() == 0:
        return x.sum() * 0
    return F.cross_entropy((x @ w)[mask], torch.zeros(int(mask.sum()), dtype=torch.long))


def repeated(mask, x, w):
    counts = mask.long() * 2 + 1
    return x.repeat_interleave(counts, dim=0) @ w


def part_of_rows(mask, x, w):
    n = mask.sum().item()
    return (x[:n] @ w).tanh(), x[n:].sum() / (n + 1)


def loose(mask, x, w):
    """What elements decide is no part of what has gradients."""
    values, counts = torch.unique(mask, return_counts=True)
    return x @ w, values, counts


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(5, 3)
        self.experts = nn.ModuleList(nn.Linear(5, 5) for _ in range(3))

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            taken = torch.where(chosen == number)[0]
            out = out.index_add(0, taken, expert(x[taken]) * weight[taken].unsqueeze(-1))
        return out


def trained():
    torch.manual_seed(1)
    model = Experts()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(8):
        x = torch.randn(16, 5)
        loss = (model(x) - x.flip(0)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("trained", step, round(loss.item(), 4))


def twice(mask, x, w):
    h = (x @ w)[mask]
    return (h * h * h).sum()


for function in (rows, rows_and_mean, by_places, selected, masked_loss, repeated, part_of_rows, loose):
    run(function)
trained()
for share in (0.5, 0.7):
    mask = torch.rand(12) < share
    grad, = torch.autograd.grad(twice(mask, X, W), W, create_graph=True)
    print("twice", show(grad), show(torch.autograd.grad(grad.pow(2).sum(), X)[0]))
