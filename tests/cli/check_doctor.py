#!/usr/bin/env python3
"""What `penstock doctor` says of machines on which programs are compiled, and of such on which they are not.

    check_doctor.py BUILD-ROOT PYTHON      PYTHON has torch

The last line is `N passed, N failed`.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from suite import Suite


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        suite = Suite(build, python, pathlib.Path(work))
        bare = suite.work / "bare"
        subprocess.run([python, "-m", "venv", "--without-pip", bare], check=True)

        good = suite.command("penstock", "doctor")
        for word in (f"store      {suite.store}", f"python     {python}", "torch      2.", "all 32 ops", "Programs are compiled here",
                     f"variable   PENSTOCK_STORE={suite.store}"):
            suite.check(f"doctor says '{word}'", word in good, good)
        suite.check("nothing is marked", not re.search(r"^\w+ +! ", good, re.MULTILINE), good)

        lacks = suite.command("penstock", "doctor", f"--python={bare}/bin/python", status=1)
        suite.check("a Python without torch", "torch      ! ModuleNotFoundError" in lacks and "Install torch" in lacks, lacks)
        none = suite.command("penstock", "doctor", "--python=/nowhere", status=1)
        suite.check("no Python", "python     ! no Python at /nowhere" in none, none)
        other = suite.command("penstock", "doctor", "--python=/bin/true", status=1)
        suite.check("what is no Python", "trial      ! " in other and "PS0114" in other and "Name a CPython" in other, other)
        words = suite.command("penstock", "doctor", "file", status=2)
        suite.check("a word that it does not take", "'file'" in words, words)
        if os.geteuid() != 0:
            shut = suite.work / "shut"
            shut.mkdir(mode=0o500)
            held = suite.command("penstock", "doctor", f"--store={shut}/store", status=1)
            suite.check("a store that cannot be written", "store      ! " in held and "--store or PENSTOCK_STORE" in held, held)

        # PENSTOCK_PYTHON stands before the active environment, --python before both.
        variable = suite.command("penstock", "doctor", status=1, PENSTOCK_PYTHON=f"{bare}/bin/python")
        suite.check("PENSTOCK_PYTHON is taken", f"python     {bare}/bin/python" in variable, variable)
        named = suite.command("penstock", "doctor", f"--python={python}", PENSTOCK_PYTHON=f"{bare}/bin/python")
        suite.check("--python stands before it", f"python     {python}" in named, named)
        print(f"{suite.passed} passed, {suite.failed} failed")
        return suite.failed != 0


if __name__ == "__main__":
    sys.exit(main())
