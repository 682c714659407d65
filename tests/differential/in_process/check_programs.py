"""Programs print in process (`penstock run PROGRAM`) what plain Python prints, and end as it does.

Usage: check_programs.py PENSTOCK_RUN [NAME]…
"""
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PENSTOCK_TEST_PYTHON", sys.executable)

# By program: the diagnostics that it may get on standard error. Each names a limit that is known; a
# segment that it names is stepped, so what the program prints is still compared.
ALLOWED = {
    # Two arguments in one memory, an `out=` argument, more than eight ways to call a helper.
    "aliasing.py": {"PS0502", "PS0505", "PS0602"},
    # Types of numbers, and numbers that torch refuses: each is a way to call.
    "changing_numbers.py": {"PS0502"},
    # Every key, or every size, is a way to call.
    "data_dependent_loops.py": {"PS0502"},
    # Every function is a way to call.
    "functions_as_values.py": {"PS0502"},
    # Counters of loops, and containers of every size.
    "locals_at_branches.py": {"PS0502"},
    # More than eight hooks, children and modes: each is a way to call.
    "modules_and_hooks.py": {"PS0502"},
    # Numbers that are taken by value, each a way to call; a member of IntEnum, which nothing can refer to weakly.
    "numbers_that_decide.py": {"PS0502", "PS0503"},
    # Parameters of more than eight kinds.
    "optimizers.py": {"PS0502"},
}

# And how many calls of compiled graphs there must be at least, so that the comparison means something (else one).
CALLS = {"aliasing.py": 500, "changing_numbers.py": 300, "compiled_functions.py": 20, "ending.py": 4,
         "ending_compiled.py": 10, "functions_as_values.py": 50, "image_classifier.py": 2, "locals_at_branches.py": 500,
         "numbers_that_decide.py": 800, "optimizers.py": 100}


def run(*command, store):
    environment = dict(os.environ, PENSTOCK_STORE=store, OMP_NUM_THREADS="2")
    environment.pop("CXX", None)  # Inductor takes no command with arguments
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=400, check=False)


def check(tool, name, store):
    path = os.path.join(HERE, name)
    plain = run(PYTHON, path, store=store)
    documents = os.path.join(store, name + ".json")
    ours = run(tool, "--python=" + PYTHON, "-o", documents, path, store=store)
    wrong = []
    if ours.stdout != plain.stdout:
        lines = difflib.unified_diff(plain.stdout.splitlines(), ours.stdout.splitlines(), "python", "penstock",
                                     lineterm="", n=1)
        wrong.append("prints something else:\n" + "\n".join(line[:300] for line in list(lines)[:40]))
    if ours.returncode != plain.returncode:
        wrong.append(f"status {ours.returncode}, not {plain.returncode}: {ours.stderr[-2000:]}")
    told = set(re.findall(r"^penstock: .*?\[(PS\d+)\]", ours.stderr, re.MULTILINE))
    if told - ALLOWED.get(name, set()) or "Traceback" in ours.stderr and "Traceback" not in plain.stderr:
        wrong.append(ours.stderr[-2000:])
    ran = calls_of(documents)
    if ran < CALLS.get(name, 1):
        wrong.append(f"only {ran} calls of compiled graphs")
    return wrong


def calls_of(path):
    """How often compiled graphs were called, their recording included."""
    with open(path, encoding="utf-8") as file:
        end = json.loads(file.readlines()[-1])
    return sum(row["count"] for row in end["calls"])


def main():
    tool, names = sys.argv[1], sys.argv[2:]
    names = names or sorted(n for n in os.listdir(HERE) if n.endswith(".py") and not n.startswith("check_"))
    failed = 0
    with tempfile.TemporaryDirectory() as store:
        for name in names:
            wrong = check(tool, name, store)
            failed += bool(wrong)
            for line in wrong:
                print(f"{name}: {line}")
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
