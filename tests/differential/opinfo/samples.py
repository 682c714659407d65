"""What torch's own op database (in its wheel) offers: samples and wrong inputs of every op, as cases that a program runs.

A case is one way to call one op: its samples in a mode. Modes:

  plain     the op alone, on one sample
  gaps      the same on tensors that lie with gaps between their elements
  fused     with pointwise ops before and behind it
  in_place  the variant that writes its first argument, on a copy; what was written counts
  gradients the op on leaves, and the gradients that torch's engine then gives them
  changing  one function for all samples of one structure: sizes change from call to call
  errors    arguments that torch refuses: the kind of the error counts
"""
import dataclasses
import itertools
import sys
import types
import unittest

import torch


def op_database():
    """torch's OpInfo objects. What only torch's own test runner needs stands in for packages that are not there."""
    if "expecttest" not in sys.modules:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        stand_in.assert_expected_inline = None
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db
    return op_db


MODES = ("plain", "gaps", "fused", "in_place", "gradients", "changing", "errors")
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64)

# What they give is not decided by what they are given, or takes minutes, or asks for another machine.
LEFT_OUT = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "uniform", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "multinomial", "pca_lowrank", "svd_lowrank", "nn.functional.rrelu",
    "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
}


@dataclasses.dataclass
class Case:
    """`calls`: the arguments of each call in turn, made anew for every one."""
    key: str
    op: object
    mode: str
    dtype: torch.dtype
    target: object
    calls: list


def name_of(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def is_plain(sample):
    everything = tensors_in((sample.input, sample.args, sample.kwargs))
    return all(type(t) is torch.Tensor and t.layout is torch.strided and not t.is_conj() and not t.is_neg() for t in everything)


def copied(value):
    """The same argument in memory of its own, laid out as it was."""
    if isinstance(value, torch.Tensor):
        storage = value.detach().untyped_storage().clone()
        made = torch.empty(0, dtype=value.dtype).set_(storage, value.storage_offset(), value.size(), value.stride())
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, tuple) and type(value) is not tuple:
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value


def structure(value):
    """Equal for arguments that differ in their tensors' sizes and elements alone."""
    if isinstance(value, torch.Tensor):
        return ("tensor", value.dtype, value.dim())
    if isinstance(value, (list, tuple)):
        return tuple(structure(item) for item in value)
    if isinstance(value, dict):
        return tuple((key, structure(item)) for key, item in value.items())
    return repr(value)


def spread(items, count):
    """At most `count` of the items, evenly spread; all for 0."""
    if not count or len(items) <= count:
        return list(enumerate(items))
    return [(i * len(items) // count, items[i * len(items) // count]) for i in range(count)]


def samples_of(op, dtype, requires_grad=False):
    """The samples that can be made; torch's generators raise for a few combinations."""
    try:
        return [s for s in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=requires_grad), 200) if is_plain(s)]
    except Exception:
        return []


def gradient_cases_of(op, dtype, target, count):
    if not op.supports_autograd or dtype not in op.supported_backward_dtypes("cpu"):
        return
    every = [(s.input, s.args, s.kwargs) for s in samples_of(op, dtype, True)]
    every = [given for given in every if any(t.requires_grad for t in tensors_in(given))]
    for i, given in spread(every, count):
        yield Case(f"{name_of(op)}|gradients|{str(dtype).removeprefix('torch.')}|{i}", op, "gradients", dtype, target, [given] * 4)


def errors_of(op):
    try:
        return [e.sample_input for e in itertools.islice(op.error_inputs("cpu"), 60) if is_plain(e.sample_input)]
    except Exception:
        return []


def cases_of(op, dtype, modes, count):
    """The cases of one op and dtype, in a fixed order."""
    label, target = name_of(op), op.get_op()
    if target is None:
        return
    if "errors" in modes and dtype is torch.float32:
        for i, sample in spread(errors_of(op), count):
            yield Case(f"{label}|errors|float32|{i}", op, "errors", dtype, target, [(sample.input, sample.args, sample.kwargs)] * 3)
    if dtype not in op.supported_dtypes("cpu"):
        return
    short = str(dtype).removeprefix("torch.")
    every = samples_of(op, dtype)
    for i, sample in spread(every, count):
        given = (sample.input, sample.args, sample.kwargs)
        for mode in ("plain", "gaps", "fused", "in_place"):
            if mode not in modes:
                continue
            called, arguments = target, given
            if mode == "in_place":
                called = op.get_inplace()
            if mode == "gaps":
                try:
                    moved = sample.noncontiguous()
                except Exception:
                    continue
                arguments = (moved.input, moved.args, moved.kwargs)
            if called is None or (mode in ("fused", "in_place") and not isinstance(sample.input, torch.Tensor)):
                continue
            yield Case(f"{label}|{mode}|{short}|{i}", op, mode, dtype, called, [arguments] * 4)
    if "gradients" in modes:
        yield from gradient_cases_of(op, dtype, target, count)
    if "changing" not in modes:
        return
    groups = {}
    for sample in every:
        groups.setdefault(structure((sample.input, sample.args, sample.kwargs)), []).append(sample)
    several = [group[:3] for group in groups.values() if len(group) > 1]
    for i, group in spread(several, count):
        turns = [(s.input, s.args, s.kwargs) for s in group]
        yield Case(f"{label}|changing|{short}|{i}", op, "changing", dtype, target, turns * 2 + turns[:1])
