#!/usr/bin/env python3
"""Runs Meson's test suites and adds up their cases.

A test program says how many cases it ran, either by a closing line `N passed, N failed` or by
doctest's summary; one that says nothing counts as one case. A program that fails without naming a
failed case counts as one failure, so that a crash is never lost. One that is skipped is named, and with --long it is
a failure: the whole suite is whole or it is not. The last line printed is the sum.
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
# What runs with the sanitized extension in a Python that was built without sanitizers.
EXTENSION_TESTS = ["leave-everywhere", "inlined-frames", "decoding", "opcodes", "tensor-bridge", "launched-idle", "launched-conduct",
                   "walked-suites", "in-process"]


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


def run(build: pathlib.Path, arguments: list[str], skips_fail: bool = False) -> tuple[int, int]:
    """Runs the suites of one build tree; prints a line per test program, and those that were skipped; returns the sums."""
    log = build / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", str(build), "--no-rebuild", "--print-errorlogs", *arguments]
    status = subprocess.run(command, stdout=sys.stderr).returncode
    passed = failed = 0
    if log.exists():
        for line in log.read_text(errors="replace").splitlines():
            test = json.loads(line)
            good, bad = cases(test)
            if test["result"] == "SKIP":
                bad += skips_fail
                print(f"       skipped, {'a failure' if skips_fail else 'not run'}:    {test['name']}")
            else:
                print(f"{good:6} passed {bad:4} failed  {test['duration']:7.1f} s  {test['name']}")
            passed, failed = passed + good, failed + bad
    if status != 0 and failed == 0:
        print(f"meson test ended with status {status}")
        failed = 1
    return passed, failed


def introspect(build: pathlib.Path, what: str) -> list[dict]:
    return json.loads(subprocess.check_output(["meson", "introspect", str(build), what]))


def sanitizer_options() -> dict[str, str]:
    """Leaks are not looked for: LeakSanitizer itself ends with a signal where libgomp's threads still wait at the end,
    and Python ends without freeing. torch's libraries share names and mix allocators. A thread's stack for signals may be
    another one by its end than the sanitizer gave it, which then unmaps memory that is not its own."""
    asan = {"detect_leaks": 0, "verify_asan_link_order": 0, "detect_odr_violation": 0, "alloc_dealloc_mismatch": 0,
            "use_sigaltstack": 0}
    return {"ASAN_OPTIONS": ":".join(f"{name}={value}" for name, value in asan.items()),
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def sanitized() -> tuple[int, int]:
    """Builds with the address and undefined-behaviour sanitizers and runs the unit tests, the tools' error tests,
    their golden tests and the fuzzer there, then the Python extension: the conductor's harnesses and the programs
    in process."""
    build = ROOT / "build-sanitized"
    environment = dict(os.environ, **sanitizer_options())
    environment["CXX"] = subprocess.check_output([ROOT / "scripts" / "compiler"], text=True).strip()
    if not (build / "build.ninja").exists():
        options = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1"]
        if subprocess.run(["meson", "setup", build, *options], env=environment, stdout=sys.stderr).returncode != 0:
            return 0, 1
    files = [pathlib.Path(name) for target in introspect(build, "--targets")
             if target["type"] in ("executable", "shared library", "shared module") for name in target["filename"]]
    unit = [test["cmd"][0] for test in introspect(build, "--tests")
            if "penstock:unit" in test["suite"] or "penstock:sanitized" in test["suite"]]
    folders = [build / "tools", build / "libcore" / "codegen", build / "libcore" / "runtime", build / "tools" / "extension",
               build / "tools" / "preload", build / "tests" / "differential" / "conductor"]
    needed = [file for file in files if str(file) in unit or file.parent in folders]
    command = ["ninja", "-C", str(build), *(str(file.relative_to(build)) for file in needed)]
    if subprocess.run(command, env=environment, stdout=sys.stderr).returncode != 0:
        return 0, 1
    os.environ.update(environment)
    sums = [run(build, ["--suite", "unit"]), run(build, ["errors", "golden"]), run(build, ["--suite", "sanitized"])]
    # A Python that was built without the sanitizers must have their runtime from its start, and memory from malloc().
    runtime = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    os.environ.update(LD_PRELOAD=runtime, PYTHONMALLOC="malloc")
    sums.append(run(build, ["--timeout-multiplier", "8", *EXTENSION_TESTS]))
    return sum(good for good, _ in sums), sum(bad for _, bad in sums)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="also the suites that take long")
    parser.add_argument("meson", nargs="*", help="arguments of `meson test`")
    options = parser.parse_args()
    build = ROOT / os.environ.get("PENSTOCK_BUILD", "build")
    sums = [run(build, options.meson + ["--no-suite", "sanitized"] + ([] if options.long else ["--no-suite", "long"]), options.long)]
    if options.long:
        sums.append(sanitized())
    passed = sum(good for good, _ in sums)
    failed = sum(bad for _, bad in sums)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
