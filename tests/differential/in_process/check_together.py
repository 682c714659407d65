"""Runs programs one after the other in one process, each under a line with its name on both streams."""
import os
import runpy
import sys

for program in sys.argv[1:]:
    for stream in (sys.stdout, sys.stderr):
        print("===", os.path.basename(program), file=stream, flush=True)
    sys.argv = [program]
    runpy.run_path(program, run_name="__main__")
    if "torch" in sys.modules:  # the next program begins as one does alone
        sys.modules["torch"].set_grad_enabled(True)
