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


def scattered(v, w):
    return (torch.select_scatter(v, w[0], 0, 1), torch.slice_scatter(v, w, 0, 1, 3), torch.diagonal_scatter(v, w[0]),
            torch.as_strided_scatter(v, w, (2, 3), (3, 1)), torch.select_scatter(v * 2, w[0], 0, 1))


def scattered_and_shown(v, w):
    made = torch.slice_scatter(v, w, 0, 1, 3)
    return made[1:], made.t(), made * 2, made[1:].storage_offset()


def scattered_into_storage(v, w):
    return torch.as_strided_scatter(v, w[0], (3,), (2,), 3)


def copied_from_storage(v, w):
    return torch.as_strided_copy(v, (2,), (5,), 4), torch.as_strided_copy(torch.complex(v, v), (2,), (5,), 4) + w[0, :2]


def laid_out(tensor):
    return tensor if not isinstance(tensor, torch.Tensor) else (
        tensor.tolist(), tensor.stride(), tensor.storage_offset(), tensor._base is None, tensor._version)


# Results that start in their memory where an argument does.
for function in (scattered, scattered_and_shown, scattered_into_storage, copied_from_storage):
    for turn in range(5):
        x, w = torch.arange(40.0) + turn, torch.ones(2, 3) * turn
        for first in (0, 1, 3):
            with torch.no_grad():
                given = function(x.as_strided((4, 3), (8, 2), first), w)
            print(function.__name__, first, [laid_out(t) for t in (given if isinstance(given, tuple) else (given,))])
            if function is scattered:
                given[1].add_(1)
                print(laid_out(given[1]), x.sum())
