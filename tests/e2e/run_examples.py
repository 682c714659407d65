"""Calls the labelled modules of torch/_export/db/examples, each in a root of its own; writes what they gave.

Usage: run_examples.py OUT [--peer] NAME…: one JSON line per case in OUT, written when the case is done. With --peer
also how many graphs torch.compile(fullgraph=True) makes of it.
"""
import copy
import json
import sys
import types

import torch
from torch.utils import _pytree


def described(value):
    """What `value` is, in words that two processes can compare."""
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), list(value.shape), list(value.stride()), value.detach().double().flatten().tolist()]
    return [type(value).__qualname__, repr(value) if isinstance(value, (int, float, str, bool, type(None))) else ""]


def described_tree(value):
    leaves, layout = _pytree.tree_flatten(value)
    return [str(layout), [described(leaf) for leaf in leaves]]


def state_of(model):
    """Parameters, buffers and plain attributes: what a forward may have changed."""
    tensors = {name: described(value) for name, value in model.state_dict().items()}
    plain = {name: described_tree(value) for name, value in vars(model).items() if not name.startswith("_")}
    return [tensors, plain]


def once(root, case, model):
    arguments, named = copy.deepcopy((case.example_args, case.example_kwargs))
    try:
        result = described_tree(root(model, arguments, named))
    except Exception as error:  # what a case raises is its result
        result = [type(error).__qualname__, str(error).splitlines()[:1]]
    return [result, described_tree([arguments, named]), state_of(model)]


def called(model, arguments, named):
    return model(*arguments, **named)


def root_for(name):
    """A copy of `called` under a name by which the case's graphs are found."""
    code = called.__code__.replace(co_name=f"case_{name}", co_qualname=f"case_{name}")
    return types.FunctionType(code, called.__globals__, f"case_{name}")


def dynamo_graphs(case):
    """How many graphs with calls TorchDynamo captures the case in, if it captures it whole."""
    graphs = []

    def count(graph, _):
        if any(node.op.startswith("call_") for node in graph.graph.nodes):
            graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    arguments, named = copy.deepcopy((case.example_args, case.example_kwargs))
    try:
        torch.compile(copy.deepcopy(case.model), fullgraph=True, backend=count)(*arguments, **named)
    except Exception:  # every refusal is a no
        return None
    return len(graphs)


def main():
    out, *names = sys.argv[1:]
    peer = "--peer" in names
    torch.manual_seed(0)  # the examples draw their arguments when they are imported
    from torch._export.db.examples import all_examples
    cases = all_examples()
    with torch.no_grad(), open(out, "a") as answers:
        for name in [name for name in names if name != "--peer"] or sorted(cases):
            torch.manual_seed(0)
            case, root = cases[name], root_for(name)
            model = copy.deepcopy(case.model)
            answer = {"name": name, "calls": [once(root, case, model) for _ in range(3)]}
            if peer:
                answer["dynamo"] = dynamo_graphs(case)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


main()
