"""What functions and iterators of C do, in Python, where tensors may pass through them (polyfills.cpp).

The walker follows Python code, and knows what an instruction does with a tensor; a function of C it would
have to be told about one by one. While a segment is recorded, a call of one of these runs its Python form.
Only what differs in nothing but speed and type stands here. The build makes this file a string constant.
"""

import builtins
import collections
import functools
import itertools
import operator

MISSING = object()
TABLE = {}  # by the function or type; (type, name) for a method of a class


def stands_for(*objects):
    def enter(function):
        for one in objects:
            TABLE[one] = function
        return function
    return enter


# -- builtins


@stands_for(builtins.any)
def any(iterable, /):
    for item in iterable:
        if item:
            return True
    return False


@stands_for(builtins.all)
def all(iterable, /):
    for item in iterable:
        if not item:
            return False
    return True


@stands_for(builtins.sum)
def sum(iterable, /, start=0):
    for item in iterable:
        start = start + item
    return start


@stands_for(builtins.list)
def list_(iterable=(), /):
    return [item for item in iterable]


@stands_for(builtins.tuple)
def tuple_(iterable=(), /):
    return (*[item for item in iterable],)


@stands_for(builtins.dict)
def dict_(pairs, /, **named):
    made = {key: value for key, value in pairs}
    for key, value in named.items():
        made[key] = value
    return made


def order(keys, reverse):
    """The places of `keys` in their order. A constant: which it is, the keys decide."""
    return tuple(builtins.sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse))


@stands_for(builtins.sorted)
def sorted(iterable, /, *, key=None, reverse=False):
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    return [items[place] for place in order(keys, reverse)]


@stands_for(builtins.map)
def map(function, iterable, /, *more):
    if not more:
        for item in iterable:
            yield function(item)
    else:
        for items in zip(iterable, *more):
            yield function(*items)


@stands_for(builtins.filter)
def filter(function, iterable, /):
    for item in iterable:
        if item if function is None or function is bool else function(item):
            yield item


@stands_for(builtins.zip)
def zip(*iterables, strict=False):
    iterators = [iter(one) for one in iterables]
    while iterators:
        items = []
        for iterator in iterators:
            item = next(iterator, MISSING)
            if item is MISSING:
                if not strict:
                    return
                place = len(items)
                if place:
                    before = " " if place == 1 else "s 1-"
                    raise ValueError(f"zip() argument {place + 1} is shorter than argument{before}{place}")
                for iterator in iterators[1:]:
                    place += 1
                    if next(iterator, MISSING) is not MISSING:
                        before = " " if place == 1 else "s 1-"
                        raise ValueError(f"zip() argument {place + 1} is longer than argument{before}{place}")
                return
            items.append(item)
        yield tuple(items)


@stands_for(builtins.enumerate)
def enumerate(iterable, start=0):
    for item in iterable:
        yield start, item
        start += 1


@stands_for(builtins.abs)
def abs(x, /):
    return x.__abs__()


@stands_for(builtins.pow)
def pow(base, exp, mod=None):
    return base ** exp if mod is None else constant_pow(base, exp, mod)


def constant_pow(base, exp, mod):
    return builtins.pow(base, exp, mod)


@stands_for(builtins.reversed)
def reversed(sequence, /):
    kind = type(sequence)
    if kind is tuple or kind is range or kind is str or not hasattr(kind, "__reversed__"):
        return reversed_items(sequence)
    if issubclass(kind, list) and kind.__reversed__ is list.__reversed__:
        return reversed_items(sequence)
    if kind is dict:
        return reversed_items(list(sequence))
    return sequence.__reversed__()


def reversed_items(sequence):
    for place in range(len(sequence) - 1, -1, -1):
        yield sequence[place]


# -- operator


@stands_for(operator.lt)
def lt(a, b, /):
    return a < b


@stands_for(operator.le)
def le(a, b, /):
    return a <= b


@stands_for(operator.eq)
def eq(a, b, /):
    return a == b


@stands_for(operator.ne)
def ne(a, b, /):
    return a != b


@stands_for(operator.ge)
def ge(a, b, /):
    return a >= b


@stands_for(operator.gt)
def gt(a, b, /):
    return a > b


