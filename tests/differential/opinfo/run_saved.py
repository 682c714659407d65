"""The program under test: ops of torch's database called for gradients, whose operands and results are written between
forward and backward; what backward gives by a compiled root is compared with what it gives by plain Python.

Usage: run_saved.py OUT PROGRESS SETTINGS, as run_cases.py; to be run by `penstock run --only=case_*`. Written is

  counted  under no_grad: an error where torch's own graph keeps the tensor, and what was there before elsewhere
  data     through `.data`, which no version counts: what torch kept is read as it is by then
  other    by `.data = …`: what torch kept is that tensor, whose memory is another, or a view, whose memory is not

each operand and each result by itself, with all operands that can requiring grad, and with each of them alone.
"""
import json
import pickle
import sys
import warnings

import torch

import run_cases
import samples

warnings.filterwarnings("ignore")
MOST_MASKS = 4
MODIFIED = "modified by an inplace operation"


def replaced(value, place):
    """The same argument with place(tensor) for each of its tensors."""
    if isinstance(value, torch.Tensor):
        return place(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(replaced(item, place) for item in value)
    if isinstance(value, dict):
        return {key: replaced(item, place) for key, item in value.items()}
    return value


def arguments(given, mask):
    """Arguments in memory of their own, and their tensors in order; `mask`: which of them require grad."""
    tensors = []

    def own(tensor):
        made = samples.copied(tensor)
        tensors.append(made.requires_grad_(len(tensors) in mask))
        return made

    return replaced(given, own), tensors


def masks_of(given):
    every = [i for i, t in enumerate(samples.tensors_in(given)) if t.is_floating_point()]
    yield frozenset(every)
    if len(every) > 1:
        yield from (frozenset([i]) for i in every[:MOST_MASKS])


def changed(tensor):
    """Other elements that an op may find in the tensor's place."""
    whole = tensor.detach()
    if whole.dtype == torch.bool:
        return ~whole
    if whole.is_floating_point() or whole.is_complex():
        return whole * 0.75
    return whole.flip(tuple(range(whole.dim())))


def write(kind, tensor):
    with torch.no_grad():
        if kind == "counted":
            tensor.copy_(changed(tensor))
        elif kind == "data":
            tensor.data.copy_(changed(tensor))
        else:
            tensor.data = changed(tensor)


def error_of(error):
    return type(error).__name__ + (": " + MODIFIED if MODIFIED in str(error) else "")


def outcome(function, target, given, mask, written):
    """(gradients, None), or (None, the error); and how many tensors the call gave."""
    (x, args, kwargs), tensors = arguments(given, mask)
    torch.manual_seed(7)
    results = list(samples.tensors_in(function(target, x, args, kwargs)))
    reached = [t for t in results if t.requires_grad]
    tangents = [torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).view(t.shape) for t in reached]
    try:
        if written is not None:
            kind, of_results, place = written
            write(kind, (results if of_results else tensors)[place])
        leaves = [t for t in tensors if t.requires_grad]
        return torch.autograd.grad(reached, leaves, tangents, allow_unused=True), None, len(results)
    except RuntimeError as error:
        return None, error_of(error), len(results)


def difference(expected, given):
    if expected[1] != given[1]:
        return f"{given[1] or 'no error'} for {expected[1] or 'no error'}"
    if expected[1] is not None:
        return ""
    for i, (a, b) in enumerate(zip(given[0], expected[0])):
        if (a is None) != (b is None):
            return f"gradient {i}: {a} for {b}"
        if a is not None and (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"gradient {i}: {a.dtype}, {tuple(a.shape)} for {b.dtype}, {tuple(b.shape)}"
        if a is not None and not torch.allclose(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().nan_to_num(0, 0, 0).max()) + 1e-6 if b.numel() else 0, equal_nan=True):
            return f"gradient {i}: {[round(v, 4) for v in a.flatten().tolist()[:4]]} for {[round(v, 4) for v in b.flatten().tolist()[:4]]}"
    return ""


def writes_of(given, results):
    for kind in ("counted", "data", "other"):
        for i, tensor in enumerate(samples.tensors_in(given)):
            if tensor.numel():
                yield kind, False, i
        if kind != "other":
            yield from ((kind, True, i) for i in range(results))


def name_of(write):
    return "nothing" if write is None else f"{write[0]} {'result' if write[1] else 'operand'} {write[2]}"


def run(case, number, mask):
    """(what was wrong, by what was written; how many writes torch refused and how many it took), or None."""
    template = run_cases.template_of(case)
    plain, target = run_cases.own_function(template, f"plain_{number}"), case.target
    root, own = run_cases.own_function(template, f"case_{number}"), run_cases.own_target(case.target, f"case_{number}")
    given = case.calls[0]
    try:
        first = outcome(plain, target, given, mask, None)
    except Exception:
        return None
    if first[1] is not None or difference(first, outcome(plain, target, given, mask, None)):
        return None
    wrong, refused, taken = {}, 0, 0
    for written in (None, None, None, *writes_of(given, first[2])):
        expected = outcome(plain, target, given, mask, written)
        try:
            told = difference(expected, outcome(root, own, given, mask, written))
        except Exception as error:
            told = f"the call raised {type(error).__name__}: {error}"[:200]
        refused, taken = refused + (expected[1] is not None), taken + (expected[1] is None)
        if told:
            wrong.setdefault(name_of(written), told)
    return wrong, refused, taken


def cases_of(op, settings):
    if not op.supports_autograd:
        return
    for dtype in settings["dtypes"]:
        torch.manual_seed(0)
        for case in samples.cases_of(op, getattr(torch, dtype), settings["modes"], settings["samples"]):
            for mask in masks_of(case.calls[0]):
                yield f"{case.key}|{','.join(map(str, sorted(mask)))}", case, mask


def main():
    out, progress, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    torch.set_num_threads(1)
    wanted, skipped = set(settings["ops"]), set(settings["skip"])
    number = 0
    with open(out, "ab") as results, open(progress, "a", encoding="utf-8") as log:
        for op in samples.op_database():
            if samples.name_of(op) not in wanted:
                continue
            for key, case, mask in cases_of(op, settings):
                number += 1
                if key in skipped:
                    continue
                log.write(f"{number} {key}\n")
                log.flush()
                pickle.dump((key, run(case, number, mask)), results)
                results.flush()
        log.write("end\n")


if __name__ == "__main__":
    main()
