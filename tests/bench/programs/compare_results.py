"""Compares what the sides of the models bench left behind, every element of every tensor.

Usage: compare_results.py EXPECTED GIVEN…
Prints one JSON object: by file the largest difference of an element relative to its tensor's largest magnitude, or a
sentence where shapes, dtypes, NaN or infinities differ.
"""

import json
import sys

import torch


def difference(expected, given):
    if [(t.shape, t.dtype) for t in expected] != [(t.shape, t.dtype) for t in given]:
        return "shapes or dtypes differ"
    worst = 0.0
    for a, b in zip(given, expected):
        a, b = (torch.view_as_real(t) if t.is_complex() else t for t in (a, b))
        a, b = a.double(), b.double()
        finite = b.isfinite()
        if not torch.equal(a.isfinite(), finite) or not torch.equal(a[~finite].nan_to_num(), b[~finite].nan_to_num()):
            return "NaN or infinities differ"
        a, b = a[finite], b[finite]
        if a.numel():
            worst = max(worst, ((a - b).abs().max() / (b.abs().max() + 1e-30)).item())
    return worst if expected else "there is no tensor"


results = [torch.load(path, weights_only=True) for path in sys.argv[1:]]
print(json.dumps({path: difference(results[0], given) for path, given in zip(sys.argv[2:], results[1:])}))
