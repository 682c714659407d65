"""The command `penstock`, and `python -m penstock`: becomes the program of that name that lies in this package.

Programs run in the Python that the command belongs to if that has torch; else, as without a package, in the one that is active.
"""

import importlib.util
import os
import sys
from pathlib import Path


def main():
    if "PENSTOCK_PYTHON" not in os.environ and importlib.util.find_spec("torch") is not None:
        os.environ["PENSTOCK_PYTHON"] = sys.executable
    program = Path(__file__).resolve().parent / "bin" / "penstock"
    try:
        os.execv(program, ["penstock", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"penstock: {program} cannot be started: {error.strerror}; install penstock again (pip install --force-reinstall)")


if __name__ == "__main__":
    main()