@stands_for(operator.not_)
def not_(a, /):
    return not a


@stands_for(operator.truth)
def truth(a, /):
    return True if a else False


@stands_for(operator.is_)
def is_(a, b, /):
    return a is b


@stands_for(operator.is_not)
def is_not(a, b, /):
    return a is not b


@stands_for(operator.add, operator.concat)
def add(a, b, /):
    return a + b


@stands_for(operator.and_)
def and_(a, b, /):
    return a & b


@stands_for(operator.floordiv)
def floordiv(a, b, /):
    return a // b


@stands_for(operator.inv)
def inv(a, /):
    return ~a


@stands_for(operator.invert)
def invert(a, /):
    return ~a


@stands_for(operator.lshift)
def lshift(a, b, /):
    return a << b


@stands_for(operator.mod)
def mod(a, b, /):
    return a % b


@stands_for(operator.mul)
def mul(a, b, /):
    return a * b


@stands_for(operator.matmul)
def matmul(a, b, /):
    return a @ b


@stands_for(operator.neg)
def neg(a, /):
    return -a


@stands_for(operator.or_)
def or_(a, b, /):
    return a | b


@stands_for(operator.pos)
def pos(a, /):
    return +a


@stands_for(operator.pow)
def pow_(a, b, /):
    return a ** b


@stands_for(operator.rshift)
def rshift(a, b, /):
    return a >> b


@stands_for(operator.sub)
def sub(a, b, /):
    return a - b


@stands_for(operator.truediv)
def truediv(a, b, /):
    return a / b


@stands_for(operator.xor)
def xor(a, b, /):
    return a ^ b


@stands_for(operator.contains)
def contains(a, b, /):
    return b in a


@stands_for(operator.getitem)
def getitem(a, b, /):
    return a[b]


@stands_for(operator.setitem)
def setitem(a, b, c, /):
    a[b] = c


@stands_for(operator.delitem)
def delitem(a, b, /):
    del a[b]


@stands_for(operator.iadd, operator.iconcat)
def iadd(a, b, /):
    a += b
    return a


@stands_for(operator.iand)
def iand(a, b, /):
    a &= b
    return a


@stands_for(operator.ifloordiv)
def ifloordiv(a, b, /):
    a //= b
    return a


@stands_for(operator.ilshift)
def ilshift(a, b, /):
    a <<= b
    return a


@stands_for(operator.imod)
def imod(a, b, /):
    a %= b
    return a


@stands_for(operator.imul)
def imul(a, b, /):
    a *= b
    return a


@stands_for(operator.imatmul)
def imatmul(a, b, /):
    a @= b
    return a


@stands_for(operator.ior)
def ior(a, b, /):
    a |= b
    return a


@stands_for(operator.ipow)
def ipow(a, b, /):
    a **= b
    return a


@stands_for(operator.irshift)
def irshift(a, b, /):
    a >>= b
    return a


@stands_for(operator.isub)
def isub(a, b, /):
    a -= b
    return a


@stands_for(operator.itruediv)
def itruediv(a, b, /):
    a /= b
    return a


@stands_for(operator.ixor)
def ixor(a, b, /):
    a ^= b
    return a


# -- functools and itertools


@stands_for(functools.reduce)
def reduce(function, iterable, initial=MISSING, /):
    iterator = iter(iterable)
    if initial is MISSING:
        initial = next(iterator, MISSING)
        if initial is MISSING:
            raise TypeError("reduce() of empty iterable with no initial value")
    for item in iterator:
        initial = function(initial, item)
    return initial


@stands_for(itertools.chain)
def chain(*iterables):
    for iterable in iterables:
        for item in iterable:
            yield item


@stands_for((itertools.chain, "from_iterable"))
def chain_from_iterable(iterables, /):
    for iterable in iterables:
        for item in iterable:
            yield item


@stands_for(itertools.count)
def count(start=0, step=1):
    while True:
        yield start
        start += step


@stands_for(itertools.cycle)
def cycle(iterable, /):
    kept = []
    for item in iterable:
        yield item
        kept.append(item)
    while kept:
        for item in kept:
            yield item


@stands_for(itertools.repeat)
def repeat(object, times=MISSING):
    if times is MISSING:
        while True:
            yield object
    for _ in range(times):
        yield object


