"""Every way in which a result may share memory with something else. Prints all that a program can see
of it: identity, base, version, place in the storage, and what writing through it changes."""

import torch
import torch.nn.functional as F


def vec(n=4, start=0.0):
    return torch.arange(n, dtype=torch.float32) + start


def mat(rows=3, columns=4):
    return vec(rows * columns).view(rows, columns).clone()


CASES = []


def case(*makers):
    def add(function):
        CASES.append((function, makers))
        return function
    return add


# -- inputs and views of them --------------------------------------------------------------------------


@case(vec)
def written_input_and_view(a):
    a.add_(1)
    return a.view(2, 2), a


@case(vec)
def view_then_write(a):
    v = a.view(2, 2)
    a.mul_(3)
    return v


@case(vec)
def write_through_view(a):
    v = a.view(2, 2)
    v[0].add_(10)
    return a, v


@case(vec)
def view_only(a):
    b = a + 1
    return a.view(2, 2), b


@case(mat)
def transposed(a):
    return a.t(), a.sum()


@case(mat)
def sliced(a):
    return a[1:, ::2] if a.dim() == 2 else a, a.exp()


@case(mat)
def row_written(a):
    a[1] = 7.0
    return a[1], a[0]


@case(mat)
def row_and_column(a):
    a += 1
    return a[:, 1], a[2], a[1, 2], a[..., None]


@case(vec)
def expanded(a):
    b = a * 2
    return a.expand(3, 4), b.expand(2, 4), b


@case(vec)
def input_itself(a):
    b = a + 1
    return a, b


@case(vec)
def in_place_result(a):
    b = a.relu_()
    return b, b.view(2, 2)


@case(vec)
def chain_of_writes(a):
    a.add_(1).mul_(2)
    a.sub_(0.5)
    a[0] = 0
    return a


@case(vec)
def contiguous_is_itself(a):
    return a.contiguous(), a.to(torch.float32), a * 1


@case(lambda: mat().t())
def contiguous_copies(a):
    return a.contiguous(), a.reshape(-1), a.clone()


@case(mat)
def reshape_is_a_view(a):
    return a.reshape(4, 3), a.reshape(-1), a.flatten(), (a + 1).reshape(2, 6)


@case(lambda: vec(12)[4:])
def view_of_a_view(a):
    a.add_(1)
    return a.view(2, 4), a[2:]


@case(lambda: mat(4, 6)[1:3, ::2])
def view_of_strided_view(a):
    a.mul_(2)
    return a[:, 1], a.t()


@case(vec)
def detached(a):
    return a.detach(), a.detach().view(2, 2), (a + 1).detach()


@case(vec)
def split_input(a):
    x, y = a.split(2)
    return x, y, x + y


@case(mat)
def unbound(a):
    rows = a.unbind(0)
    return rows[0], rows[2], rows[0] + rows[1]


@case(lambda: mat(2, 6))
def chunked_and_written(a):
    left, right = a.chunk(2, dim=1)
    left.add_(1)
    return right, left, a


@case(vec, vec)
def swapped_arguments(a, b):
    a.add_(b)
    return b.view(2, 2), a.view(2, 2)


# -- made in the graph ---------------------------------------------------------------------------------


@case(vec)
def same_twice(a):
    b = a + 1
    return b, b, [b, {"b": b}]


@case(vec)
def equal_but_two(a):
    return a + 1, a + 1


@case(vec)
def made_and_view(a):
    b = a + 1
    return b, b.view(2, 2)


@case(vec)
def view_of_made(a):
    return (a + 1).view(2, 2)


@case(mat)
def views_of_hidden(a):
    b = a * 2
    return b[0], b[:, 1], b.t()


@case(mat)
def slice_of_hidden(a):
    return (a @ a.t())[-1:]


@case(vec)
def hidden_written(a):
    b = a * 2
    v = b.view(2, 2)
    b.add_(1)
    v[1, 1] = 0
    return v


@case(vec)
def made_and_written(a):
    b = a * 2
    b.add_(1)
    b[0] = -1
    return b


@case(vec)
def overlapping_windows(a):
    b = torch.cat([a, a])
    return b[:6], b[2:]


@case(mat)
def made_by_view_of_view(a):
    b = (a + 1).t()
    c = b[1:]
    return c[:, 1:], c


