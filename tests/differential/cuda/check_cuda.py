"""Programs that use an NVIDIA GPU print in process (`penstock run PROGRAM`) what plain Python prints, and end as it does.

Usage: check_cuda.py PENSTOCK_RUN [NAME]…
Skipped (status 77), program by program, where torch finds no GPU.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "in_process"))
import check_programs  # noqa: E402

SKIPPED = 77

# By program: the diagnostics that it may get on standard error.
# PS0502: sizes and dtypes, each a way to call. PS0505: what is not compiled for GPUs.
ALLOWED = {"compiled.py": {"PS0505"}, "memory.py": {"PS0505"}, "models.py": {"PS0502", "PS0505"}, "moved.py": {"PS0502", "PS0505"},
           "pointwise.py": {"PS0502", "PS0505"}, "processes.py": {"PS0505"}, "reductions.py": {"PS0502", "PS0505"},
           "streams.py": {"PS0505"}, "training.py": {"PS0502", "PS0505"}}

# And how many calls of compiled graphs there must be at least.
CALLS = {}


def has_gpu():
    asked = subprocess.run([check_programs.PYTHON, "-c", "import torch; print(torch.cuda.is_available())"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() == "True"


def main():
    tool, names = sys.argv[1], sys.argv[2:]
    names = names or sorted(name for name in os.listdir(HERE) if name.endswith(".py") and not name.startswith("check_"))
    if not has_gpu():
        print("\n".join(f"{name}: skipped, there is no GPU" for name in names))
        return SKIPPED
    check_programs.HERE, check_programs.ALLOWED, check_programs.CALLS = HERE, ALLOWED, {name: CALLS.get(name, 0) for name in names}
    failed = 0
    with tempfile.TemporaryDirectory() as store:
        for name in names:
            wrong = check_programs.check(tool, [name], store)[name]
            failed += bool(wrong)
            print(f"{name}: " + ("passed" if not wrong else "\n".join(wrong)), flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
