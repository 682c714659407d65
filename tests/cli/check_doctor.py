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


PROGRAM = """
import sys, torch
def compute(x):
    y = torch.relu(x + 1)
    if y.sum() < 0:
        y = y * 2
    return (y * y).mean()
torch.manual_seed(0)
for step in range(4):
    print(step, compute(torch.randn(64, 64)).item())
"""


def examine(suite: Suite) -> None:
    """A program of the user's: the same, or not, and what to change."""
    (suite.work / "program.py").write_text(PROGRAM)
    told = suite.command("penstock", "doctor", "program.py")
    for word in ("output     the same", "4 lines", "times      plain Python ", "captured   ", "What to change first", "PS0301", "program.py:5",
                 "Use torch.where"):
        suite.check(f"doctor PROGRAM says '{word}'", word in told, told)
    suite.check("doctor PROGRAM keeps to a screen", told.count("\n") <= 40, told)
    (suite.work / "other.py").write_text(PROGRAM + "import os; print('LD_PRELOAD' in os.environ, 'penstock' in str(sys.modules), open('/proc/self/maps').read().count('penstock') > 0)")
    other = suite.command("penstock", "doctor", "other.py", status=1)
    suite.check("doctor PROGRAM names the line that differs", "! line 5 differs" in other and "plain:    False False False" in other, other)
    (suite.work / "chance.py").write_text("import random; print(random.random())")
    suite.check("what is random cannot be compared", "set its seeds" in suite.command("penstock", "doctor", "chance.py"))
    (suite.work / "replaced.py").write_text(
        "import torch\nours = torch.library.Library('aten', 'IMPL')\n"
        "ours.impl('relu', lambda x: x.clamp(min=0), 'CPU')\n" + PROGRAM)
    replaced = suite.command("penstock", "doctor", "replaced.py")
    for word in ("output     the same", "What to change first", "PS0402", "aten/relu/CPU is code in Python"):
        suite.check(f"doctor PROGRAM says '{word}' of an op that is replaced", word in replaced, replaced)
    fails = suite.command("penstock", "doctor", "nowhere.py", status=1)
    suite.check("a program that fails by itself", "plain Python itself ends with status 2" in fails, fails)
    given = suite.command("penstock", "doctor", "-c", "import sys; print(sys.argv[1:])", "--json", "x")
    suite.check("words behind the program are the program's", "output     the same: 1 lines" in given, given)


def examine_other_torch(suite: Suite, python: pathlib.Path) -> None:
    """A torch of which it is not known where hooks of leaves lie: what they are found by does nothing."""
    other = suite.work / "other"
    subprocess.run([python, "-m", "venv", "--without-pip", other], check=True)
    packages = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, capture_output=True, text=True)
    site = next(other.glob("lib/python3.*/site-packages"))
    (site / "torch.pth").write_text(packages.stdout + "import other_torch\n")
    (site / "other_torch.py").write_text("import torch; torch.Tensor.register_hook = lambda self, hook: hook")
    told = suite.command("penstock", "doctor", f"--python={other}/bin/python")
    for word in ("all 32 ops", "training   - a step of training is several graphs: PS0307", "this torch keeps the hooks of a leaf in a way", "in parts"):
        suite.check(f"doctor says '{word}' of another torch", word in told, told)


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        suite = Suite(build, python, pathlib.Path(work))
        bare = suite.work / "bare"
        subprocess.run([python, "-m", "venv", "--without-pip", bare], check=True)

        good = suite.command("penstock", "doctor")
        for word in (f"store      {suite.store}", f"python     {python}", "torch      2.", "all 32 ops", "its backward and SGD's step, is one graph", "Programs are compiled here",
                     f"variable   PENSTOCK_STORE={suite.store}"):
            suite.check(f"doctor says '{word}'", word in good, good)
        suite.check("nothing is marked", not re.search(r"^\w+ +! ", good, re.MULTILINE), good)

        lacks = suite.command("penstock", "doctor", f"--python={bare}/bin/python", status=1)
        suite.check("a Python without torch", "torch      ! ModuleNotFoundError" in lacks and "Install torch" in lacks, lacks)
        none = suite.command("penstock", "doctor", "--python=/nowhere", status=1)
        suite.check("no Python", "python     ! no Python at /nowhere" in none, none)
        other = suite.command("penstock", "doctor", "--python=/bin/true", status=1)
        suite.check("what is no Python", "trial      ! " in other and "PS0114" in other and "Name a CPython" in other, other)
        examine(suite)
        examine_other_torch(suite, python)
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
