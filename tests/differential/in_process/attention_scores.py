"""Attention of scores and masks that the program computes: torch.nn.attention.flex_attention.

torch maps the program's functions over all scores with vmap. What such a function may do with a number
that stands for a grid of them, and what it may not, where plain Python has to see single numbers.
"""

import warnings

import torch
from torch import nn
from torch.nn.attention.flex_attention import (
    AuxRequest, and_masks, create_block_mask, create_mask, flex_attention, noop_mask, or_masks)

warnings.simplefilter("ignore")


def tell(name, *tensors):
    for tensor in tensors:
        flat = tensor.detach().double().flatten()
        weights = torch.linspace(0.5, 1.5, flat.numel(), dtype=torch.float64)
        finite = torch.where(flat.isfinite(), flat, 0)
        told = f"{(finite * weights).sum().item():.3f} {flat.isinf().sum().item()}"
        print(name, tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.requires_grad, told)


def heads(batch=2, many=4, length=16, size=8, keys=None, key_heads=None, dtype=torch.float32, grad=False):
    generator = torch.Generator().manual_seed(length)
    shapes = [(batch, many, length, size)] + [(batch, key_heads or many, keys or length, size)] * 2
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_(grad) for shape in shapes]


# -- scores and masks

SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
TABLE = torch.randn(2, 4, generator=torch.Generator().manual_seed(5))
POSITIONS = torch.randn(40, 40, generator=torch.Generator().manual_seed(6))
DOCUMENTS = torch.arange(40) // 5
LENGTHS = torch.tensor([7, 12])
SCALE = torch.tensor(0.7)


def relative(score, b, h, q, kv):
    return score + (q - kv)


def alibi(score, b, h, q, kv):
    return score + SLOPES[h] * (kv - q)


def looked_up(score, b, h, q, kv):
    return score * TABLE[b, h] + POSITIONS[q, kv]


def capped(score, b, h, q, kv):
    return 20.0 * torch.tanh(score / 20.0)


def scaled(score, b, h, q, kv):
    return torch.where(q >= kv, score * SCALE, -float("inf"))


def of_one_head(score, b, h, q, kv):
    return torch.where(h == 0, score.float().sigmoid(), score).to(score.dtype)


def causal(b, h, q, kv):
    return q >= kv


def window(b, h, q, kv):
    return (q - kv).abs() <= 3


def same_document(b, h, q, kv):
    return DOCUMENTS[q] == DOCUMENTS[kv]


def padding(b, h, q, kv):
    return kv < LENGTHS[b]


def first_rows(b, h, q, kv):
    return q < 3


@torch.no_grad()
def score(function, q, k, v):
    return flex_attention(q, k, v, score_mod=function)


@torch.no_grad()
def masked(mask, q, k, v, function=None):
    return flex_attention(q, k, v, score_mod=function, block_mask=mask)


for function in (relative, alibi, looked_up, capped, scaled, of_one_head):
    for _ in range(3):
        tell(function.__name__, score(function, *heads()))
for mask in (causal, window, same_document, padding, first_rows, noop_mask, and_masks(causal, window), or_masks(window, padding)):
    block_mask = create_block_mask(mask, 2, 4, 16, 16, device="cpu")
    for _ in range(3):
        tell("masked", masked(block_mask, *heads()), masked(block_mask, *heads(), alibi))


# -- masks alone

@torch.no_grad()
def both(mask, length):
    made = create_block_mask(mask, 2, None, length, length, device="cpu", BLOCK_SIZE=4)
    return made.kv_num_blocks, made.kv_indices, made.full_kv_num_blocks, made.q_indices, create_mask(mask, 2, 4, length, length, device="cpu")


for length in (16, 16, 20, 24, 16):
    for mask in (causal, window, padding):
        tell("both", *both(mask, length))
    tell("of scores", create_mask(scaled, 2, 4, length, length, device="cpu"))


# -- layouts, lengths, dtypes, groups, what else is asked for

