"""Calls one model of the sweep as it is, then three times in a root of its own, and says how far the results are apart.

Usage: run_model.py NAME OUT [--compiled]. To be run with --only=swept_call: the call beside it stays Python's.
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


def plain_call(model, args, kwargs):
    return model(*args, **kwargs)


def tensors_of(result):
    if hasattr(result, "to_tuple"):
        result = result.to_tuple()
    return [leaf.clone() for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def distance(ours, plain):
    """The largest max|a-b| / max|b| of any tensor; infinite where shapes, dtypes or NaN differ."""
    if [(x.shape, x.dtype) for x in ours] != [(x.shape, x.dtype) for x in plain]:
        return float("inf")
    worst = 0.0
    for a, b in zip(ours, plain):
        if not torch.equal(a.isnan(), b.isnan()):
            return float("inf")
        a, b = a.double().nan_to_num(), b.double().nan_to_num()
        if a.numel():
            worst = max(worst, ((a - b).abs().max() / (b.abs().max() + 1e-6)).item())
    return worst


def main():
    name, out = sys.argv[1:3]
    call = torch.compile(swept_call) if sys.argv[3:] == ["--compiled"] else swept_call
    torch.set_num_threads(1)
    model, args, kwargs = sweep_models.build(name)
    with torch.no_grad():
        plain = tensors_of(plain_call(model, args, kwargs))
        ours = [tensors_of(call(model, args, kwargs)) for _ in range(CALLS)]
    record = {"errors": [distance(each, plain) for each in ours], "tensors": len(plain),
              "finite": all(bool(each.isfinite().all()) for each in plain)}
    with open(out, "w") as file:
        json.dump(record, file)


main()
