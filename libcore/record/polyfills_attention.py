"""torch's attention of scores and masks that the program computes. A part of polyfills_source.py.

The program's function is of one score and its place. torch maps it over all of them by vmap, which
is C. Here it is called once, with tensors that have the grid's dims, and each op between as_grid
and of_grid must make each element of those at the same place (record/grid_values.h). Where one does
not, the segment ends before all of this, and what was begun goes on natively: with torch's own code.
"""


def as_grid(*numbers):
    return numbers


def of_grid(number):
    """False: nobody looked at what was made of the numbers. While that is looked at, holds() is called instead."""
    return False


def holds(number):
    return True


class NotOfGrid(Exception):
    pass


def over_grid(function, scores, sizes, device):
    numbers = () if scores is None else (scores,)
    places = []
    for dim, size in enumerate(sizes):
        shape = [1, 1, 1, 1]
        shape[dim] = size
        places.append(torch.arange(0, size, device=device).view(shape))
    try:
        number = function(*as_grid(*numbers, *places))
    except Exception:
        number = None
    if not of_grid(number):
        raise NotOfGrid
    return number.expand(sizes)


def with_globals(function, **others):
    """The function as it is, but for globals that name something else; its others stay as they are now."""
    scope = function.__globals__
    if not scope.keys() >= others.keys():
        raise NameError(f"{function.__qualname__} has changed")
    scope = scope | others | {"__name__": __name__}
    made = types.FunctionType(function.__code__.replace(), scope, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    try:
        return mask_all(mod_fn, B, H, Q_LEN, KV_LEN, device)
    except NotOfGrid:
        return torch_create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device)


def mask_all(mod_fn, B, H, Q_LEN, KV_LEN, device):
    if device is None:
        device = torch.accelerator.current_accelerator() or "cpu"
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    if flex._get_mod_type(mod_fn) == flex._ModificationType.SCORE_MOD:
        scores = over_grid(mod_fn, torch.zeros(sizes, device=device), sizes, device)
        return torch.where(torch.isneginf(scores), False, True)
    return over_grid(mod_fn, None, sizes, device)


@stands_for("torch.nn.attention.flex_attention.create_mask")
def make_create_mask(function):
    load_flex_attention()
    return create_mask


def ordered_to_dense(num_blocks_in_row, col_indices, num_cols=None):
    """Since torch 2.15 its callers say how many columns there are; before, there are as many as entries of a row."""
    entries = col_indices.shape[-1]
    columns = entries if num_cols is None else num_cols
    dense = col_indices.new_zeros((*col_indices.shape[:-1], columns + 1), dtype=torch.int32)
    in_row = torch.arange(entries, dtype=torch.int, device=num_blocks_in_row.device) < num_blocks_in_row.unsqueeze(-1)
    places = torch.where(in_row, col_indices, columns).long()
    return dense.scatter(-1, places, 1)[..., :columns].contiguous()


@stands_for("torch.nn.attention.flex_attention._ordered_to_dense")
def make_ordered_to_dense(function):
    load_flex_attention()
    return ordered_to_dense


def score_all(query, key, value, score_mod, block_mask, scale, kernel_options, score_mod_other_buffers=(), mask_mod_other_buffers=()):
    precision = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = query.to(precision) @ key.to(precision).transpose(-2, -1)
    sizes = scores.size()
    device = scores.device
    scores = (scores * scale).to(precision)
    mask = over_grid(block_mask[-1], None, sizes, device)
    modified = over_grid(score_mod, scores, sizes, device)
    nothing = torch.tensor(-float("inf"), dtype=precision, device=device)
    return scores, torch.where(mask, modified, nothing)


def laid_as(tensor, strides):
    """A tensor whose dims lie in memory in the order that the strides tell, the last one innermost."""
    inner = [3]
    for dim in (2, 1, 0):
        at = len(inner)
        while at > 1 and strides[dim] < strides[inner[at - 1]]:
            at -= 1
        inner.insert(at, dim)
    outer = [inner[3], inner[2], inner[1], inner[0]]
    back = [0, 0, 0, 0]
    for place, dim in enumerate(outer):
        back[dim] = place
    return tensor.permute(outer).contiguous().permute(back)


def dense_attention(query, key, value, score_mod, block_mask, scale, kernel_options):
    out, lse, greatest = math_attention(query, key, value, score_mod, block_mask, scale, kernel_options)
    if not query.is_contiguous():
        out = laid_as(out, query.stride())
    return out, lse, greatest.detach()


def flex_attention(*arguments, **options):
    try:
        return plain_flex_attention(*arguments, **options)
    except NotOfGrid:
        return torch_flex_attention(*arguments, **options)


@stands_for("torch.nn.attention.flex_attention.flex_attention")
def make_flex_attention(function):
    load_flex_attention()
    scope = function.__globals__
    # The first call says that it is slow so.
    told = "flex_attention_performance" in scope["_WARNINGS_SHOWN"]
    if not (told or scope["_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"] or torch.compiler.is_compiling()):
        return None
    return flex_attention


def load_flex_attention():
    global flex, torch, types, math_attention, plain_flex_attention, torch_flex_attention, torch_create_mask
    if "plain_flex_attention" in globals():
        return
    import contextlib
    import sys
    import types

    import torch

    flex = sys.modules["torch.nn.attention.flex_attention"]
    torch_flex_attention, torch_create_mask = flex.flex_attention, flex.create_mask
    dense = sys.modules["torch._higher_order_ops.flex_attention"]
    math_attention = with_globals(dense.math_attention, _math_attention_inner=score_all)
    plain_flex_attention = with_globals(
        flex.flex_attention, setup_compilation_env=contextlib.nullcontext, flex_attention_hop=dense_attention,
        _FLEX_ATTENTION_DISABLE_COMPILE_DEBUG=True)