@stands_for(itertools.accumulate)
def accumulate(iterable, func=None, *, initial=None):
    iterator = iter(iterable)
    total = initial
    if initial is None:
        total = next(iterator, MISSING)
        if total is MISSING:
            return
    yield total
    for item in iterator:
        total = total + item if func is None else func(total, item)
        yield total


@stands_for(itertools.islice)
def islice(iterable, /, *bounds):
    limits = slice(*bounds)
    start = 0 if limits.start is None else limits.start
    step = 1 if limits.step is None else limits.step
    stop = limits.stop
    iterator = iter(iterable)
    place = 0
    wanted = start
    while stop is None or place < stop:
        item = next(iterator, MISSING)
        if item is MISSING:
            return
        if place == wanted:
            yield item
            wanted += step
            if stop is not None and wanted >= stop:
                place += 1
                while place < stop and next(iterator, MISSING) is not MISSING:
                    place += 1
                return
        place += 1


@stands_for(itertools.compress)
def compress(data, selectors):
    for item, chosen in zip(data, selectors):
        if chosen:
            yield item


@stands_for(itertools.starmap)
def starmap(function, iterable, /):
    for items in iterable:
        yield function(*items)


@stands_for(itertools.takewhile)
def takewhile(predicate, iterable, /):
    for item in iterable:
        if not predicate(item):
            return
        yield item


@stands_for(itertools.dropwhile)
def dropwhile(predicate, iterable, /):
    iterator = iter(iterable)
    for item in iterator:
        if not predicate(item):
            yield item
            break
    for item in iterator:
        yield item


@stands_for(itertools.filterfalse)
def filterfalse(predicate, iterable, /):
    for item in iterable:
        if not (item if predicate is None or predicate is bool else predicate(item)):
            yield item


@stands_for(itertools.zip_longest)
def zip_longest(*iterables, fillvalue=None):
    iterators = [iter(one) for one in iterables]
    while True:
        items = []
        left = 0
        for iterator in iterators:
            item = next(iterator, MISSING)
            if item is MISSING:
                items.append(fillvalue)
            else:
                items.append(item)
                left += 1
        if left == 0:
            return
        yield tuple(items)


@stands_for(itertools.pairwise)
def pairwise(iterable, /):
    iterator = iter(iterable)
    before = next(iterator, MISSING)
    if before is MISSING:
        return
    for item in iterator:
        yield before, item
        before = item


@stands_for(itertools.product)
def product(*iterables, repeat=1):
    pools = [tuple(one) for one in iterables] * repeat
    for places in itertools_product(tuple([len(pool) for pool in pools])):
        yield tuple([pools[k][place] for k, place in enumerate(places)])


def itertools_product(sizes):
    """All places in pools of such sizes. A constant, as are those below."""
    return tuple(itertools.product(*[range(size) for size in sizes]))


def itertools_choices(name, size, r):
    return tuple(getattr(itertools, name)(range(size), r))


@stands_for(itertools.permutations)
def permutations(iterable, r=None):
    pool = tuple(iterable)
    for places in itertools_choices("permutations", len(pool), len(pool) if r is None else r):
        yield tuple([pool[place] for place in places])


@stands_for(itertools.combinations)
def combinations(iterable, r):
    pool = tuple(iterable)
    for places in itertools_choices("combinations", len(pool), r):
        yield tuple([pool[place] for place in places])


@stands_for(itertools.combinations_with_replacement)
def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    for places in itertools_choices("combinations_with_replacement", len(pool), r):
        yield tuple([pool[place] for place in places])


# -- methods of list and dict


@stands_for(list.clear)
def list_clear(self, /):
    while self:
        self.pop()


@stands_for(list.extend)
def list_extend(self, iterable, /):
    for item in iterable:
        self.append(item)


@stands_for(list.remove)
def list_remove(self, value, /):
    for place, item in enumerate(self):
        if item is value or item == value:
            self.pop(place)
            return
    raise ValueError("list.remove(x): x not in list")


@stands_for(list.reverse)
def list_reverse(self, /):
    items = self.copy()
    size = len(items)
    for place in range(size):
        self[place] = items[size - 1 - place]


