#!/usr/bin/env python3
"""Runs Meson's test suites and adds up their cases.

A test program says how many cases it ran, either by a closing line `N passed, N failed` or by
doctest's summary; one that says nothing counts as one case. A program that fails without naming a
failed case counts as one failure, so that a crash is never lost. The last line printed is the sum.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
DOCTEST = re.compile(r"test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")
GOOD = {"OK", "EXPECTEDFAIL"}


def cases(test: dict) -> tuple[int, int]:
    """(passed, failed) of one line of Meson's testlog.json."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", test.get("stdout") or "")
    passed = failed = 0
    if found := CLOSING.findall(text):
        passed, failed = (int(number) for number in found[-1])
    elif found := DOCTEST.findall(text):
        _, passed, failed = (int(number) for number in found[-1])
    elif test["result"] in GOOD:
        passed = 1
    if test["result"] not in GOOD and test["result"] != "SKIP" and failed == 0:
        failed = 1
    return passed, failed


def run(build: pathlib.Path, arguments: list[str]) -> tuple[int, int]:
    """Runs the suites of one build tree; prints a line per test program; returns the sums."""
    log = build / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", str(build), "--no-rebuild", "--print-errorlogs", *arguments]
    status = subprocess.run(command, stdout=sys.stderr).returncode
    passed = failed = 0
    if log.exists():
        for line in log.read_text(errors="replace").splitlines():
            test = json.loads(line)
            good, bad = cases(test)
            print(f"{good:6} passed {bad:4} failed  {test['duration']:7.1f} s  {test['name']}")
            passed, failed = passed + good, failed + bad
    if status != 0 and failed == 0:
        print(f"meson test ended with status {status}")
        failed = 1
    return passed, failed


def sanitized() -> tuple[int, int]:
    """Builds with the address and undefined-behaviour sanitizers and runs the unit tests there."""
    build = ROOT / "build-sanitized"
    environment = os.environ | {"PENSTOCK_BUILD": str(build)}
    options = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
    if subprocess.run([ROOT / "scripts" / "build", *options], env=environment).returncode != 0:
        return 0, 1
    return run(build, ["--suite", "unit"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="also the suites that take long")
    parser.add_argument("meson", nargs="*", help="arguments of `meson test`")
    options = parser.parse_args()
    build = ROOT / os.environ.get("PENSTOCK_BUILD", "build")
    sums = [run(build, options.meson + ([] if options.long else ["--no-suite", "long"]))]
    if options.long:
        sums.append(sanitized())
    passed = sum(good for good, _ in sums)
    failed = sum(bad for _, bad in sums)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
