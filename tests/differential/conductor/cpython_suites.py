"""CPython's own test modules, plainly and with every frame conducted (and walked): each test must end alike.

    cpython_suites.py LAUNCHER PYTHON [--mode conduct|torture] [--state DIR] [--json FILE] [--timeout S] [MODULE…]

Differences allowed: LISTED, each with its reason. At least 99% of the frames of all modules but the tracing ones must
be conducted to their end, with --mode torture walked; a module that crashes or does not end in time fails.
With --state a finished module is taken as it is: an interrupted run goes on. --json writes a row per module.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# What conducting touches: frames, generators, exceptions, tracebacks.
FRAMES = ["test_generators", "test_coroutines", "test_exceptions", "test_traceback", "test_sys_settrace",
          "test_frame", "test_contextlib", "test_dataclasses", "test_enum", "test_descr", "test_functools",
          "test_with", "test_raise"]
# What walking touches besides: the language and the object model.
LANGUAGE = ["test_dict", "test_list", "test_tuple", "test_set", "test_deque", "test_iter", "test_itertools",
            "test_class", "test_super", "test_property", "test_unpack", "test_unpack_ex", "test_scope",
            "test_keywordonlyarg", "test_positional_only_arg", "test_extcall", "test_fstring", "test_format",
            "test_slice", "test_patma", "test_copy", "test_operator", "test_collections", "test_decorators",
            "test_compare", "test_richcmp", "test_genexps", "test_exception_group", "test_typing"]
MODULES = {"conduct": FRAMES, "torture": LANGUAGE + FRAMES}
TRACING = {"test_sys_settrace"}
SHARE = 99.0

# Tests that end otherwise, and why.
LISTED = {
    ("test_sys_settrace", "test_09_settrace_and_raise"):
        "a callee that switches tracing on and raises: handing the frame over with the error pending adds a 'call' "
        "event, which only the evaluator's own error path could avoid",
}

LISTED[("test_sys_settrace", "test_20_async_for_loop")] = (
    "since 3.12: with any frame evaluator but CPython's own, a coroutine's end tells the tracer of a StopIteration, "
    "which the evaluator spares itself where it runs the coroutine too")

LISTED[("test_tuple", "test_hash_deeply_nested")] = (
    "since 3.14: a program that is launched has a larger C stack, on which the tuple can be hashed")

# Those of 3.14.5 nest 200,000 deep; those of earlier releases did as deep as CPython said that it can.
for module in ("test_list", "test_dict", "test_frame"):
    LISTED[(module, "test_repr_deep")] = (
        "since 3.14: a program that is launched has a larger C stack, on which the container has a repr")

# Tests of what happens where the C stack ends, which CPython 3.14 measures: the launcher asks for a larger one.
ENOUGH_STACK = "skipped 'the C stack is large enough for "

RESULT = re.compile(r"^(\w+) \(([\w.]+)\).*? \.\.\. (?:.*)$")
STATUS = re.compile(r"(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$")
COUNTS = re.compile(r"^frames: (\d+) seen, (\d+) conducted \([\d.]+%\)"
                    r"(?:, (\d+) walked \([\d.]+%\), (\d+) of (\d+) instructions followed)?", re.MULTILINE)


def run(command, timeout):
    """(exit status or None when it took too long, what it wrote, seconds). What it started ends with it."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        # The tests run in a directory of their own, which they may fill.
        with tempfile.TemporaryDirectory() as place:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True, cwd=place)
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = None
        output.seek(0)
        return status, output.read().decode(errors="replace"), round(time.monotonic() - began, 1)


def results(text):
    """How each test ended, by its name."""
    found = {}
    current = None
    for line in text.splitlines():
        if match := RESULT.match(line):
            current = f"{match[2]}:{match[1]}"
        elif line.startswith("Doctest: "):
            current = line.split(" ... ")[0]
        if current and (status := STATUS.search(line)):
            found[current] = re.sub(r"0x[0-9a-f]+", "0x", status[1])
            current = None
    return found


