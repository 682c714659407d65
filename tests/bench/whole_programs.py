#!/usr/bin/env python3
"""What whole programs take under `penstock run` beside plain Python: processor seconds (user and system, of all their
processes) and the clock, from start to end, imports, recording and compilation included.

Each program runs as plain Python, with a store that is empty (cold), and again with the store that this left (warm), in
turn, N times; the figures are medians over the runs, and the spread is how far apart the middle half of the ratios of
neighbours lies. A run that ends otherwise than plain Python does, or prints other words, is an error. Programs are those
of programs/whole, and those of tests/e2e/packages by name; one that lacks a package is left out and named.

Usage: whole_programs.py [--bin DIR] [--python PYTHON] [--runs N] [--json FILE] [--check RATIO] [--option OPTION]…
                         [NAME…]
  OMP_NUM_THREADS  is left to the programs; 2 where it is not set
  --json FILE     keeps every run there at once; a later call goes on where that one was interrupted
  --check RATIO   end with status 1 if a program takes more than so many times the processor seconds of plain Python
  --option OPTION of `penstock run`, once for each
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS, PACKAGES = HERE / "programs/whole", HERE.parent / "e2e/packages"
sys.path.insert(0, str(PACKAGES.parent))
import packages  # noqa: E402

SIDES = ("plain", "cold", "warm")


def find(name):
    for folder in (PROGRAMS, PACKAGES):
        if (folder / f"{name}.py").exists():
            return folder / f"{name}.py"
    raise SystemExit(f"there is no program called {name}")


class Bench:
    def __init__(self, options):
        self.options = options
        self.tool = [Path(options.bin) / "penstock", "run", f"--python={options.python}", *options.option]
        self.path = Path(options.json) if options.json else None
        self.runs = json.loads(self.path.read_text()) if self.path and self.path.exists() else []

    def turn(self, name, number):
        """One run of every side, in empty folders; None where plain Python lacks a package."""
        program, turn = find(name), {"program": name, "turn": number}
        with tempfile.TemporaryDirectory(prefix="penstock-") as work:
            work = Path(work)
            for side in SIDES:
                command = [self.options.python, program] if side == "plain" else [*self.tool, program]
                status, out, err, (clock, processor) = packages.run(command, work / side, work / "store")
                if side == "plain":
                    expected = status, out
                    if "ModuleNotFoundError" in err:
                        return None
                if status != expected[0]:
                    raise SystemExit(f"{name}, {side}: status {status}, plain Python {expected[0]}\n{err[-1500:]}")
                if difference := packages.text_difference(expected[1], out):
                    raise SystemExit(f"{name}, {side}: {difference}")
                turn[side] = {"cpu": processor, "wall": clock}
        return turn

    def measure(self, name):
        """The turns of a program: those that are kept, and what is missing."""
        turns = [turn for turn in self.runs if turn["program"] == name]
        while len(turns) < self.options.runs:
            turn = self.turn(name, len(turns))
            if turn is None:
                return []
            turns.append(turn)
            self.runs.append(turn)
            if self.path:
                self.path.write_text(json.dumps(self.runs, indent=1))
        return turns


def row(name, turns):
    """The figures of a program."""
    figures = {"program": name, "runs": len(turns)}
    for side in SIDES:
        for kind in ("cpu", "wall"):
            figures[f"{side}_{kind}_s"] = round(statistics.median(turn[side][kind] for turn in turns), 2)
    for side in SIDES[1:]:
        for kind in ("cpu", "wall"):
            ratios = sorted(turn[side][kind] / turn["plain"][kind] for turn in turns)
            figures[f"{side}_{kind}_ratio"] = round(statistics.median(ratios), 3)
            figures[f"{side}_{kind}_spread"] = round(ratios[-1 - len(ratios) // 4] - ratios[len(ratios) // 4], 3)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=os.path.abspath, default=os.environ.get("PENSTOCK_BUILD_ROOT", "build") + "/bin")
    parser.add_argument("--python", type=os.path.abspath, default=sys.executable)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--check", type=float)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    bench, slow = Bench(options), []
    for name in options.names or sorted(path.stem for path in PROGRAMS.glob("*.py")):
        turns = bench.measure(name)
        if not turns:
            print(json.dumps({"program": name, "left_out": "a package is not installed"}), flush=True)
            continue
        figures = row(name, turns)
        print(json.dumps(figures), flush=True)
        if options.check and max(figures["cold_cpu_ratio"], figures["warm_cpu_ratio"]) > options.check:
            slow.append(name)
    if slow:
        print(f"slower than {options.check} times plain Python: {', '.join(slow)}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
