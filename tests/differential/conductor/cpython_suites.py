"""CPython's own test modules, plainly and with every frame conducted: the same tests must pass.

    cpython_suites.py LAUNCHER PYTHON [MODULE…]

Differences allowed: EXPECTED. At least 99% of the frames of all modules but the tracing ones must be
conducted to their end; a module that crashes fails.
"""

import re
import subprocess
import sys

MODULES = ["test_generators", "test_coroutines", "test_exceptions", "test_traceback", "test_sys_settrace",
           "test_frame", "test_contextlib", "test_dataclasses", "test_enum", "test_descr", "test_functools",
           "test_with", "test_raise"]
TRACING = {"test_sys_settrace"}
# A callee that switches tracing on and raises: handing the frame over with the error pending adds a
# 'call' event, which only the evaluator's own error path could avoid.
EXPECTED = {("test_sys_settrace", "test_09_settrace_and_raise")}
SHARE = 99.0

RESULT = re.compile(r"^(\w+) \(([\w.]+)\).*? \.\.\. (?:.*)$")
STATUS = re.compile(r"(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$")
FRAMES = re.compile(r"^frames: (\d+) seen, (\d+) conducted", re.MULTILINE)


def results(command):
    """Results by test, the exit status, and the whole text."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=900)
    found = {}
    current = None
    for line in done.stdout.splitlines():
        if match := RESULT.match(line):
            current = f"{match[2]}:{match[1]}"
        elif line.startswith("Doctest: "):
            current = line.split(" ... ")[0]
        if current and (status := STATUS.search(line)):
            found[current] = re.sub(r"0x[0-9a-f]+", "0x", status[1])
            current = None
    return found, done.returncode, done.stdout


def main():
    launcher, python, *modules = sys.argv[1:]
    passed = failed = seen_frames = conducted = 0
    for module in modules or MODULES:
        program = ["-m", "test", "-v", module]
        expected, status, _ = results([python, *program])
        seen, conduct_status, text = results([launcher, "--python", python, "--set", "mode=conduct", "--frames", "--",
                                              *program])
        frames = FRAMES.search(text)
        if frames is None or not expected or conduct_status not in (status, 0, 2):
            failed += 1
            print(f"FAILED {module}: status {conduct_status}, natively {status}, {len(expected)} tests\n{text[-2000:]}")
            continue
        if module not in TRACING:
            seen_frames += int(frames[1])
            conducted += int(frames[2])
        listed = 0
        for test in sorted(expected.keys() | seen.keys()):
            if expected.get(test) == seen.get(test):
                passed += 1
            elif (module, test.split(":")[-1]) in EXPECTED:
                listed += 1
            else:
                failed += 1
                print(f"FAILED {module} {test}: natively {expected.get(test)}, conducted {seen.get(test)}")
        print(f"{module}: {len(expected)} tests, {listed} listed differences, {frames[0]}")
    share = 100.0 * conducted / max(seen_frames, 1)
    print(f"{conducted} of {seen_frames} frames conducted ({share:.2f}%), tracing tests apart")
    if share < SHARE and seen_frames:
        failed += 1
        print(f"FAILED: less than {SHARE}%")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