@case(mat)
def split_hidden(a):
    q, k = (a * 3).chunk(2, dim=1)
    return q, k


@case(mat)
def permuted_contiguous(a):
    return (a + 1).t().contiguous(), (a + 1).t().clone()


@case(mat)
def copy_of_input(a):
    return a.clone(), a + 0, a * 1


@case(vec)
def clone_then_write(a):
    b = a.clone()
    b.add_(1)
    return b


@case(vec)
def factories(a):
    return torch.zeros(3), torch.ones(2, 2), torch.full((2,), 5.0), torch.arange(4), a + 1


@case(vec)
def factory_view(a):
    z = torch.zeros(4)
    return z.view(2, 2), z, a + z


@case(vec)
def constant_result(a):
    return torch.ones(3) * 2, a * 0


@case(lambda: torch.empty(0))
def empty_input(a):
    a.add_(1)
    return a, a.view(0, 3), a + 1


@case(mat)
def empty_results(a):
    b = a + 1
    return b[:0], b[3:], a[:, 4:], b.sum()


@case(mat)
def scalars(a):
    return a.sum(), a[0, 0], a.max()


@case(lambda: torch.arange(24.0).view(1, 2, 3, 4).to(memory_format=torch.channels_last))
def channels_last(a):
    return a + 1, a.relu(), a.permute(0, 2, 3, 1), (a * 2).permute(0, 2, 3, 1)


@case(lambda: torch.arange(24.0).view(1, 2, 3, 4))
def converted_in_another_layout(a):
    layout = torch.channels_last
    return a.float(memory_format=layout), a.double(memory_format=layout), a.float(memory_format=torch.preserve_format), a.half()


@case(lambda: torch.arange(6.0).view(1, 6, 1))
def unit_sizes(a):
    return a + 1, a.transpose(0, 1), a.transpose(0, 2) * 2, (a * 2).squeeze(), a[None]


@case(lambda: vec(3).expand(2, 3))
def expanded_input(a):
    return a + 1, a[0], a.contiguous()


@case(mat)
def linear_of_batch(a):
    w = torch.ones(5, 4)
    return F.linear(a[None], w), F.softmax(a, 1), F.layer_norm(a, (4,))


@case(mat)
def integers(a):
    b = a.to(torch.int64)
    return b, b.view(-1), b[0], (b > 3)[:, 0]


@case(mat)
def write_into_slice_of_made(a):
    b = torch.zeros(3, 4)
    b[1] = a[0]
    b[:, 2] += 5
    return b


@case(mat)
def written_view_and_sum(a):
    row = a[0]
    row.zero_()
    return a.sum(), row


@case(vec)
def copied_into(a):
    b = a + 1
    a.copy_(b)
    return a, b


@case(vec)
def filled(a):
    a.fill_(3)
    a.zero_()
    return a.view(2, 2)


@case(vec)
def masked(a):
    a.masked_fill_(a > 1, 9.0)
    return a


@case(vec)
def out_argument(a):
    b = torch.zeros(4)
    torch.add(a, 1, out=b)
    return b


@case(vec)
def augmented(a):
    b = a
    b += 1
    return a is b, b


# -- two arguments in one memory -----------------------------------------------------------------------

SHARED = vec(8)


@case(lambda: SHARED[:4], lambda: SHARED[2:6])
def overlapping_arguments(a, b):
    a.add_(1)
    return a + b


@case(lambda: SHARED[:4], lambda: SHARED[4:])
def neighbours(a, b):
    a.add_(1)
    return a + b, b.view(2, 2)


@case(lambda: SHARED, lambda: SHARED)
def same_argument_twice(a, b):
    a.add_(1)
    return a + b, b


@case(lambda: SHARED, lambda: SHARED.detach())
def same_memory_twice(a, b):
    a.add_(1)
    return a + b, b.view(2, 4)


# -- parts that are written, as caches are -------------------------------------------------------------


def places():
    return torch.tensor([2, 0])


@case(mat, places, lambda: mat(3, 2))
def rows_written(a, i, v):
    a.index_copy_(1, i, v * 2)
    return a.sum(0), a @ a.t()


@case(mat, places, lambda: mat(3, 2))
def old_content_read_before(a, i, v):
    old, product = a[:, 0] * 3, a @ a.t()
    a.index_copy_(1, i, v + 1)
    return old.sum() + a[:, 1], product, a


