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
COMPENSATES = builtins.sum([0.1] * 10) == 1.0  # since CPython 3.12: sum() keeps what adding floats rounds off


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
    row, plain = [], COMPENSATES  # numbers behind a float or complex number, which CPython adds as one
    for item in iterable:
        plain = plain and (type(item) is float or type(item) is complex or isinstance(item, int))
        if plain and (type(start) is float or type(start) is complex):
            row.append(item)
        else:
            if row:
                start, row = constant_sum(row, start), []
            start = start + item
    return constant_sum(row, start) if row else start


def constant_sum(row, start):
    return builtins.sum(row, start)


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


def deciding(keys):
    """Of tuples whose first items are words that all differ, those alone decide the order."""
    words = []
    for key in keys:
        if type(key) is not tuple or not key or type(key[0]) is not str:
            return keys
        words.append(key[0])
    return words if len(set(words)) == len(words) else keys


@stands_for(builtins.sorted)
def sorted(iterable, /, *, key=None, reverse=False):
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    return [items[place] for place in order(deciding(keys), reverse)]


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
    if kind is dict or kind is collections.OrderedDict or kind in VIEWS:
        return reversed_items(list(sequence))
    return sequence.__reversed__()


VIEWS = tuple([type(view) for one in ({}, collections.OrderedDict()) for view in (one.keys(), one.values(), one.items())])


def reversed_items(sequence):
    for place in range(len(sequence) - 1, -1, -1):
        yield sequence[place]


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


def wants_gradients(results):
    import torch
    return any(isinstance(result, torch.Tensor) and result.requires_grad for result in results)


def join_branches(predicate, yes, no, true_fn, false_fn, operands):
    if wants_gradients((yes,) if type(yes) not in (tuple, list) else yes):
        import torch
        return torch.cond(predicate, true_fn, false_fn, operands)
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
        return join_branches(pred, yes, no, true_fn, false_fn, operands)
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
    if wants_gradients(given):
        return torch_rows(function, carried, scanned, others)
    stacked = []
    for turn in range(scanned[0].shape[0]):
        if turn > 0:
            rows = [tensor[turn] for tensor in scanned]
            given = _pytree.tree_leaves(function(*given[:len(carried)], *rows, *others))
        stacked.append(given[len(carried):])
    return [*given[:len(carried)], *[torch.stack(rows) for rows in zip(*stacked)]]


def torch_rows(function, carried, scanned, others):
    """What torch's own operator gives: its function of autograd hands gradients on."""
    import sys
    from torch._higher_order_ops.utils import _maybe_compile_and_run_fn
    from torch.utils import _pytree

    def run_scan(function, carried, scanned, others):
        return sys.modules["torch._higher_order_ops.scan"].scan_op(function, carried, scanned, additional_inputs=others)

    def run_map(function, carried, scanned, others):
        return sys.modules["torch._higher_order_ops.map"].map_impl(function, scanned, others)

    run = run_scan if carried else run_map
    return _pytree.tree_leaves(_maybe_compile_and_run_fn(run, function, [*carried], [*scanned], (*others,)))


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
