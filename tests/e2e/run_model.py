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
        plain = tensors_of(plain_call(model, args, kwargs))
        ours = [tensors_of(call(model, args, kwargs)) for _ in range(CALLS)]
    record = {"errors": [distance(each, plain) for each in ours], "tensors": len(plain),
              "finite": all(bool(each.isfinite().all()) for each in plain)}
    with open(out, "w") as file:
        json.dump(record, file)


main()
