#!/usr/bin/env python3
"""Runs the small programs as a user would and compares with plain Python.

For every program of PROGRAMS:
  in-process   `penstock run PROGRAM` prints what `python PROGRAM` prints, with the same status
  pipe         capture | decompose | partition | fuse | codegen | run --check passes
  report       `capture PROGRAM | report` is the golden report (entries, op lists, breaks)
  hash seed    captures with different PYTHONHASHSEED are byte-identical without blobs and meta
  resume       every stage stopped, saved and resumed gives the bytes of the pipe
  steady       torch's profiler records no ATen compute op in a call when all entries are there

Usage: programs.py --bin DIR --python PYTHON [--bless] [--only NAME] [--seeds N]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM_DIR = HERE.parent / "programs"
GOLDEN_DIR = HERE / "golden"
STAGES = ("decompose", "partition", "fuse", "codegen")

# name: the steady call, evaluated in the namespace that the finished program leaves behind; what
# stands before a semicolon is run first, outside the profile.
PROGRAMS = {
    "toy": "toy_example(a, b)",
    "dtype_guard": "x = torch.arange(8.0); scale(x)",
    "closure": "foo(a, b)",
    "mlp_norm": "model(x)",
    "module_tree": "model(x)",
    "attention_block": "model(x)",
}


class Checks:
    """Counts named cases and prints those that failed."""

    def __init__(self):
        self.passed = self.failed = 0

    def that(self, name, ok, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED {name}\n{detail}".rstrip(), flush=True)
        return ok


class Tools:
    """The executables under test, each call with a store of its own."""

    def __init__(self, bin_dir, python, work):
        self.bin_dir, self.python, self.work = Path(bin_dir), python, Path(work)
        self.environment = dict(os.environ, PENSTOCK_STORE=str(self.work / "store"), OMP_NUM_THREADS="2")
        self.environment.pop("NO_COLOR", None)

    def run(self, *command, stdin=b"", **environment):
        return subprocess.run([str(part) for part in command], input=stdin, capture_output=True,
                              env=dict(self.environment, **environment), timeout=600, check=False)

    def tool(self, name, *arguments, **keywords):
        return self.run(self.bin_dir / name, *arguments, **keywords)

    def capture(self, program, *options, **environment):
        return self.tool("capture", f"--python={self.python}", *options, PROGRAM_DIR / f"{program}.py",
                         **environment)


def text(process):
    return (f"status {process.returncode}\n{process.stdout.decode(errors='replace')[-2000:]}"
            f"{process.stderr.decode(errors='replace')[-3000:]}")


def check_in_process(tools, checks, name):
    plain = tools.run(tools.python, PROGRAM_DIR / f"{name}.py")
    ours = tools.tool("penstock", "run", f"--python={tools.python}", PROGRAM_DIR / f"{name}.py")
    checks.that(f"{name}: in process prints what python prints", plain.stdout == ours.stdout,
                f"plain:\n{text(plain)}\nours:\n{text(ours)}")
    checks.that(f"{name}: in process has python's status", plain.returncode == ours.returncode,
                text(ours))
    checks.that(f"{name}: in process says nothing on stderr", not ours.stderr, text(ours))


def check_pipe(tools, checks, name):
    """The pipe, each stage once on the saved output of the one before; then as one real pipe."""
    documents = tools.capture(name)
    if not checks.that(f"{name}: capture", documents.returncode == 0, text(documents)):
        return
    stream = documents.stdout
    for stage in STAGES:
        first = tools.tool(stage, stdin=stream)
        if not checks.that(f"{name}: {stage}", first.returncode == 0, text(first)):
            return
        saved = tools.work / f"{name}.{stage}"
        saved.write_bytes(first.stdout)
        again = tools.tool("convert", saved)
        checks.that(f"{name}: {stage} saved and read again is the same bytes",
                    again.stdout == first.stdout, text(again))
        stream = saved.read_bytes()
    result = tools.tool("run", "--check", "--tolerance=1e-4", stdin=stream)
    checks.that(f"{name}: run --check", result.returncode == 0, text(result))

    pipe = " | ".join([f"'{tools.bin_dir}/{stage}'" for stage in STAGES])
    whole = tools.run("bash", "-c", f"set -o pipefail; {pipe}", stdin=documents.stdout)
    checks.that(f"{name}: the pipe gives the bytes of its saved stages", whole.stdout == stream,
                text(whole))
    for level, source in (("torch", documents.stdout), ("core", None)):
        if source is None:
            source = tools.tool("decompose", stdin=documents.stdout).stdout
        interpreted = tools.tool("run", "--interpret", "--check", "--tolerance=1e-4", stdin=source)
        checks.that(f"{name}: run --interpret at {level}", interpreted.returncode == 0,
                    text(interpreted))


def check_report(tools, checks, name, bless):
    documents = tools.capture(name, "--no-tensors")
    report = tools.tool("report", stdin=documents.stdout, COLUMNS="100")
    # Excerpts name files by their absolute path, so that a terminal can open them.
    shown = re.sub(rb"--> \S*/(tests/programs|site-packages)/", rb"--> \1/", report.stdout)
    golden = GOLDEN_DIR / f"{name}.txt"
    if bless and report.returncode == 0:
        GOLDEN_DIR.mkdir(exist_ok=True)
        golden.write_bytes(shown)
    expected = golden.read_bytes() if golden.exists() else b""
    checks.that(f"{name}: report is the golden one",
                report.returncode == 0 and shown == expected,
                f"expected:\n{expected.decode()}\n{text(report)}")


def check_hash_seeds(tools, checks, name, seeds):
    captures = set()
    for seed in range(seeds):
        documents = tools.capture(name, "--no-tensors", PYTHONHASHSEED=str(seed))
        stripped = tools.tool("convert", "--strip-meta", stdin=documents.stdout)
        captures.add(stripped.stdout)
    checks.that(f"{name}: {seeds} captures with different hash seeds are the same bytes",
                len(captures) == 1 and captures != {b""}, f"{len(captures)} different")


def check_steady(tools, checks, name, call):
    ours = tools.tool("penstock", "run", f"--python={tools.python}", HERE / "profile_steady.py",
                      PROGRAM_DIR / f"{name}.py", call)
    checks.that(f"{name}: no ATen compute op in a steady call",
                ours.returncode == 0 and ours.stdout.endswith(b"ATen compute ops: none\n"), text(ours))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder with the tools by their plain names")
    parser.add_argument("--python", required=True, help="a Python that has torch")
    parser.add_argument("--only", choices=PROGRAMS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--bless", action="store_true", help="accept the reports as golden")
    options = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(options.bin, options.python, work)
        for name, steady_call in PROGRAMS.items():
            if options.only not in (None, name):
                continue
            check_in_process(tools, checks, name)
            check_pipe(tools, checks, name)
            check_report(tools, checks, name, options.bless)
            check_hash_seeds(tools, checks, name, options.seeds)
            check_steady(tools, checks, name, steady_call)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
