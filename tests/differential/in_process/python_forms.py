"""Python forms of functions of C, which have their names: what is told of the C function does not hold for them."""
import importlib.util
import operator
import sys

import torch

spec = importlib.util.find_spec("functools")
in_python = importlib.util.module_from_spec(spec)
kept, sys.modules["_functools"] = sys.modules["_functools"], None
spec.loader.exec_module(in_python)
sys.modules["_functools"] = kept
x = torch.arange(4.0)


def reduced(x, n):
    return in_python.reduce(operator.add, [x * i for i in range(n)], x.sin())


for n in range(3):
    for _ in range(3):
        print("reduced", n, reduced(x, n), type(in_python.reduce).__name__)
