"""Indices that a graph computes: beyond their dim they raise torch's errors, and nothing else has happened."""
import torch
import torch.nn.functional as F


def shifted(table, at):
    return table[at + 1] * 2


def best_and_more(table, at):
    return table[table.sum(1).argmax() + at.sum()] + 1


def in_columns(table, at):
    return table[:, at * 2] - 1


def in_pairs(table, at):
    return table[at + 1, at - 1]


def embedded(table, at):
    return F.embedding(at + 1, table) + 1


def gathered(table, at):
    return table.gather(0, (at - 1)[:, None]) * 2


def selected(table, at):
    return table.index_select(1, at + 2) * 3


def taken(table, at):
    return torch.take_along_dim(table, (at + 1)[:, None], 0) + 1


def scattered(table, at):
    return table.scatter(0, (at + 1)[:, None], 5.0), table.scatter_add(1, (at - 1)[None], torch.ones(1, 4))


def put(table, at):
    table = table * 2
    table[at + 1] = 1.0
    return table


def added(table, at):
    return (table * 2).index_add(0, at + 1, table), (table * 2).index_fill(0, at - 3, 1.0)


def elements(table, at):
    return (table * 2).take(at * 7), (table * 2).put(at * 4 - 3, table[0]), (table * 2).put(at - 1, table[1], accumulate=True)


def accumulated(table, at):
    table = table * 2
    table.index_put_((at + 1,), torch.ones(4), accumulate=True)
    return table


def reduced(table, at):
    return ((table * 2).index_reduce(0, at + 1, table, "amax"), (table * 2).scatter_reduce(1, (at - 1)[None], table, "prod"),
            (table * 2).scatter_reduce(0, (at + 1)[:, None], table, "mean", include_self=False))


def copied(table, at):
    return (table * 2).index_copy(0, at + 1, table)


def one_hot(table, at):
    return F.one_hot(at + 1, 4) * 2


def lost(table, at):
    return F.cross_entropy(table * 2, at * 2), F.nll_loss(table, at - 1, ignore_index=-1)


def topped(table, at):
    return table[table.topk(2, dim=0).indices + at[:2, None]]


def positioned(table, at):
    return table[torch.arange(at.shape[0]) + at[0]] + 1


def kept_inside(table, at):
    """Nothing is beyond, whatever is given."""
    return table[at.clamp(0, 3)] + table[at % 4] + table[torch.arange(4)] + table[table.argmax(0)] + table[table.argsort(0)[:, 0]]


def with_effects(table, at):
    """Written before and behind the op that raises."""
    seen.append(len(seen))
    table.add_(1)
    picked = table[at + 1]
    table.mul_(2)
    seen.append("behind")
    return picked.sum() + table.sum()


def written_last(table, at):
    picked = table[at + 1].clone()
    table.copy_(picked * 2)
    return picked


def drawn(table, at):
    noise = torch.rand(4)
    return table[at + 1] + noise


seen = []
CASES = [[0, 1, 2, 1], [1, 1, 0, 0], [0, 2, 1, 1], [0, 0, 3, 0], [0, 0, 0, -1], [-6, 0, 0, 0], [2**40, 0, 1, 0], [1, 0, 1, 2],
         [-99, 1, 0, 0], [2, 2, 2, 2]]
FUNCTIONS = [shifted, best_and_more, in_columns, in_pairs, embedded, gathered, selected, taken, scattered, put, added, elements, accumulated, reduced,
             copied, one_hot, lost, topped, positioned, kept_inside, with_effects, written_last, drawn]

with torch.no_grad():
    for function in FUNCTIONS:
        torch.manual_seed(1)
        table = torch.arange(16.0).reshape(4, 4)
        for index in CASES:
            try:
                print(function.__name__, index, function(table, torch.tensor(index)))
            except (IndexError, RuntimeError) as error:
                print(function.__name__, index, type(error).__name__, str(error).splitlines()[0])
            print(table.sum().item(), torch.rand(1).item(), seen)

    # Sizes that change, in int32 too.
    for count in (3, 4, 7, 9):
        for kind in (torch.int64, torch.int32):
            try:
                print(shifted(torch.ones(count, 2), torch.tensor([count - 3, 3, 1], dtype=kind)).tolist())
            except IndexError as error:
                print(count, error)

    # No elements choose nothing; nothing can be chosen of an empty dim.
    print(shifted(torch.ones(4, 2), torch.zeros(0, dtype=torch.int64)).shape)
    for table in (torch.ones(0, 2), torch.ones(3, 0)):
        try:
            print(embedded(table, torch.tensor([1, 1])).shape)
        except (IndexError, RuntimeError) as error:
            print(type(error).__name__, error)