@stands_for(list.sort)
def list_sort(self, /, *, key=None, reverse=False):
    for place, item in enumerate(sorted(self, key=key, reverse=reverse)):
        self[place] = item


@stands_for((dict, "fromkeys"))
def dict_from_keys(iterable, value=None, /):
    return {key: value for key in iterable}


# -- torch's control flow (objects/control_flow.cpp)


class Abandoned(BaseException):
    """A function does what no subgraph can: torch itself is to be called."""


def left_to_torch():
    """A segment ends before what calls this, if it has not yet."""


def begin_subgraph(op):
    """Natively nothing is recorded, and torch itself is to be called. While it is, begun() is called instead."""
    raise Abandoned


def begun(op):
    return None


def end_subgraph(result):
    return result


def join_branches(predicate, yes, no):
    chosen = yes if predicate else no
    if type(chosen) is tuple:
        return (*chosen,)
    return [*chosen] if type(chosen) is list else chosen


def cond(pred, true_fn, false_fn, operands=()):
    if pred is True:
        return true_fn(*operands)
    if pred is False:
        return false_fn(*operands)
    try:
        begin_subgraph("prim.cond")
        yes = end_subgraph(true_fn(*operands))
        begin_subgraph("prim.cond")
        no = end_subgraph(false_fn(*operands))
        return join_branches(pred, yes, no)
    except (Exception, Abandoned):
        left_to_torch()
    import torch
    return torch.cond(pred, true_fn, false_fn, operands)


def loop_inputs(carried, scanned):
    """Tensors that stand for what a turn of a loop takes."""
    return [tensor.clone() for tensor in carried] + [tensor[0].contiguous().clone() for tensor in scanned]


def join_while_loop(cond_fn, body_fn, carried, inputs, going, given):
    kind, first = type(given), True
    if not going:
        given = inputs
    while going:
        values = given if first else body_fn(*values)
        values = values if kind is tuple or kind is list else (values,)
        given, going, first = values, cond_fn(*values), False
    if kind is tuple:
        return (*given,)
    return [*given] if kind is list else given[0]


def while_loop(cond_fn, body_fn, carried_inputs):
    try:
        inputs = loop_inputs(carried_inputs, ())
        begin_subgraph("prim.while_loop")
        going = end_subgraph(cond_fn(*inputs))
        begin_subgraph("prim.while_loop")
        given = end_subgraph(body_fn(*inputs))
        return join_while_loop(cond_fn, body_fn, carried_inputs, inputs, going, given)
    except (Exception, Abandoned):
        left_to_torch()
    import torch
    return torch.while_loop(cond_fn, body_fn, carried_inputs)


def join_scan(function, carried, scanned, others, inputs, given):
    import torch
    from torch.utils import _pytree
    stacked = []
    for turn in range(scanned[0].shape[0]):
        if turn > 0:
            rows = [tensor[turn] for tensor in scanned]
            given = _pytree.tree_leaves(function(*given[:len(carried)], *rows, *others))
        stacked.append(given[len(carried):])
    return [*given[:len(carried)], *[torch.stack(rows) for rows in zip(*stacked)]]


def scan_rows(function, carried, scanned, additional_inputs=()):
    inputs = loop_inputs(carried, scanned)
    begin_subgraph("prim.scan")
    leaves, spec = pytree.tree_flatten(function(*inputs, *additional_inputs))
    given = end_subgraph(leaves)
    results = join_scan(function, carried, scanned, additional_inputs, inputs, given)
    return pytree.tree_unflatten(results, spec)


def map_rows(function, scanned, others):
    return scan_rows(function, (), scanned, others)


def map_leaves(function, tree):
    """tree_map, without an iterator of C."""
    leaves, spec = pytree.tree_flatten(tree)
    return pytree.tree_unflatten([function(leaf) for leaf in leaves], spec)


def run_now(function, *arguments):
    return function(*arguments)


@stands_for("torch._higher_order_ops.utils._maybe_compile_and_run_fn")
def make_run_now(function):
    return run_now


def scan(*arguments, **options):
    try:
        return plain_scan(*arguments, **options)
    except (Exception, Abandoned):
        left_to_torch()
    return torch_scan(*arguments, **options)


