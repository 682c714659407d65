"""Every module of torch's module database (in its wheel), each sample in eval and in train mode: three calls by a root of
its own give what three calls of a copy by plain Python give, the module's state included.

To be run by `penstock run --only=case_*`: calls by plain_call stay Python's.
"""
import copy
import sys
import types
import unittest
import warnings

import torch
from torch.utils import _pytree

CALLS = 3
# Of float32, as a share and of ones that are small.
RELATIVE, ABSOLUTE = 1e-4, 1e-5


def module_database():
    stand_in = types.ModuleType("expecttest")  # torch's own test runner asks for it, for its tests alone
    stand_in.TestCase = unittest.TestCase
    stand_in.assert_expected_inline = None
    sys.modules.setdefault("expecttest", stand_in)
    from torch.testing._internal.common_modules import module_db
    return module_db


def root_of(number):
    """A function with code of its own: entries of one module do not count for another."""
    space = {}
    exec(compile(f"def case_{number}(module, args, kwargs): return module(*args, **kwargs)", f"case_{number}.py", "exec"), space)
    return space[f"case_{number}"]


def plain_call(module, args, kwargs):
    return module(*args, **kwargs)


def outcome(call, module, given, turn):
    """(tensors of the result, None), or (None, the error)."""
    torch.manual_seed(turn)
    args, kwargs = copy.deepcopy(given)
    try:
        return [leaf for leaf in _pytree.tree_leaves(call(module, args, kwargs)) if isinstance(leaf, torch.Tensor)], None
    except Exception as error:  # what a module refuses is compared as well
        return None, f"{type(error).__name__}: {error}"


def difference(plain, ours):
    if len(plain) != len(ours):
        return f"{len(ours)} tensors for {len(plain)}"
    for a, b in zip(ours, plain):
        seen = [(t.shape, t.dtype, t.stride()) for t in (a, b)]
        if seen[0] != seen[1]:
            return f"{seen[0]} for {seen[1]}"
        if not torch.allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True):
            return f"elements differ by {(a - b).abs().max().item():.2e}"
    return ""


def state_of(module):
    return [value for value in module.state_dict().values() if isinstance(value, torch.Tensor)]


def cases():
    for info in module_database():
        for training in (False, True):
            for sample in info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=training):
                torch.manual_seed(0)
                made = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).train(training)
                given = ((), {}) if sample.forward_input is None else (sample.forward_input.args, sample.forward_input.kwargs)
                yield f"{info.name} {'train' if training else 'eval'}", made, given


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    passed = failed = 0
    for number, (name, module, given) in enumerate(cases()):
        root, beside = root_of(number), copy.deepcopy(module)
        wrong = ""
        with torch.no_grad():
            for turn in range(CALLS):
                plain, refused = outcome(plain_call, beside, given, turn)
                ours, raised = outcome(root, module, given, turn)
                if refused != raised:
                    wrong = wrong or f"call {turn + 1}: {raised} for {refused}"
                elif refused is None:
                    wrong = wrong or difference(plain, ours) or difference(state_of(beside), state_of(module))
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"FAILED {name}, sample {number}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
