"""Runs a program, then one more call of it under torch's profiler, and names the ATen compute ops.

Run it under `penstock run`: profile_steady.py PROGRAM CALL, where CALL is evaluated in the namespace
that the finished program leaves behind. Making empty tensors and windows on existing memory is no
compute, and neither is what a reported break steps: reading one element. The calls before it are enough for the
gate, which has plain Python run every other one of the first. All of it is top-level
code: a function that names torch would be a region of its own around the call.
"""

import contextlib
import runpy
import sys

import torch

NO_COMPUTE = {"empty", "empty_strided", "empty_like", "view", "as_strided", "detach", "alias",
              "_unsafe_view", "is_nonzero", "item", "_local_scalar_dense"}

program, statements = sys.argv[1:3]
setup, _, call = statements.rpartition(";")
sys.argv = [program]
namespace = runpy.run_path(program, run_name="__main__")
exec(setup, namespace)
code = compile(call.strip(), "<steady>", "eval")
with torch.no_grad():
    for attempt in range(16):
        profile = torch.profiler.profile() if attempt == 15 else contextlib.nullcontext()
        with profile:
            eval(code, namespace)
names = {event.name.removeprefix("aten::") for event in profile.events()
         if event.name.startswith("aten::")}
print("ATen compute ops:", ", ".join(sorted(names - NO_COMPUTE)) or "none")