def row_of(options, module):
    program = ["-m", "test", "-v", module]
    launched = [str(Path(options.launcher).resolve()), "--python", options.python, "--set", f"mode={options.mode}", "--frames", "--", *program]
    plain_status, plain_text, plain_seconds = run([options.python, *program], options.timeout)
    status, text, seconds = run(launched, options.timeout)
    expected, seen = results(plain_text), results(text)
    counts = COUNTS.search(text)
    verdict = "same"
    if status is None:
        verdict = "too slow"
    elif counts is None or not expected or status not in (plain_status, 0, 2):
        verdict = "crash"
    different = [{"test": test, "plainly": expected.get(test), "here": seen.get(test)}
                 for test in sorted(expected.keys() | seen.keys()) if expected.get(test) != seen.get(test)]
    keys = ("seen", "conducted", "walked", "followed", "instructions")
    return {"module": module, "mode": options.mode, "verdict": verdict, "status": status, "plain_status": plain_status,
            "tests": len(expected), "different": different, "seconds": seconds, "plain_seconds": plain_seconds,
            "frames": {key: int(count or 0) for key, count in zip(keys, counts.groups())} if counts else {},
            "said": text[-2000:] if verdict != "same" else ""}


def reason_of(module, different):
    if different["here"] and different["here"].startswith(ENOUGH_STACK):
        return "a program that is launched has a larger C stack"
    return LISTED.get((module, different["test"].split(":")[-1]))


def judge(row):
    """(tests that ended alike, failures) of a module; says what is wrong."""
    module = row["module"]
    if row["verdict"] != "same":
        print(f"FAILED {module}: {row['verdict']}, status {row['status']}, plainly {row['plain_status']}, "
              f"{row['tests']} tests, {row['seconds']} s\n{row['said']}")
        return 0, 1
    failed = 0
    for one in row["different"]:
        reason = reason_of(module, one)
        failed += reason is None
        print(f"{'listed' if reason else 'FAILED'} {module} {one['test']}: plainly {one['plainly']}, "
              f"here {one['here']}{': ' + reason if reason else ''}")
    return row["tests"] - len(row["different"]), failed


def share(row, key):
    return 100 * row["frames"].get(key, 0) / max(row["frames"].get("seen", 0), 1)


def show(rows, key):
    print(f"{'module':26} {'result':8} {'tests':>5} {'differ':>6} {'frames':>9} {key:>9} {'followed':>8} {'s':>7} {'plainly':>7}")
    for row in rows:
        frames = row["frames"]
        followed = 100 * frames.get("followed", 0) / max(frames.get("instructions", 0), 1)
        print(f"{row['module']:26} {row['verdict']:8} {row['tests']:>5} {len(row['different']):>6} {frames.get('seen', 0):>9} "
              f"{share(row, key):8.2f}% {followed:7.1f}% {row['seconds']:>7} {row['plain_seconds']:>7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("launcher", help="launch_program")
    parser.add_argument("python", help="a Python that has its test modules")
    parser.add_argument("--mode", choices=MODULES, default="conduct")
    parser.add_argument("--state", help="folder that keeps finished rows")
    parser.add_argument("--json", help="where the rows go")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for a module")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="by default all of the mode")
    options = parser.parse_intermixed_args()
    key = "walked" if options.mode == "torture" else "conducted"
    rows, passed, failed = [], 0, 0
    for module in options.modules or MODULES[options.mode]:
        file = Path(options.state, f"{module}.{options.mode}.json") if options.state else None
        if file is not None and file.exists():
            row = json.loads(file.read_text())
        else:
            row = row_of(options, module)
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(row) + "\n")
        rows.append(row)
        alike, wrong = judge(row)
        passed, failed = passed + alike, failed + wrong
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    show(rows, key)
    counted = [row["frames"] for row in rows if row["module"] not in TRACING and row["frames"]]
    seen, done = sum(frames["seen"] for frames in counted), sum(frames[key] for frames in counted)
    print(f"{done} of {seen} frames {key} ({100 * done / max(seen, 1):.2f}%), tracing tests apart")
    if seen and 100 * done / seen < SHARE:
        failed += 1
        print(f"FAILED: less than {SHARE}%")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