class Attention(nn.Module):
    def __init__(self, many=4, key_heads=2, size=8):
        super().__init__()
        self.many, self.key_heads, self.size = many, key_heads, size
        self.q = nn.Linear(16, many * size)
        self.kv = nn.Linear(16, 2 * key_heads * size)
        self.bias = nn.Parameter(torch.randn(many))
        self.out = nn.Linear(many * size, 16)

    def modify(self, score, b, h, q, kv):
        return score + self.bias[h]

    def forward(self, x, block_mask=None):
        b, length, _ = x.shape
        q = self.q(x).view(b, length, self.many, self.size).transpose(1, 2)
        k, v = self.kv(x).view(b, length, 2, self.key_heads, self.size).permute(2, 0, 3, 1, 4)
        y = flex_attention(q, k, v, score_mod=self.modify, block_mask=block_mask, enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(b, length, -1))


torch.manual_seed(0)
module = Attention()
for length in (8, 12, 12, 20, 9, 16):
    with torch.no_grad():
        tell("module", module(torch.ones(2, length, 16)))


@torch.no_grad()
def with_statistics(q, k, v):
    out, lse = flex_attention(q, k, v, return_lse=True)
    other, aux = flex_attention(q.transpose(1, 2).contiguous().transpose(1, 2), k, v, scale=0.3, return_aux=AuxRequest(lse=True))
    return out, lse, other, aux.lse


for _ in range(3):
    tell("statistics", *with_statistics(*heads(keys=10)))
    tell("half", score(alibi, *heads(dtype=torch.bfloat16)))
    tell("double", score(capped, *heads(dtype=torch.float64)))


# -- gradients, which torch has here of what the functions look into, and of nothing else

BIAS = nn.Parameter(torch.tensor([0.3, 0.6, 0.9, 1.2]))


def weighted(score, b, h, q, kv):
    return score * BIAS[h]


def step(block_mask, q, k, v):
    BIAS.grad = None
    out = flex_attention(q, k, v, score_mod=weighted, block_mask=block_mask)
    out.square().sum().backward()
    return BIAS.grad


causal_mask = create_block_mask(causal, 2, 4, 16, 16, device="cpu")
for grad in (False, True, False, False, True):
    try:
        tell("gradients", step(causal_mask, *heads(grad=grad)))
    except Exception as error:
        print(type(error).__name__, str(error).partition(".")[0])


# -- asked for as one graph

def attend(q, k, v):
    block_mask = create_block_mask(causal, None, None, 16, 16, device="cpu")
    return flex_attention(q * 2, k, v, score_mod=alibi, block_mask=block_mask) + 1


whole = torch.compile(attend, backend="eager", fullgraph=True)
with torch.no_grad():
    for _ in range(3):
        tell("whole", whole(*heads()))


# -- what is asked of single numbers

def summed(score, b, h, q, kv):
    return score * POSITIONS[q].sum()


def row_by_row(score, b, h, q, kv):
    return score + POSITIONS[q][kv]


def with_dims(score, b, h, q, kv):
    return score * (score.dim() + 1) + len(score.shape)


def wide(score, b, h, q, kv):
    return score * torch.tensor(0.1, dtype=torch.float64)


def reduced(score, b, h, q, kv):
    return score * (1 + score.sum() / 8)


def twice(score, b, h, q, kv):
    return score.add_(1).mul(score)


def branching(score, b, h, q, kv):
    return score if b == 0 else -score


def of_another(score, b, h, q, kv):
    return score + SLOPES


def written(score, b, h, q, kv):
    table = torch.zeros(4)
    table[h] = score
    return table.sum()


@torch.no_grad()
def told(function):
    try:
        return flex_attention(*heads(batch=1), score_mod=function, return_lse=True)
    except Exception as error:
        return type(error).__name__


def no_mask(b, h, q, kv):
    return q.item() > 2


for function in (summed, row_by_row, with_dims, wide, reduced, twice, branching, of_another, written):
    for _ in range(3):
        result = told(function)
        tell(function.__name__, *result) if isinstance(result, tuple) else print(function.__name__, result)
for _ in range(3):
    try:
        print(create_mask(no_mask, 1, 1, 4, 4, device="cpu"))
    except Exception as error:
        print(type(error).__name__)
