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

# The diagnostics that programs may get on standard error. PS0502: sizes and dtypes, each a way to call. PS0505, PS0811: what
# is not compiled for GPUs; plain Python runs it.
ALLOWED = {"PS0502", "PS0505", "PS0811"}

# And how many calls of compiled graphs there must be at least.
CALLS = {"convolutions.py": 300, "graphs.py": 50, "models.py": 10, "moved.py": 10, "pointwise.py": 100, "products.py": 200, "reductions.py": 100, "streams.py": 40, "training.py": 10, "training_networks.py": 60}


def has_gpu():
    asked = subprocess.run([check_programs.PYTHON, "-c", "import torch; print(torch.cuda.is_available())"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() == "True"


def main():
    tool, names = sys.argv[1], sys.argv[2:]
    names = names or sorted(name for name in os.listdir(HERE) if name.endswith(".py") and not name.startswith("check_"))
    if not has_gpu():
        print("\n".join(f"{name}: skipped, there is no GPU" for name in names))
        return SKIPPED
    check_programs.HERE, check_programs.ALLOWED, check_programs.CALLS = HERE, dict.fromkeys(names, ALLOWED), {name: CALLS.get(name, 0) for name in names}
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
