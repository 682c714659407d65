"""Hands a recorded graph to a backend of the program's, as a torch.fx.GraphModule (program_backend.cpp).

The build makes this file a string constant.
"""

import builtins
import operator
import re
import sys
import traceback

import torch
import torch.fx


class Value:
    """Stands for a value of the graph in the arguments of its calls."""

    def __init__(self, index):
        self.index = index


def callable_in_code(function):
    """The function, or one around it where torch.fx would not find a name for it to write code with."""
    try:
        torch.fx.node._get_qualified_name(function)
        return function
    except (RuntimeError, AttributeError):
        def call(*args, **kwargs):
            return function(*args, **kwargs)
        call.__name__ = call.__qualname__ = getattr(function, "__name__", "call")
        return call


def find_target(path):
    """What a call names: the function itself, or one of a few modules by its path."""
    if not isinstance(path, str):
        return callable_in_code(path)
    first, *rest = path.split(".")
    found = {"operator": operator, "builtins": builtins, "torch": torch}[first]
    for name in rest:
        found = getattr(found, name)
    return found


def with_nodes(argument, nodes):
    if isinstance(argument, Value):
        return nodes[argument.index]
    if type(argument) in (list, tuple):
        return type(argument)(with_nodes(item, nodes) for item in argument)
    if isinstance(argument, slice):
        return slice(*(with_nodes(item, nodes) for item in (argument.start, argument.stop, argument.step)))
    if type(argument) is dict:
        return {key: with_nodes(item, nodes) for key, item in argument.items()}
    return argument


def example_maker():
    """A function that makes a fake tensor of a type: what node.meta["example_value"] holds."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def make(dtype, sizes, strides, device, requires_grad):
        with mode, torch.no_grad():
            made = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
            return made.requires_grad_(requires_grad) if requires_grad else made
    return make


def stack_writer():
    """A function that writes the frames of a call as torch.compile would: since torch 2.15 with columns."""
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase
    with_columns = "colno" in InstructionTranslatorBase.frame_summary.__code__.co_consts

    def summary(file, line, end_line, column, end_column, function):
        place = {"end_lineno": end_line, "colno": column, "end_colno": end_column} if with_columns and column >= 0 else {}
        return traceback.FrameSummary(file, line, function, lookup_line=False, **place)
    return lambda frames: "".join(traceback.StackSummary.from_list([summary(*frame) for frame in frames]).format())


def view_ops():
    """The ops that torch.compile writes for attributes that are views, since torch 2.15."""
    from torch._dynamo.variables import tensor
    return getattr(tensor, "_VIEW_ATTR_TO_ATEN_OP", {})


def make_module(inputs, calls, outputs, types):
    """The module of a graph whose inputs are (source, example), whose calls are (opcode, name, target, args,
    kwargs, result, frames) with a function or its name as target, and whose values have the (dtype, sizes, strides, device, requires_grad) in
    `types`."""
    graph = torch.fx.Graph()
    nodes, parts = {}, []  # by value; what is taken out of tuples, innermost last
    example, written, ops = example_maker(), stack_writer(), view_ops()

    def describe(node, index):
        if index in types:
            node.meta["example_value"] = example(*types[index])

    def take_apart(node, result, stack):
        if isinstance(result, Value):
            nodes[result.index] = node
            describe(node, result.index)
            return
        for place, item in enumerate(result or ()):
            if item is None:
                continue
            part = graph.call_function(operator.getitem, (node, place))
            part.meta["stack_trace"] = stack
            parts.append(part)
            take_apart(part, item, stack)

    for index, (source, tensor) in enumerate(inputs):
        kind = type(tensor) if isinstance(tensor, torch.Tensor) else None
        nodes[index] = graph.placeholder(re.sub("[^a-zA-Z0-9]+", "_", source), type_expr=kind)
        describe(nodes[index], index)
    for opcode, name, target, args, kwargs, result, frames in calls:
        found = find_target(target) if opcode == "call_function" else target
        if found is getattr and args[1] in ops:
            found, name, args = ops[args[1]], None, args[:1]
        stack = written(frames)
        node = graph.create_node(opcode, found, with_nodes(args, nodes), with_nodes(kwargs, nodes), name)
        node.meta["stack_trace"] = stack
        take_apart(node, result, stack)
    graph.output(tuple(nodes[index] for index in outputs))
    for part in reversed(parts):
        if not part.users:
            graph.erase_node(part)
    graph.lint()
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def own(backend):
    """The program's function, without the options that torch.compile was given with it."""
    return getattr(backend, "_penstock_own", backend)


def compile(backend, module, inputs):
    """What the backend makes of the module."""
    try:
        made = backend(module, [tensor for _, tensor in inputs])
        assert callable(made), "compiler_fn did not return callable"
        return made
    except Exception as error:
        from torch._dynamo.exc import BackendCompilerFailed
        raise BackendCompilerFailed(own(backend), error, sys._getframe()).with_traceback(
            error.__traceback__) from None


def take_place(tensor, made):
    """Makes the tensor that the program has got the one that a backend's function made instead."""
    try:
        torch._C._swap_tensor_impl(tensor, made)
    except RuntimeError:  # something else refers to one of them, a backward pass say
        share(tensor, made)


def share(tensor, made):
    """Gives the tensor the elements of another one, where no backward pass could tell."""
    if not tensor.requires_grad and not made.requires_grad:
        tensor.data = made.data


def run_first(function, inputs, written, random_state, outputs):
    """Runs what a backend made in place of the call that was recorded, which torch ran: from the numbers and the
    random state that were there before, and with its results for the `outputs` that the program has got."""
    arguments = [tensor if own is None else own for (_, tensor), own in zip(inputs, written)]
    changed = [(own, tensor) for (_, tensor), own in zip(inputs, written) if own is not None]
    for own, before in changed:
        # How it was made, or how its memory is seen, is not what it was before.
        if own.requires_grad and not own.is_leaf or (own.shape, own.stride()) != (before.shape, before.stride()):
            return
    for own, before in changed:
        own.data.copy_(before)
    if random_state is not None:
        torch.default_generator.set_state(random_state)
    results = tuple(function(*arguments))
    if len(results) != len(outputs):
        raise RuntimeError(f"a backend's function gave {len(results)} outputs, not {len(outputs)}")
    known = {id(one) for one in arguments}
    for tensor, made in zip(outputs, results):
        if id(tensor) in known or made is tensor or type(made) is not type(tensor):
            continue
        if id(made) in known:  # an argument, or what another output has become
            share(tensor, made)
            continue
        known.add(id(made))
        take_place(tensor, made)
