"""Ops that torch computes of others, and pieces of tensors, over sizes that change: one entry serves all of them."""
import torch
import torch.nn.functional as F


def pooled(x): return F.max_pool1d(x, 3, 2), F.avg_pool1d(x, 2)
def rounded(x): return F.max_pool1d(x, 3, 2, ceil_mode=True), F.avg_pool1d(x, 3, 2, 1, ceil_mode=True)
def thirds(x): return [piece + 1 for piece in x.chunk(3, -1)]
def sections(x): return [piece * 2 for piece in x.tensor_split(3, -1)]
def bounds(x): return [piece - 1 for piece in x.tensor_split((2, -5), -1)]
def cut(x): x.chunk(3, -1)[0].zero_(), x.split(15, -1)[1].add_(1), x.tensor_split(3, -1)[2].mul_(2)
def halves(x): return [piece.sum(-1) for piece in torch.hsplit(x[0], (4,))]
def tiled(x): return x.tile(2), torch.kron(x[0], x[1])
def mesh(x): return [part + 1 for part in torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")]
def normed(x): return F.instance_norm(x)
def diagonals(x): return torch.diag_embed(x[0]), torch.diag(x[0, 0])
def special(x): return torch.sinc(x), torch.logaddexp(x, x * 2), torch.hypot(x, x + 1)
def stacked(x): return torch.hstack([x[0], x[1]]), torch.vstack([x[0], x[1]]), torch.column_stack([x[0].T, x[1].T])
def losses(x): return F.soft_margin_loss(x, x.sign()), F.kl_div(x, x.softmax(-1), reduction="sum")
def turned(x): return torch.fliplr(x[0]), torch.flipud(x[0]), torch.nansum(x, -1)


def summed(numbers):
    return sum(map(summed, numbers)) if isinstance(numbers, list) else numbers * numbers


def shown(value):
    if isinstance(value, torch.Tensor):
        return list(value.shape), value.stride(), value.storage_offset(), round(summed(value.tolist()), 2)
    return [shown(item) for item in value]


functions = [pooled, rounded, thirds, sections, bounds, halves, tiled, mesh, normed, diagonals, special, stacked, losses, turned]
with torch.no_grad():
    for n in (17, 20, 23, 26, 31, 40, 18, 55):
        torch.manual_seed(n)
        x = torch.randn(2, 3, n)
        for function in functions:
            print(n, function.__name__, shown(function(x)))
        # What is cut is a view: who writes it writes the whole.
        whole = x.clone()
        cut(whole)
        print(round(summed(whole.tolist()), 2))
