"""One process of the models bench: one model on one side, timed call by call.

Usage: models.py MODELS NAME SIDE RESULT
MODELS: the file with the table MODELS. RESULT: where the tensors of the last call go. SIDE: program (the model as it is: plain Python, or ours under
`penstock run`), dynamo or inductor (torch.compile).

Prints one JSON object after the first call, then one for each line that it reads: `steady SECONDS`
times calls for about so long, `profile` names the ATen compute ops of one call, `end` reports memory and writes RESULT.
All of it stands at the top level of this file: a `<module>` is never a region, so that the measuring
runs natively under `penstock run` too.
"""

import importlib.util
import json
import sys
import time

import torch

# Making empty tensors and windows on memory that is there computes nothing.
NO_COMPUTE = {"empty", "empty_strided", "empty_like", "view", "as_strided", "detach", "alias"}


def load(path):
    spec = importlib.util.spec_from_file_location("models", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensors_of(out):
    if torch.is_tensor(out):
        return [out]
    return [tensor for item in (out.values() if isinstance(out, dict) else out) for tensor in tensors_of(item)] \
        if isinstance(out, (dict, list, tuple)) else []


def kilobytes(field):
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))


def maps_llvm():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return "libpenstock-codegen" in maps.read()


def say(record):
    print(json.dumps(record), flush=True)


models, name, side, result = sys.argv[1:]
torch.manual_seed(0)
model, args, kwargs = load(models).MODELS[name]()
model.eval()
built = kilobytes("VmRSS")
call = model
if side != "program":
    import torch._dynamo  # its import is not part of a first call
    import torch._inductor.compile_fx
    call = torch.compile(model, backend="eager" if side == "dynamo" else "inductor")
with torch.no_grad():
    calls = []
    for _ in range(3):
        start = time.perf_counter_ns()
        out = call(*args, **kwargs)
        calls.append(time.perf_counter_ns() - start)
    say({"first": calls[0], "second": calls[1], "third": calls[2], "threads": torch.get_num_threads(), "built": built})
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "steady":
            times, until = [], time.perf_counter_ns() + float(rest[0]) * 1e9
            while len(times) < 3 or time.perf_counter_ns() < until:
                start = time.perf_counter_ns()
                out = call(*args, **kwargs)
                times.append(time.perf_counter_ns() - start)
            say({"times": times})
        elif command == "profile":
            with torch.profiler.profile() as profile:
                out = call(*args, **kwargs)
            names = {event.name.removeprefix("aten::") for event in profile.events()
                     if event.name.startswith("aten::")}
            say({"compute": sorted(names - NO_COMPUTE)})
        else:
            ended = {"peak": kilobytes("VmHWM"), "llvm": maps_llvm()}
            torch.save([tensor.contiguous() for tensor in tensors_of(out)], result)
            say(ended)
            break
