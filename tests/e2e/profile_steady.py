"""Runs a program, then one more call of it under torch's profiler, and names the ATen compute ops.

Run it under `penstock run`: profile_steady.py PROGRAM CALL, where CALL is evaluated in the namespace
that the finished program leaves behind. Making empty tensors and windows on existing memory is no
compute, and neither is what a reported break steps (--allow=NAME,…).
"""

import runpy
import sys

import torch

NO_COMPUTE = {"empty", "empty_strided", "empty_like", "view", "as_strided", "detach", "alias",
              "_unsafe_view", "is_nonzero", "item", "_local_scalar_dense"}


def main():
    program, call = sys.argv[1:3]
    sys.argv = [program]
    namespace = runpy.run_path(program, run_name="__main__")
    code = compile(call, "<steady>", "eval")
    with torch.no_grad():
        for _ in range(3):
            eval(code, namespace)
        with torch.profiler.profile() as profile:
            eval(code, namespace)
    names = {event.name.removeprefix("aten::") for event in profile.events()
             if event.name.startswith("aten::")}
    compute = sorted(names - NO_COMPUTE)
    print("ATen compute ops:", ", ".join(compute) or "none")


if __name__ == "__main__":
    main()
