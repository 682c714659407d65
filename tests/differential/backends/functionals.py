"""Every op of torch's own database by way of backends of the program's: run by `penstock run` (check_backends.py).

Usage: functionals.py PART PARTS PER_OP [OP]…
Every op, method and in-place method is called with samples that give the most arguments, inside torch.compile with a
backend that gives the graph back and with one that interprets it: what comes out is what torch gives without them.
Prints a line for every difference, and for every callable whose graph no backend got.
"""

import collections
import sys
import types
import warnings

warnings.simplefilter("ignore")
stub = types.ModuleType("expecttest")  # torch's database asks for it, for its tests alone
stub.TestCase = type("TestCase", (), {})
sys.modules.setdefault("expecttest", stub)

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db

PART, PARTS, PER_OP = (int(text) for text in sys.argv[1:4])
ONLY = set(sys.argv[4:])
DTYPES = (torch.float32, torch.complex64, torch.int64, torch.bool)
# Elements of what these give are as they come: their types alone are compared.
UNDETERMINED = ("empty", "new_empty", "resize_", "svd_lowrank", "pca_lowrank")

graphs = []


def identity(module, inputs):
    graphs.append(module)
    return module.forward


def interpreter(module, inputs):
    graphs.append(module)
    return lambda *arguments: torch.fx.Interpreter(module).run(*arguments)


def difference(expected, got, name):
    expected, got = pytree.tree_leaves(expected), pytree.tree_leaves(got)
    if len(expected) != len(got):
        return f"{len(got)} results, not {len(expected)}"
    for one, other in zip(expected, got):
        if type(one) is not type(other):
            return f"a {type(other).__name__}, not a {type(one).__name__}"
        if not isinstance(one, torch.Tensor):
            if one != other and one == one:
                return f"{other}, not {one}"
            continue
        if one.dtype != other.dtype or one.shape != other.shape or one.layout != other.layout:
            return f"{other.dtype} {tuple(other.shape)}, not {one.dtype} {tuple(one.shape)}"
        if name.startswith(UNDETERMINED) or one.is_quantized:
            continue
        try:
            torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6, equal_nan=True)
        except AssertionError:
            return f"other elements: {str(other)[:60]!r}, not {str(one)[:60]!r}"
    return ""


def copied(tree):
    return pytree.tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, tree)


@torch.compiler.disable
def called(function, arguments, keywords):
    torch.manual_seed(1)
    return function(*copied(arguments), **copied(keywords))


def samples_of(op):
    """The samples with the most keywords, one of each kind first."""
    dtype = next((one for one in DTYPES if one in op.dtypes), None)
    if dtype is None:
        return []
    try:
        samples = sorted(op.sample_inputs("cpu", dtype, requires_grad=False), key=lambda one: -len(one.kwargs))
    except Exception as error:
        print("SAMPLES", op.name, type(error).__name__)
        return []
    first, rest, seen = [], [], set()
    for one in samples:
        kind = (tuple(sorted(one.kwargs)), tuple(type(argument).__name__ for argument in one.args))
        (rest if kind in seen else first).append(one)
        seen.add(kind)
    return (first + rest)[:PER_OP]


def compiled(function, backend, name):
    """A function of its own: code that is compiled for many functions has too many entries."""
    space = {"function": function}
    exec(compile("def call(arguments, keywords):\n    return function(*arguments, **keywords)\n", name, "exec"), space)
    return torch.compile(space["call"], backend=backend)


def check(name, function, sample, counts):
    arguments, keywords = (sample.input, *sample.args), sample.kwargs
    try:
        expected = called(function, arguments, keywords)
    except Exception:
        return True  # torch's own refusal
    counts["cases"] += 1
    for backend in (identity, interpreter):
        call = compiled(function, backend, f"<{name}>")
        graphs.clear()
        for turn in range(2):
            try:
                torch.manual_seed(1)
                wrong = difference(expected, call(copied(arguments), copied(keywords)), name)
            except Exception as error:
                wrong = f"{type(error).__name__} {str(error)[:200]!r}"
            if wrong:
                counts["wrong"] += 1
                shown = {key: value for key, value in keywords.items() if not isinstance(value, torch.Tensor)}
                print("WRONG", name, backend.__name__, "call", turn, shown, wrong, flush=True)
                break
    return bool(graphs)


counts = collections.Counter()
for number, op in enumerate(op_db):
    if number % PARTS != PART or ONLY and op.name not in ONLY:
        continue
    samples = samples_of(op)
    for kind, function in (("", op.op), (" method", op.method_variant), (" in place", op.inplace_variant)):
        if function is None:
            continue
        handed = [check(op.name + kind, function, sample, counts) for sample in samples]
        counts["callables"] += 1
        counts["handed over"] += all(handed)
        if not all(handed):
            print("NOT HANDED OVER", op.name + kind, flush=True)
print("TOTAL", " ".join(f"{name}={count}" for name, count in sorted(counts.items())))
