"""The cases of break_programs.py give, do and raise under capture and in process what they do in plain
Python. The first call of a case records its segments, the later ones execute them."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "break_programs.py")


def cases(command):
    """What each case printed, and the status."""
    done = subprocess.run([*command, PROGRAM], capture_output=True, text=True, timeout=600)
    printed = {}
    for line in done.stdout.splitlines():
        if not line.startswith("{"):
            printed.setdefault(" ".join(line.split(" ", 2)[:2]), line)
    return printed, done.returncode, done.stderr


def main():
    capture, run = sys.argv[1:3]
    expected, _, _ = cases([sys.executable])
    passed = failed = 0
    for name, command in (("capture", [capture, "--python", sys.executable, "--no-tensors", "-o", os.devnull]),
                          ("in process", [run, "--python", sys.executable])):
        printed, status, errors = cases(command)
        if status != 0:
            print(f"{name}: status {status}\n{errors[-3000:]}")
            failed += 1
        for case, line in expected.items():
            right = printed.get(case) == line
            passed += right
            failed += not right
            if not right:
                print(f"{name}: {case}\n  expected {line}\n  got      {printed.get(case)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not expected else 0


if __name__ == "__main__":
    sys.exit(main())
