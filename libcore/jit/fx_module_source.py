"""Hands a recorded graph to a backend of the program's, as a torch.fx.GraphModule (program_backend.cpp).

The build makes this file a string constant.
"""

import builtins
import operator
import re
import sys

import torch
import torch.fx


class Value:
    """Stands for a value of the graph in the arguments of its calls."""

    def __init__(self, index):
        self.index = index


def find_target(path):
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


def make_module(inputs, calls, outputs, types):
    """The module of a graph whose inputs are (source, example), whose calls are (opcode, name, target, args,
    kwargs, result, stack), and whose values have the (dtype, sizes, strides, device, requires_grad) in
    `types`."""
    graph = torch.fx.Graph()
    nodes, parts = {}, []  # by value; what is taken out of tuples
    example = example_maker()

    def describe(node, index):
        if index in types:
            node.meta["example_value"] = example(*types[index])

    for index, (source, tensor) in enumerate(inputs):
        kind = type(tensor) if isinstance(tensor, torch.Tensor) else None
        nodes[index] = graph.placeholder(re.sub("[^a-zA-Z0-9]+", "_", source), type_expr=kind)
        describe(nodes[index], index)
    for opcode, name, target, args, kwargs, result, stack in calls:
        found = find_target(target) if opcode == "call_function" else target
        node = graph.create_node(opcode, found, with_nodes(args, nodes), with_nodes(kwargs, nodes), name)
        node.meta["stack_trace"] = stack
        if isinstance(result, Value):
            nodes[result.index] = node
            describe(node, result.index)
            continue
        for place, item in enumerate(result or ()):
            part = graph.call_function(operator.getitem, (node, place))
            part.meta["stack_trace"] = stack
            nodes[item.index] = part
            parts.append(part)
            describe(part, item.index)
    graph.output(tuple(nodes[index] for index in outputs))
    for part in parts:
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