@case(mat, places, lambda: mat(3, 2))
def old_content_kept(a, i, v):
    old = a.clone()
    a[:, 1:3] = v
    a[:, i] = v - 1
    return old, a.exp()


@case(mat, places, lambda: mat(3, 2))
def written_from_itself(a, i, v):
    b = a * 2
    a.index_copy_(1, i, b[:, 1:3])
    a[1:] = a[:-1] + 1
    a[:, 0] += 1
    return b + a


@case(mat, places, lambda: mat(3, 2))
def written_through_views(a, i, v):
    a.view(-1).index_copy_(0, i, v[0])
    a.t()[i] = v[0, 0]
    a[i, i] = v[1]
    return a.view(2, 6), a[1]


@case(mat, places, lambda: mat(3, 2))
def scattered(a, i, v):
    a.scatter_(1, i.expand(3, 2), v)
    a.scatter_add_(0, i[None, :], v[:1])
    a.index_put_((i, i + 1), v[0], accumulate=True)
    a[a > 9] = 0
    return a - 1, i


def apart_later(a, b):
    a.mul_(2)
    return a + b


# -- what is printed -----------------------------------------------------------------------------------


def tensors_of(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in tensors_of(item)]
    return []


def values(tensor):
    """Elements, rounded: kernels may differ from torch in the last digits."""
    def rounded(item):
        return [rounded(i) for i in item] if isinstance(item, list) else round(item, 5)
    return rounded(tensor.tolist())


def name_of(tensor, named):
    for name, other in named:
        if tensor is other:
            return name
    return None


def memory_of(tensor):
    return tensor.untyped_storage().data_ptr() if tensor.numel() else 0


def describe(tensor, named):
    base = tensor._base
    shared = [name for name, other in named
              if other is not tensor and tensor.numel() and memory_of(other) == memory_of(tensor)]
    base_text = base if base is None else name_of(base, named) or f"hidden {tuple(base.shape)} {base.stride()}"
    return (f"{values(tensor)} {tensor.dtype} {tuple(tensor.shape)} stride={tensor.stride()} "
            f"offset={tensor.storage_offset()} bytes={tensor.untyped_storage().nbytes()} "
            f"view={tensor._is_view()} base={base_text} shares={shared} grad={tensor.requires_grad} "
            f"leaf={tensor.is_leaf} inference={tensor.is_inference()} "
            f"contiguous={tensor.is_contiguous()} same={name_of(tensor, named)}")


def version(tensor):
    return None if tensor.is_inference() else tensor._version


def overlaps_itself(tensor):
    return any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride()))


def run(function, makers):
    arguments = [make() for make in makers]
    before = [version(a) for a in arguments]
    result = function(*arguments)
    outputs = tensors_of(result)
    named = [(f"in{i}", a) for i, a in enumerate(arguments)] + [(f"out{i}", o) for i, o in enumerate(outputs)]
    for i, (argument, old) in enumerate(zip(arguments, before)):
        new = version(argument)
        print(f"  in{i} {values(argument)} written={new if new is None else new - old}")
    if not isinstance(result, (torch.Tensor, tuple, list)):
        print("  result", result)
    for i, output in enumerate(outputs):
        print(f"  out{i} version={version(output)} {describe(output, named[:len(arguments) + i])}")
    for i, output in enumerate(outputs):
        if overlaps_itself(output) or output.dtype == torch.bool:
            continue
        old = [version(t) for _, t in named]
        output.add_(100)
        counted = [name for (name, t), o in zip(named, old) if version(t) != o]
        print(f"  out{i}.add_(100): counted={counted} {[values(t) for _, t in named]}")


for function, makers in CASES:
    for mode in (torch.no_grad(), torch.enable_grad(), torch.inference_mode()):
        with mode:
            for call in range(3):
                SHARED.copy_(vec(8))
                print(function.__name__, type(mode).__name__, call)
                run(function, makers)

print("apart later")
shared = vec()
for _ in range(3):
    print(apart_later(shared, shared.detach()).tolist())
for _ in range(3):
    print(apart_later(vec(), vec(4, 5.0)).tolist())
print(apart_later(shared, shared.detach()).tolist())
