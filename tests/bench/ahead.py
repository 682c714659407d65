#!/usr/bin/env python3
"""What exported models cost without Python's torch: libpenstock beside AOTInductor, ONNX Runtime and eager.

For every model, in fresh processes that live at the same time and take turns:
  eager       plain Python
  penstock    `penstock export`, then `penstock.load` (libpenstock; torch is not imported)
  aoti        torch._inductor.aoti_compile_and_package, then aoti_load_package
  onnx        torch.onnx.export, then onnxruntime (where PYTHON has both; else left out, and said)

  make        seconds from the program's start to its file
  file        MB of that
  start       seconds from a process's start to its first result, files in the page cache
  steady      milliseconds of a call: median of rounds in which the sides take turns
  peak        resident memory at its greatest, MB

A side's row counts only if its result is eager's. Figures are of this machine only.

Usage: ahead.py [--prefix DIR] [--bin DIR] [--python PYTHON] [--rounds N] [--threads N] [--json FILE] [NAME…]
DIR: an installation, for libpenstock and its package; else one is made of the build tree.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from side import Side, Unsound

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs/ahead.py"
NAMES = ("resnet50", "mobilenetv3", "vit", "bert", "gpt2")
TOLERANCE = 1e-3  # of an element, relative to its tensor's largest magnitude
SECONDS = 0.4


def installed(options, work):
    if options.prefix:
        return Path(options.prefix)
    subprocess.run(["meson", "install", "-C", options.bin.parent, "--no-rebuild", "--destdir", work / "made"], check=True, capture_output=True)
    return next((work / "made").rglob("bin/penstock")).parent.parent


def file_of(label, command, path, environment):
    """What it took to make the file."""
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not path.exists():
        raise Unsound(f"{label}: status {done.returncode}\n{done.stderr[-2000:]}")
    return {"make": time.monotonic() - begin, "file": path.stat().st_size / 1e6}


def measure(options, prefix, name, work):
    environment = os.environ | {"OMP_NUM_THREADS": str(options.threads), "PENSTOCK_STORE": str(work / "store"),
                                "TORCHINDUCTOR_CACHE_DIR": str(work / "inductor"), "PYTHONPATH": str(prefix / "share/penstock/python")}
    environment.pop("CXX", None)  # Inductor takes no compiler with arguments
    python, rows, sides = options.python, {}, {}
    makers = {"eager": [python, PROGRAM, "inputs", name, work / "eager"],
              "penstock": [prefix / "bin/penstock", "export", "-q", f"--python={python}", "-o", work / "penstock", PROGRAM, "call", name],
              "aoti": [python, PROGRAM, "make-aoti", name, work / "aoti.pt2"],
              "onnx": [python, PROGRAM, "make-onnx", name, work / "onnx"]}
    for label, command in makers.items():
        path = work / ("aoti.pt2" if label == "aoti" else label)
        try:
            rows[label] = file_of(label, command, path, environment)
            if label == "penstock":  # the first process packs the weights
                subprocess.run([python, PROGRAM, label, path, work / "eager", work / f"{label}.out"], env=environment, input="end\n", text=True, check=True, capture_output=True)
            sides[label] = Side(label, [python, PROGRAM, label, name if label == "eager" else path, work / "eager", work / f"{label}.out"], environment)
            rows[label]["start"] = sides[label].start["start"]
        except Unsound as problem:
            if label in ("eager", "penstock"):
                raise
            print(f"{name}: without {label}: {str(problem).strip().splitlines()[-1]}", file=sys.stderr)
    times = {label: [] for label in sides}
    for number in range(options.rounds):
        for label in list(sides)[number % len(sides):] + list(sides)[:number % len(sides)]:
            times[label].append(statistics.median(sides[label].ask(f"steady {SECONDS}")["times"]))
    for label, side in sides.items():
        rows[label]["peak"] = side.ask("end")["peak"] / 1e3
        rows[label]["steady"] = statistics.median(times[label]) / 1e6
        rows[label]["spread"] = [min(times[label]) / 1e6, max(times[label]) / 1e6]
    check(options, work, sides)
    return rows


def check(options, work, sides):
    for label in sides:
        if label == "eager":
            continue
        said = subprocess.run([options.python, PROGRAM, "compare", work / "eager.out", work / f"{label}.out", str(TOLERANCE)],
                              capture_output=True, text=True, check=False)
        if said.returncode != 0:
            raise Unsound(f"{label}: another result: {said.stderr[-500:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = Path(os.environ.get("PENSTOCK_BUILD_ROOT", HERE.parent.parent / "build"))
    parser.add_argument("--prefix")
    parser.add_argument("--bin", type=Path, default=build / "bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-ahead-") as folder:
        prefix = installed(options, Path(folder))
        for name in options.names or NAMES:
            work = Path(folder) / name
            work.mkdir()
            try:
                row = {"model": name, "threads": options.threads} | measure(options, prefix, name, work)
            except Unsound as problem:
                row = {"model": name, "unsound": str(problem)}
            print(json.dumps(row), flush=True)
            if options.json:
                with open(options.json, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
