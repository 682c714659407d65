"""torch's control flow, and its activation checkpoints. A part of polyfills_source.py.

While a segment is recorded, these run the program's functions once, and tell the walker where each begins and ends
(objects/control_flow.cpp, objects/checkpoint.cpp).
"""



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


# -- functions of autograd with a backward of the program's own


def function_context(result, backward):
    """What forward kept for backward: the node in torch's graph of gradients."""
    import torch
    results = result if type(result) is tuple else (result,)
    return next(tensor.grad_fn for tensor in results if isinstance(tensor, torch.Tensor) and tensor.requires_grad)


def function_tangents(results):
    """Tensors that stand for what comes for the results of which gradients are asked."""
    import torch
    return [torch.ones(tensor.shape, dtype=tensor.dtype, device=tensor.device)
            for tensor in results if isinstance(tensor, torch.Tensor) and tensor.requires_grad]


def given_tangents(results, tangents):
    """What torch hands to backward: zeros for tensors without gradients."""
    import torch
    given, at = [], 0
    for tensor in results:
        if not isinstance(tensor, torch.Tensor):
            given.append(None)
        elif tensor.requires_grad:
            given.append(tangents[at])
            at += 1
        else:
            given.append(torch.zeros_like(tensor))
    return given


def as_gradient_of(tensor, gradient):
    """As torch's engine takes it, in memory of its own."""
    if gradient.dim() > tensor.dim():
        gradient = gradient.sum([*range(gradient.dim() - tensor.dim())])
    ones = [dim for dim in range(tensor.dim()) if tensor.shape[dim] == 1 and gradient.shape[dim] != 1]
    if ones:
        gradient = gradient.sum(ones, keepdim=True)
    if gradient.shape != tensor.shape:
        raise Abandoned
    return gradient.clone() if gradient.dtype == tensor.dtype else gradient.to(tensor.dtype)


def join_function(result, tangents, tensors, gradients):
    return (*result,) if type(result) is tuple else result


def apply_function(cls, *args):
    """Forward is followed as it runs; backward runs once, on tensors that stand for what comes for the results."""
    import torch
    result = torch.autograd.Function.apply.__func__(cls, *args)
    results = result if type(result) is tuple else (result,)
    if not wants_gradients(results):
        return result
    try:
        function = torch.autograd.Function
        backward = cls.backward if cls.vjp is function.vjp else cls.vjp
        context, tangents = function_context(result, backward), function_tangents(results)
        with torch.no_grad():
            begin_subgraph("prim.custom_vjp")
            tensors, gradients = [], []
            given = backward(context, *given_tangents(results, tangents))
            given = given if type(given) is tuple else (given,)
            for i in range(len(args)):
                if isinstance(args[i], torch.Tensor) and args[i].requires_grad and given[i] is not None:
                    tensors.append(args[i])
                    gradients.append(as_gradient_of(args[i], given[i]))
            return join_function(result, tangents, tensors, end_subgraph(gradients))
    except (Exception, Abandoned):
        left_to_torch()
    return result


# -- activation checkpoints


def has_checkpoints():
    """Whether torch's own pieces of a checkpoint are those that begin_checkpoint knows."""
    import torch.utils.checkpoint
    run = torch.utils.checkpoint._checkpoint_without_reentrant_generator
    first = ("fn", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")
    return run.__code__.co_varnames[:len(first)] == first


def is_selective(context_fn):
    """Whether these contexts only choose what is kept."""
    from torch.utils.checkpoint import _CachedTorchDispatchMode, _CachingTorchDispatchMode
    contexts = context_fn()
    return type(contexts) is tuple and [*builtins.map(type, contexts)] == [_CachingTorchDispatchMode, _CachedTorchDispatchMode]


def begin_checkpoint(function, args, kwargs, context_fn):
    """What torch does before it calls the function: from here on it keeps what recomputes saved tensors. Which
    results a policy has it keep as well changes no result."""
    import torch.utils.checkpoint
    from torch.utils.checkpoint import noop_context_fn
    run = torch.utils.checkpoint._checkpoint_without_reentrant_generator
    running = run(function, True, noop_context_fn, "default", False, True, *args, **kwargs)
    next(running)
    return running


def end_checkpoint(running, result, args, reentrant):
    next(running, None)
    return as_function_gives(result, args) if reentrant else result


def as_function_gives(result, args):
    """The results as a function of autograd gives them: all require grad, and none is an argument itself."""
    import torch
    wanted = next(tensor for tensor in args if isinstance(tensor, torch.Tensor) and tensor.requires_grad)
    needed = wants_gradients(result if type(result) is tuple else (result,))

    class Joined(torch.autograd.Function):
        @staticmethod
        def forward(ctx, wanted, tensor):
            return tensor.view_as(tensor)

        @staticmethod
        def backward(ctx, gradient):
            if not needed:
                raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
            return torch.zeros_like(wanted), None

    def given(tensor):
        if not isinstance(tensor, torch.Tensor):
            return tensor
        if tensor.is_floating_point() and not tensor.requires_grad:
            return Joined.apply(wanted, tensor)
        for argument in args:
            if argument is tensor:
                return tensor.view_as(tensor)
        return tensor

    return tuple([given(tensor) for tensor in result]) if type(result) is tuple else given(result)


def left_checkpoint():
    """The function raises an error."""


def checkpoint(function, *args, use_reentrant, context_fn=None, preserve_rng_state=True, determinism_check="default",
               debug=False, early_stop=True, **kwargs):
    running = begin_checkpoint(function, args, kwargs, context_fn)
    try:
        result = function(*args, **kwargs)
    except BaseException:
        left_checkpoint()
        raise
    return end_checkpoint(running, result, args, use_reentrant)
