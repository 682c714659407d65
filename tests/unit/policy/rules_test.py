"""The rules that come with penstock are of things that are there: of this Python and of the torch that it is built for.

usage: rules_test.py CAPTURE_RULES

A name of a rule is looked up as the rules' reader knows it: where Python code is defined, which class or module of C
holds a function, or under which name torch shows it. A misspelt one, or one that torch has dropped, would change what is
captured without a word.
"""
import _contextvars  # noqa: F401  (looked up by name)
import builtins
import importlib
import itertools  # noqa: F401
import pathlib
import sys

import torch
import torch.masked  # noqa: F401
import torch.signal  # noqa: F401

ACTIONS_WITH_WORD = ("model", "serve")
# Not there in every build, or known by another name in a later release: the reason stands beside each.
ELSEWHERE = {
    "torch._C._TensorBase.*": "TensorBase, as torch called it before 2.2",
    "penstock.polyfills.order": "ours", "penstock.polyfills.constant_pow": "ours", "penstock.polyfills.constant_sum": "ours", "penstock.polyfills.itertools_*": "ours",
    "penstock.polyfills.as_grid": "ours", "penstock.polyfills.of_grid": "ours",
    **{f"penstock.polyfills.{name}": "ours" for name in ("begin_subgraph", "end_subgraph", "join_branches", "join_while_loop", "join_scan", "loop_inputs", "left_to_torch", "function_context", "function_tangents", "join_function", "begin_checkpoint", "end_checkpoint", "left_checkpoint")},
    "penstock.polyfills.*": "ours",
    "torch._ops.profiler.*": "torch.ops.profiler, whose functions of C say that they are there",
    "type.maketrans": "that of str, bytes and bytearray, whose self is the class",
    "builtins.method": "types.MethodType, which calls itself so",
    "function.__get__": "types.FunctionType, which calls itself so",
    **{f"mappingproxy.{name}": "types.MappingProxyType, whose own name has no module" for name in ("keys", "values", "items")},
}


def patterns(text):
    """The names of all rules, line by line."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split(" : ")[0].split()
        if not words:
            continue
        skipped = 1 + (words[0] in ACTIONS_WITH_WORD)
        skipped += skipped < len(words) and words[skipped].startswith("PS03")
        for name in words[skipped:]:
            yield number, name


def members(holder):
    """All names below something: a module's functions as well as a function's inner ones."""
    names = set(dir(holder))
    code = getattr(holder, "__code__", None)
    if code is not None:
        names |= {constant.co_name for constant in code.co_consts if hasattr(constant, "co_name")}
    return names


def find(path):
    """What a dotted name names, from the longest part of it that is a module; None if nothing."""
    parts = path.split(".")
    for split in range(len(parts), 0, -1):
        try:
            at = importlib.import_module(".".join(parts[:split]))
        except ImportError:
            continue
        for part in parts[split:]:
            if part == "<locals>":
                continue
            inner = [c for c in getattr(getattr(at, "__code__", at), "co_consts", ()) if getattr(c, "co_name", "") == part]
            at = getattr(at, part, inner[0] if inner else None)
            if at is None:
                break
        if at is not None:
            return at
    first, *rest = parts
    at = getattr(builtins, first, None)
    for part in rest:
        at = getattr(at, part, None)
    return at


def names_something(pattern):
    if pattern == "*" or pattern.startswith(".") or pattern in ELSEWHERE:
        return True
    if not pattern.endswith("*"):
        return find(pattern) is not None
    holder, dot, begin = pattern[:-1].rpartition(".")
    if not dot:
        return find(begin) is not None
    below = find(holder)
    return below is not None and any(name.startswith(begin) for name in members(below))


def main():
    text = pathlib.Path(sys.argv[1]).read_text()
    wrong = [f"capture.rules:{number}: {name}" for number, name in patterns(text) if not names_something(name)]
    seen = {}
    for number, name in patterns(text):
        if name in seen and name != "*":
            wrong.append(f"capture.rules:{number}: {name} has a rule in line {seen[name]}, which wins")
        seen[name] = number
    # Where the rules' reader knows C code by what torch shows, the shown name is that of the code.
    for name in ("rand", "zeros", "normal"):
        if getattr(torch, name) is not getattr(torch._C._VariableFunctions, name):
            wrong.append(f"torch.{name} is not the C function of that name")
    print("\n".join(wrong) or f"{len(seen)} names")
    sys.exit(bool(wrong))


main()