def map_tensors(*arguments):
    try:
        return plain_map(*arguments)
    except (Exception, Abandoned):
        left_to_torch()
    return torch_map(*arguments)


def combine_rows(combine_fn, leaves, spec):
    """The rows of each leaf combined with those before, one after the other: the order does not matter to the function."""
    count = len(leaves)

    def step(*rows):
        before, row = pytree.tree_unflatten(rows[:count], spec), pytree.tree_unflatten(rows[count:], spec)
        made = pytree.tree_leaves(combine_fn(before, row))
        return [*made, *[tensor.clone() for tensor in made]]

    first = [leaf[0].contiguous().clone() for leaf in leaves]
    results = scan_rows(step, first, [leaf[1:] for leaf in leaves])
    return [torch.cat([leaf[:1], rows]) for leaf, rows in zip(leaves, results[count:])]


def plain_associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    leaves, spec = pytree.tree_flatten(xs)
    if combine_mode != "generic" or type(dim) is not int or type(reverse) is not bool or not leaves:
        raise NotFollowed
    dim = dim + leaves[0].dim() if dim < 0 else dim
    length = leaves[0].shape[dim]
    for leaf in leaves:
        if leaf.dim() <= dim or leaf.shape[dim] != length:
            raise NotFollowed
    leaves = [torch.movedim(leaf, dim, 0) for leaf in leaves]
    if reverse:
        leaves = [torch.flip(leaf, [0]) for leaf in leaves]
    if length == 0:
        raise NotFollowed
    if length > 1:
        leaves = combine_rows(combine_fn, leaves, spec)
    if reverse:
        leaves = [leaf.flip([0]) for leaf in leaves]
    return pytree.tree_unflatten([torch.movedim(leaf, 0, dim) for leaf in leaves], spec)


class NotFollowed(Exception):
    """What torch does otherwise."""


def associative_scan(*arguments, **options):
    try:
        return plain_associative_scan(*arguments, **options)
    except (Exception, Abandoned):
        left_to_torch()
    return torch_associative_scan(*arguments, **options)


@stands_for("torch._higher_order_ops.associative_scan.associative_scan")
def make_associative_scan(function):
    load_scan()
    return associative_scan


@stands_for("torch._higher_order_ops.scan.scan")
def make_scan(function):
    load_scan()
    return scan


@stands_for("torch._higher_order_ops.map.map")
def make_map(function):
    load_scan()
    return map_tensors


def load_scan():
    global plain_scan, plain_map, torch_scan, torch_map, torch_associative_scan, pytree, torch, types
    if "torch_map" in globals():
        return
    import sys
    import types

    import torch
    from torch.utils import _pytree as pytree

    of_scan, of_map = sys.modules["torch._higher_order_ops.scan"], sys.modules["torch._higher_order_ops.map"]
    trees = types.ModuleType("penstock.polyfills.trees")
    trees.tree_flatten, trees.tree_map = pytree.tree_flatten, map_leaves
    plain_scan = with_globals(of_scan.scan, scan_op=scan_rows, _maybe_compile_and_run_fn=run_now, pytree=trees)
    plain_map = with_globals(of_map.map, map_impl=map_rows)
    torch_scan, torch_map = of_scan.scan, of_map.map
    torch_associative_scan = sys.modules["torch._higher_order_ops.associative_scan"].associative_scan


# -- torch's attention of scores and masks that the program computes
#
# The program's function is of one score and its place. torch maps it over all of them by vmap, which
# is C. Here it is called once, with tensors that have the grid's dims, and each op between as_grid
# and of_grid must make each element of those at the same place (record/grid_values.h). Where one does
# not, the segment ends before all of this, and what was begun goes on natively: with torch's own code.


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


def create_mask(*arguments, **options):
    try:
        return mask_all(*arguments, **options)
    except NotOfGrid:
        return torch_create_mask(*arguments, **options)


def mask_all(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
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


def ordered_to_dense(num_blocks_in_row, col_indices):
    columns = col_indices.shape[-1]
    dense = col_indices.new_zeros((*col_indices.shape[:-1], columns + 1), dtype=torch.int32)
    in_row = torch.arange(columns, dtype=torch.int, device=num_blocks_in_row.device) < num_blocks_in_row.unsqueeze(-1)
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
