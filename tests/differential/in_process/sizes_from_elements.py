"""Ops of which elements decide the sizes, or where in their argument they begin: the same sizes in, others out."""
import torch
from torch.nn.utils import rnn

torch.manual_seed(0)


def positions(x, bound):
    return torch.where(x > bound)


def rows(x, bound):
    chosen = torch.where((x > bound).any(1))[0]
    picked = x[chosen] * 2
    return picked, picked.shape, chosen.shape[0]


def not_zero(x, bound):
    return (x > bound).nonzero() + 1, torch.nonzero(x > bound, as_tuple=True), torch.argwhere(x > bound)


def by_column(x, bound):
    row, column = (x > bound).nonzero(as_tuple=True)
    alone, = torch.nonzero(input=x[0, 0] > bound, as_tuple=True)
    return x[row, column] * 2, row + column, alone + 1, (x > bound).nonzero(as_tuple=False) + 1


def masked(x, bound):
    return x[x > bound] + 1, x[:, (x > bound)[0]], x.masked_select(x > bound)


def distinct(x, bound):
    kept = x.round() * (x > bound)
    return torch.unique(kept), torch.unique(kept, dim=0), torch.unique_consecutive(kept), torch.unique_consecutive(kept, dim=0)


def counted(x, bound):
    whole = (x.abs() * (x > bound) * 3).long()
    return torch.bincount(whole.flatten()), torch.nn.functional.one_hot(whole)


def classes(x, bound):
    return torch.nn.functional.one_hot((x.abs() * (x > bound) * 3).long()).float() * 2


def told_classes(x, bound):
    return torch.nn.functional.one_hot((x > bound).long(), 3).float() * 2


def repeated(x, bound):
    times = (x[:, 0] > bound).long() + 1
    return x.repeat_interleave(times, 0), torch.repeat_interleave(times)


def cut(x, bound):
    return torch.tensor_split(x, torch.tensor([1, 2]) + (bound > 0).long())


def narrowed(x, bound):
    return x.narrow(0, (bound > 0).long(), 2)


def narrowed_and_used(x, bound):
    return torch.narrow(x, 1, (bound > 0).long(), 2).exp() + 1


def narrowed_and_written(x, bound):
    y = x.clone()
    y.narrow(0, (bound > 0).long(), 1).zero_()
    return y


def packed(x, bound):
    lengths = torch.tensor([4, 3, 2, 1]) - (bound > 0).long() * torch.tensor([0, 1, 0, 0])
    made = rnn.pack_padded_sequence(x * 2, lengths, batch_first=True)
    return made.data, made.batch_sizes, rnn.pad_packed_sequence(made, batch_first=True)[0]


def solved(x, bound):
    return torch.linalg.lstsq(torch.cat([x, x]) * (bound > 0), torch.cat([x, x]), driver="gelsd")[2]


def plain(numbers):
    return [plain(one) for one in numbers] if isinstance(numbers, list) else round(float(numbers), 3) + 0.0


def shapes(result):
    if isinstance(result, torch.Tensor):
        return tuple(result.shape), plain(result.tolist())
    return [shapes(one) for one in result] if isinstance(result, (tuple, list)) else result


for function in (positions, rows, not_zero, by_column, masked, distinct, counted, classes, told_classes, repeated, cut,
                 narrowed, narrowed_and_used, narrowed_and_written, packed, solved):
    for seed, bound in ((0, -0.3), (0, -0.3), (1, -0.3), (2, 0.4), (2, 0.4), (2, 9.0), (2, -9.0), (1, 0.4), (0, -0.3)):
        torch.manual_seed(seed)
        given = torch.randn(4, 4), torch.tensor(bound)
        print(function.__name__, bound, shapes(function(*given)))
