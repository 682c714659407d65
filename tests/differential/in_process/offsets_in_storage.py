"""Where a tensor starts in its storage counts where a program asks for it, or takes a view from the storage's start."""
import torch


def told(v):
    return v.storage_offset(), v * 2


def told_of_views(v):
    return v[1:].storage_offset(), v.view(-1)[1].storage_offset(), v * 2


def told_of_made(v):
    return (v * 2)[1:].storage_offset(), v + 1


def told_behind_a_write(v):
    v.add_(1)
    return v.storage_offset(), v._version, v * 2


def told_behind_a_write_through_a_view(v):
    w = v.view(-1)
    w.add_(1)
    return v.storage_offset(), w.storage_offset(), w[1:].storage_offset(), v * 2


def told_of_two(v, w):
    return v.storage_offset() - w.storage_offset(), v[:2] + w[:2]


def from_the_start(v):
    return v.as_strided((2,), (1,), 0)


def from_the_start_of_a_view(v):
    return v[1:].as_strided((2,), (1,), 2)


def counted_from_here(v):
    return v[1:].as_strided((2,), (1,)) * 2, v.as_strided((2,), (1,)) + 1


def counted_by_offset(v):
    return torch.as_strided(v, (2,), (1,), v.storage_offset()) * 2


def decided(v):
    return v * 2 if v.storage_offset() > 1 else v * 3


for function in (told, told_of_views, told_of_made, told_behind_a_write, told_behind_a_write_through_a_view, from_the_start,
                 from_the_start_of_a_view, counted_from_here, counted_by_offset, decided):
    for turn in range(5):
        x = torch.arange(6.0) + turn
        print(function.__name__, [function(v) for v in (x[2:], x[1:5], x, x.as_strided((3,), (2,), 1))], x)
for turn in range(5):
    x, y = torch.arange(6.0) + turn, torch.ones(5)
    print([told_of_two(v, w) for v, w in ((x, y), (x[1:], y), (x, x[2:]), (y[1:], x[2:]), (x[2:], x[1:]))])
