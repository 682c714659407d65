"""The program under test: runs cases of samples.py and writes what every call gave, plainly and in process alike.

Usage: run_cases.py OUT PROGRESS SETTINGS
SETTINGS is a JSON object: ops, modes, dtypes, samples, skip (keys that are not run). PROGRESS gets the key of each case
before it runs, so that what ends the process is known. Every case has code objects of its own, named after its number:
entries of one never crowd out another's, and what runs below a break is known as the case's.
"""
import functools
import json
import pickle
import sys
import types
import warnings

import torch
from torch.testing._utils import wrapper_set_seed

import samples

warnings.filterwarnings("ignore")


def alone(target, x, args, kwargs):
    return target(x, *args, **kwargs)


def in_place(target, x, args, kwargs):
    y = x.clone()
    target(y, *args, **kwargs)
    return y


def fused_real(target, x, args, kwargs):
    return behind(target(x.clamp(-1e30, 1e30), *args, **kwargs))


def fused_whole(target, x, args, kwargs):
    return behind(target(x.clamp(-(2 ** 40), 2 ** 40), *args, **kwargs))


def fused_truth(target, x, args, kwargs):
    return behind(target(x.logical_and(x), *args, **kwargs))


def fused_complex(target, x, args, kwargs):
    return behind(target(x + 0, *args, **kwargs))


def behind(result):
    if isinstance(result, torch.Tensor):
        if result.dtype == torch.bool:
            return ~result
        if result.is_floating_point():
            return result * 2 + 1
        return result + 1
    if isinstance(result, (list, tuple)):
        return [behind(item) for item in result]
    return result


def template_of(case):
    if case.mode == "in_place":
        return in_place
    if case.mode != "fused":
        return alone
    if case.dtype.is_complex:
        return fused_complex
    if case.dtype == torch.bool:
        return fused_truth
    return fused_real if case.dtype.is_floating_point else fused_whole


def own_function(template, name):
    """The same function of a code object of its own."""
    code = template.__code__.replace(co_name=name, co_qualname=name)
    made = types.FunctionType(code, template.__globals__, name, template.__defaults__, template.__closure__)
    made.__kwdefaults__ = template.__kwdefaults__
    made.__dict__.update(template.__dict__)
    return made


def own_target(target, name):
    """The same for what a case calls: a function of torch's in Python, and the one around ops that draw numbers."""
    for module in seeding_modules():
        module.wrapper_set_seed = own_function(wrapper_set_seed, name)
    return own_function(target, name) if isinstance(target, types.FunctionType) else target


@functools.cache
def seeding_modules():
    return [module for module in sys.modules.values() if getattr(module, "wrapper_set_seed", None) is wrapper_set_seed]


def described(value, depth=0):
    """What is compared of a result: all that a program can see of it, as plain data."""
    if isinstance(value, torch.Tensor):
        facts = (str(value.dtype), tuple(value.shape), str(value.layout), type(value).__name__)
        if value.layout is not torch.strided:
            return ("tensor", facts, None, None)
        view = (value.stride(), value.storage_offset(), value._base is not None, value.is_leaf, value.requires_grad)
        whole = value.detach().resolve_conj().resolve_neg().contiguous()
        return ("tensor", facts, view, bytes(whole.untyped_storage())[:whole.numel() * whole.element_size()] if whole.numel() else b"")
    if isinstance(value, (list, tuple)) and depth < 4:
        return ("items", type(value).__name__, [described(item, depth + 1) for item in value])
    if isinstance(value, (int, float, complex, bool, str, type(None), torch.Size, torch.dtype)):
        return ("value", repr(value))
    return ("object", type(value).__name__)


def gradients_of(result, leaves):
    """What torch's engine gives the leaves for tangents of every result, as plain data. Nothing but torch's own backward,
    and of a graph's that of single ops, is to run for it: no segment a second time, which asks with create_graph, unless an op
    gives no gradient at all.
    """
    again, grad = [], torch.autograd.grad

    def noted(*args, **kwargs):
        again.extend(kwargs.keys() & {"create_graph"})
        return grad(*args, **kwargs)

    torch.autograd.grad = noted
    reached = [t for t in samples.tensors_in(result) if t.requires_grad]
    tangents = [torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).view(t.shape) for t in reached]
    try:
        found = torch.autograd.grad(reached, leaves, tangents, allow_unused=True)
    except Exception as error:
        return ("error", type(error).__name__)
    finally:
        torch.autograd.grad = grad
    if again and None not in found:
        return ("object", "gradients by running a segment again")
    return described([one if one is None else one.detach().clone(memory_format=torch.contiguous_format) for one in found])


def run(case, number):
    """What each call gave, and the first argument behind it, or the gradients."""
    function, target = own_function(template_of(case), f"case_{number}"), own_target(case.target, f"case_{number}")
    told = []
    for given in case.calls:
        x, args, kwargs = samples.copied(given[0]), samples.copied(given[1]), samples.copied(given[2])
        torch.manual_seed(7)
        try:
            with torch.set_grad_enabled(case.mode == "gradients"):
                result = function(target, x, args, kwargs)
            if case.mode == "gradients":
                leaves = [t for t in samples.tensors_in((x, args, kwargs)) if t.requires_grad]
                told.append((described(result), gradients_of(result, leaves)))
            else:
                told.append((described(result), described(x)))
        except Exception as error:
            told.append((("error", type(error).__name__), None))
    return told


def main():
    out, progress, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    torch.set_num_threads(1)
    wanted, skipped = set(settings["ops"]), set(settings["skip"])
    dtypes = [getattr(torch, name) for name in settings["dtypes"]]
    number = 0
    with open(out, "ab") as results, open(progress, "a", encoding="utf-8") as log:
        for op in samples.op_database():
            if samples.name_of(op) not in wanted:
                continue
            for dtype in dtypes:
                torch.manual_seed(0)
                for case in samples.cases_of(op, dtype, settings["modes"], settings["samples"]):
                    number += 1
                    if case.key in skipped:
                        continue
                    log.write(f"{number} {case.key}\n")
                    log.flush()
                    pickle.dump((case.key, run(case, number)), results)
                    results.flush()
        log.write("end\n")


if __name__ == "__main__":
    main()
