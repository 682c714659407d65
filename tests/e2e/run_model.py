"""Calls one model of the sweep as it is, then three times in a root of its own, and says how far the results are apart.

Usage: run_model.py NAME OUT [--compiled]. To be run with --only=swept_*: the call beside it stays Python's. Behind each
call stands one of swept_mark: what was recorded before its graph belongs to that call.
With --compiled the program asks for the call to be compiled (torch.compile).
"""
import json
import sys

import torch
from torch.utils import _pytree

import sweep_models

CALLS = 3


def swept_call(model, args, kwargs):
    return model(*args, **kwargs)


def marks():
    """A function of one op for each call, each a root of its own."""
    space = {}
    for number in range(CALLS):
        exec(compile(f"def swept_mark_{number}(x):\n    return x + 1\n", f"swept_mark_{number}.py", "exec"), space)
    return [space[f"swept_mark_{number}"] for number in range(CALLS)]


def seeded(call, *arguments):
    torch.manual_seed(1)
    return tensors_of(call(*arguments))


def plain_call(model, args, kwargs):
    return model(*args, **kwargs)


def tensors_of(result):
    if hasattr(result, "to_tuple"):
        result = result.to_tuple()
    return [leaf.clone() for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def distance(ours, plain):
    """The largest max|a-b| / max|b| of any tensor, over finite elements; infinite where shapes, dtypes, NaN or inf differ."""
    if [(x.shape, x.dtype) for x in ours] != [(x.shape, x.dtype) for x in plain]:
        return float("inf")
    worst = 0.0
    for a, b in zip(ours, plain):
        a, b = (torch.view_as_real(t) if t.is_complex() else t for t in (a, b))
        a, b = a.double(), b.double()
        finite = b.isfinite()
        if not torch.equal(a[~finite].nan_to_num(), b[~finite].nan_to_num()) or not torch.equal(a.isfinite(), finite):
            return float("inf")
        a, b = a[finite], b[finite]
        if a.numel():
            worst = max(worst, ((a - b).abs().max() / (b.abs().max() + 1e-6)).item())
    return worst


def main():
    name, out = sys.argv[1:3]
    call = torch.compile(swept_call) if sys.argv[3:] == ["--compiled"] else swept_call
    torch.set_num_threads(1)
    model, args, kwargs = sweep_models.build(name)
    with torch.no_grad():
        plain, ours = seeded(plain_call, model, args, kwargs), []
        for mark in marks():
            ours.append(seeded(call, model, args, kwargs))
            mark(torch.ones(2))
    record = {"errors": [distance(each, plain) for each in ours], "tensors": len(plain),
              "finite": all(bool(each.isfinite().all()) for each in plain)}
    with open(out, "w") as file:
        json.dump(record, file)


main()
