"""What one check of a guard program costs, without the call around it.

Usage: jit_guards.py FOLDER-OF-penstock_jit_test.so [CHECKS]; prints JSON. Under
`valgrind --tool=callgrind --collect-atstart=no` only the checks are counted: the total, divided by
the checks of one row (third argument), is the instructions of one check.
"""
import json
import sys

sys.path.insert(0, sys.argv[1])
import penstock_jit_test as jit  # noqa: E402
import torch  # noqa: E402

checks = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
only = sys.argv[3] if len(sys.argv) > 3 else None
torch.set_grad_enabled(False)


def guard(kind, source, expected=None, **more):
    return {"kind": kind, "source": source, "expected": expected, **more}


def called(x, y):
    return x


def two_tensors():
    x = torch.ones(8, 8)
    return [guard("tensor", f"L['{name}']", tensor=("float32", [8, 8])) for name in "xy"], (x, x)


def module_tree():
    """What following 20 Linear layers relies on: types, flags, hooks, parameters."""
    tree = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(20)])
    for parameter in tree.parameters():
        parameter.requires_grad_(False)
    guards = [guard("type_is", "L['x']", live=torch.nn.Sequential)]
    hooks = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
    for i in range(20):
        layer = f"L['x']._modules['{i}']"
        guards += [guard("type_is", layer, live=torch.nn.Linear),
                   guard("equals", f"{layer}.training", True),
                   *[guard("length", f"{layer}.{name}", 0) for name in hooks],
                   guard("tensor", f"{layer}._parameters['weight']", tensor=("float32", [8, 8])),
                   guard("tensor", f"{layer}._parameters['bias']", tensor=("float32", [8]))]
    return guards, (tree, 0)


rows = {}
for make in (two_tensors, module_tree):
    if only not in (None, make.__name__):
        continue
    guards, arguments = make()
    jit.attach(called.__code__, {"guards": guards})
    called(*arguments)
    assert jit.last() == (True, []), jit.last()
    jit.repeat(checks)
    called(*arguments)
    rows[make.__name__] = {"guards": len(guards), "steps": jit.steps(),
                           "ns": round(jit.nanoseconds(), 1)}
print(json.dumps(rows))
