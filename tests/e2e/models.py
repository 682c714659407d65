#!/usr/bin/env python3
"""Runs the models of tests/programs/models.py, timm's and transformers', through the pipe and in process.

For each model:
  capture       is one graph without breaks, all ops inside roots captured, none left to torch
  check         capture | decompose | partition | fuse | codegen | run --check --tolerance=1e-3 passes
  threads       with --deterministic runs with one and with two threads give the same bits
  in process    `penstock run --deterministic` prints what python prints
  steady        and torch's profiler records no ATen compute op in a call when the entry is there

Usage: models.py --bin DIR --python PYTHON [--runs N] [NAME…]
Ends with status 77, a skipped test, where PYTHON lacks timm or transformers.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import PROGRAM_DIR, Checks, Tools, text

HERE = Path(__file__).resolve().parent
MODELS = PROGRAM_DIR / "models.py"
NAMES = {"timm": ("resnet50", "mobilenetv3", "efficientnet", "convnext", "vit"),
         "transformers": ("bert", "distilbert", "gpt2", "llama")}
STAGES = ("decompose", "partition", "fuse", "codegen")


def check_capture(tools, checks, name, stream):
    summary = json.loads(tools.tool("report", "--summary", "--json", stdin=stream).stdout)["summary"]
    expected = {"graphs": 1, "breaks": 0, "recompiles": 0, "bypasses": 0,
                "captured_ops": summary["total_ops"]}
    got = {key: summary[key] for key in expected}
    checks.that(f"{name}: one graph, no break, every op captured", got == expected, f"{got}, expected {expected}")
    checks.that(f"{name}: nothing is left to torch", summary["executed"]["fallback"] == 0, str(summary))


def check_pipe(tools, checks, name, runs):
    file = tools.work / f"{name}.json"
    captured = tools.tool("capture", f"--python={tools.python}", "-o", file, MODELS, name)
    if not checks.that(f"{name}: capture", captured.returncode == 0, text(captured)):
        return
    stream = file.read_bytes()
    check_capture(tools, checks, name, stream)
    for stage in STAGES:
        done = tools.tool(stage, stdin=stream)
        if not checks.that(f"{name}: {stage}", done.returncode == 0, text(done)):
            return
        stream = done.stdout
    result = tools.tool("run", "--check", "--tolerance=1e-3", stdin=stream)
    checks.that(f"{name}: run --check", result.returncode == 0, text(result))
    outputs = set()
    for run in range(runs):
        file = tools.work / f"{name}.safetensors"
        done = tools.tool("run", "--deterministic", f"--threads={1 + run % 2}", f"--outputs={file}", stdin=stream)
        outputs.add(file.read_bytes() if done.returncode == 0 else b"")
    checks.that(f"{name}: {runs} runs on one and two threads give the same bits",
                len(outputs) == 1 and b"" not in outputs, f"{len(outputs)} different")


def check_in_process(tools, checks, name):
    plain = tools.run(tools.python, MODELS, name)
    ours = tools.tool("penstock", "run", "-v", "--deterministic", f"--python={tools.python}", HERE / "profile_steady.py",
                      f"{shlex.quote(str(MODELS))} {name}", "model(*args, **kwargs)")
    printed, _, steady = ours.stdout.rpartition(b"ATen compute ops of models.py: ")
    checks.that(f"{name}: in process prints what python prints",
                plain.returncode == ours.returncode == 0 and plain.stdout == printed != b"",
                f"{text(plain)}\n{text(ours)}")
    checks.that(f"{name}: in process says nothing of its own on stderr", b"penstock:" not in ours.stderr, text(ours))
    checks.that(f"{name}: no ATen compute op in a steady call", steady == b"none\n", text(ours))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder with the tools by their plain names")
    parser.add_argument("--python", required=True, help="a Python that has torch")
    parser.add_argument("--runs", type=int, default=10, help="with --deterministic, of the documents")
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    options = parser.parse_args()
    for library in NAMES:
        if subprocess.run([options.python, "-c", f"import {library}"], capture_output=True, check=False).returncode != 0:
            print(f"skipped: {options.python} has no {library}")
            return 77
    checks = Checks()
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(options.bin, options.python, work)
        for name in options.names or [name for names in NAMES.values() for name in names]:
            check_pipe(tools, checks, name, options.runs)
            check_in_process(tools, checks, name)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
