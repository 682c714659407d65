"""Generates cases, has ops-differential answer them, compares with what torch computed.

    run.py OPS_DIFFERENTIAL PYTHON

PYTHON must have torch; the cases are generated in it. Ends with `N passed, N failed`."""
import os
import subprocess
import sys

if __name__ == "__main__":
    program, python = sys.argv[1:3]
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(subprocess.call([python, os.path.join(here, "compare.py"), program] + sys.argv[3:]))
