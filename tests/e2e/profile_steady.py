"""Runs programs, then more calls of each, the last one under torch's profiler, and names its ATen compute ops.

Run it under `penstock run --deterministic`: profile_steady.py PROGRAM CALL [PROGRAM CALL]…. A PROGRAM is a path,
with arguments behind it if it has any, as a shell reads words; CALL is evaluated in the namespace that the finished program leaves
behind. Making empty tensors and windows on existing memory is no compute, and neither is what a reported break
steps: reading one element. All of it is top-level code: a function that names torch would be a region of its own
around the call.
"""

import contextlib
import os
import runpy
import shlex
import sys

import torch

NO_COMPUTE = {"empty", "empty_strided", "empty_like", "view", "as_strided", "detach", "alias",
              "_unsafe_view", "is_nonzero", "item", "_local_scalar_dense"}

for words, statements in zip(sys.argv[1::2], sys.argv[2::2]):
    setup, _, call = statements.rpartition(";")
    sys.argv = shlex.split(words)
    program = sys.argv[0]
    namespace = runpy.run_path(program, run_name="__main__")
    exec(setup, namespace)
    code = compile(call.strip(), "<steady>", "eval")
    with torch.no_grad():
        for attempt in range(4):
            profile = torch.profiler.profile() if attempt == 3 else contextlib.nullcontext()
            with profile:
                eval(code, namespace)
    names = {event.name.removeprefix("aten::") for event in profile.events()
             if event.name.startswith("aten::")}
    print(f"ATen compute ops of {os.path.basename(program)}:", ", ".join(sorted(names - NO_COMPUTE)) or "none")
