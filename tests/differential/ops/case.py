"""A case, and what cases are made of: tensors of all dtypes and layouts."""
import torch

NAN = float("nan")
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.uint8, torch.int8]
SHAPES = [(), (1,), (7,), (3, 5), (0, 4), (2, 3, 4), (2, 1, 3), (2, 3, 4, 5)]


class Case:
    def __init__(self, name, run):
        self.name, self.run = name, run


class Formula(Case):
    """Without rule or reference, as of an op that has no row: what it is taken apart into is compared alone."""


def tensor(shape, dtype=torch.float32, low=-3.0, high=3.0, special=False):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    values = torch.rand(shape, dtype=torch.float64) * (high - low) + low
    if not dtype.is_floating_point:
        return values.round().abs().to(dtype) if dtype == torch.uint8 else values.round().to(dtype)
    values = values.to(dtype)
    if special and values.numel() > 4:
        values.view(-1)[:4] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
    return values


def layouts(make):
    """Contiguous, transposed, sliced, expanded, channels_last variants of tensors of a shape."""
    yield "plain", make((4, 6))
    yield "transposed", make((6, 4)).t()
    yield "sliced", make((4, 12))[:, ::2]
    yield "offset", make((6, 6))[2:]
    yield "expanded", make((1, 6)).expand(4, 6)
    yield "channels_last", make((2, 3, 4, 5)).to(memory_format=torch.channels_last)
    yield "permuted", make((3, 4, 2)).permute(2, 0, 1)
