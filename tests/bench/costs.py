#!/usr/bin/env python3
"""What capture, guards, breaks and compilation cost, beside torch.compile in the same run.

Every figure comes from fresh processes, the peer's and ours in turn (A B A B …); a row is the median
over the processes, with the least and the greatest behind it, and is printed as soon as its cases are
done. A process's steady time is the least of 40 batches of about 5 ms: what else the machine does
only ever adds. The program (programs/costs.py) times at the top level of a script, so that neither
side compiles the measuring loop, and reports what the function gave, which must equal eager's, and
under torch's profiler the ATen ops of one steady call, of which ours must have no compute op: a row
counts only then.

  call      wall time of a steady call less its work: kernels and the memory of outputs, both taken within
            the same calls. For the peer the work is the time inside Inductor's `call`, with the Python lines
            of its wrapper (in its favour); for ours the kernels and making tensors of their outputs, as
            `penstock run --profile` measures them. What taking the time costs is taken off; it is in our
            `wall`.
  break     (call with 8 breaks - call of the same ops without a break) / 8. A break is a branch on a
            tensor; asking torch for the tensor's truth is part of it on both sides.
  capture   per op. Dynamo: first call with backend="eager" less an eager call, torch._dynamo already
            imported, before anything else of the process is compiled. Ours: capture and guards as
            `--time` gives them: from the segment's start to the installed guards, without running the
            ops.
  to code   captured graph to loaded code, cold caches. Inductor: the time inside its compile_fx. Ours:
            all passes, code generation and loading as `--time` gives them, and what the first run of
            the code takes longer than a steady one.
  first     the whole first call, code generation cold. The peer's: Dynamo has captured the function
            before in that process, in its favour. Ours: with what the code takes longer when it
            first runs, in the third call: plain Python runs the second for the gate.

Usage: costs.py [--bin DIR] [--python PYTHON] [--runs N] [--only CASE,…] [--json FILE]
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs/costs.py"
BREAKS = 8
WITH_BREAKS = f"breaks_{BREAKS}"
CASES = ("one_op", "module_tree", "breaks_0", WITH_BREAKS, "add_loop", "mlp")
CALLS = ("one_op", "module_tree")  # what a call costs is measured for these
OPS = {"add_loop": 300, "module_tree": 80, "mlp": 5}  # capture per op; as the programs write them
COLD = ("one_op", "module_tree", "mlp")  # code generation is measured for these
CAPTURE_PHASES = ("capture", "guards")


class Unsound(Exception):
    """A figure that must not be shown: the run did not do what the row says."""


class Bench:
    def __init__(self, options, warm):
        self.python = options.python
        self.warm = warm  # a folder for what the bench's processes may find warm
        self.bin = Path(options.bin).resolve()
        self.samples = {}

    def process(self, command, environment):
        done = subprocess.run([str(part) for part in command], capture_output=True, timeout=900, text=True,
                              env=dict(os.environ, OMP_NUM_THREADS="2", **environment))
        if done.returncode != 0:
            raise Unsound(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
        return done

    def keep(self, case, side, sample):
        self.samples.setdefault((case, side), []).append(sample)

    def peer(self, case):
        """torch.compile and eager; code generation is cold where it is measured."""
        with tempfile.TemporaryDirectory() as empty:
            cache = empty if case in COLD else f"{self.warm}/inductor"
            done = self.process([self.python, PROGRAM, case, "peer"], {"TORCHINDUCTOR_CACHE_DIR": cache})
        record = json.loads(done.stdout.splitlines()[-1])
        for side in ("eager", "dynamo", "inductor"):
            self.keep(case, side, record[side])

    def ours(self, case):
        with tempfile.TemporaryDirectory() as work:
            done = self.process([self.bin / "penstock", "run", "-v", f"--python={self.python}", f"--store={work}",
                                 "--time", "--profile", PROGRAM, case, "program"], {})
        sample = json.loads(done.stdout.splitlines()[-1])["program"]
        if "penstock: " in done.stderr:
            raise Unsound(f"{case}: {done.stderr}")
        if sample["compute"]:
            raise Unsound(f"{case}: a steady call runs ATen ops: {', '.join(sample['compute'])}")
        sample["phases"] = {name: float(ms) * 1e6 for name, ms in
                            re.findall(r"^(\S.*?)\s+([\d.]+)$", done.stderr, re.M)}
        self.keep(case, "ours", sample)

    def run(self, case, runs):
        for _ in range(runs):
            self.peer(case)
            self.ours(case)
            self.same_results(case)

    def same_results(self, case):
        expected = self.samples[case, "eager"][-1]["result"]
        for side in ("ours", "inductor", "dynamo"):
            given = self.samples[case, side][-1]["result"]
            close = len(given) == len(expected) and all(
                math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6) for a, b in zip(given, expected))
            if not close:
                raise Unsound(f"{case}: {side} gives another result than eager")

    def each(self, case, side, of):
        return [of(sample) for sample in self.samples[case, side]]

    def steady(self, case, side):
        return self.each(case, side, lambda sample: sample["steady"])

    def work(self, case, side):
        return self.each(case, side, lambda sample: sample["work"])

    def call(self, case, side):
        return self.each(case, side, lambda sample: sample["call"])

    def phases(self, case, wanted):
        return self.each(case, "ours", lambda sample: sum(
            spent for name, spent in sample["phases"].items() if wanted(name)))


class Row:
    """One figure: eager's (where it has one), the peer's and ours, each with its spread; nanoseconds."""

    def __init__(self, what, unit, eager, peer, ours):
        self.what, self.unit = what, unit
        self.eager, self.peer, self.ours = eager, peer, ours

    def ratio(self):
        return statistics.median(self.peer) / max(statistics.median(self.ours), 1e-3)

    def record(self):
        def figure(values):
            return values and {"median": statistics.median(values), "least": min(values),
                               "greatest": max(values)}
        return {"what": self.what, "nanoseconds": {"eager": figure(self.eager), "torch.compile": figure(self.peer),
                                                   "penstock": figure(self.ours)}, "ratio": self.ratio()}

    def text(self):
        scale = {"us": 1e3, "ms": 1e6}[self.unit]

        def figure(values):
            if not values:
                return f"{'':>26}"
            middle, least, most = (f"{value / scale:.2f}" for value in
                                   (statistics.median(values), min(values), max(values)))
            return f"{f'{middle} ({least}-{most})':>26}"
        return (f"{f'{self.what} ({self.unit})':30}{figure(self.eager)}{figure(self.peer)}{figure(self.ours)}"
                f"{self.ratio():>8.1f}x")


def less(values, others):
    """Each of `values` less the median of what was measured apart from it."""
    return [value - statistics.median(others) for value in values]


def call_rows(bench, case):
    yield Row(f"call, {case}", "us", None, bench.call(case, "inductor"), bench.call(case, "ours"))
    yield Row("  its work", "us", None, bench.work(case, "inductor"), bench.work(case, "ours"))
    yield Row("  wall", "us", bench.steady(case, "eager"), bench.steady(case, "inductor"),
              bench.steady(case, "ours"))


def break_rows(bench):
    def each_break(of_with, of_without):
        return [value / BREAKS for value in less(of_with, of_without)]
    yield Row("break", "us", None, *[each_break(bench.call(WITH_BREAKS, side), bench.call("breaks_0", side))
                                     for side in ("inductor", "ours")])
    yield Row("  wall", "us", *[each_break(bench.steady(WITH_BREAKS, side), bench.steady("breaks_0", side))
                                for side in ("eager", "inductor", "ours")])


def capture_rows(bench, case):
    eager = bench.steady(case, "eager")
    dynamo = less(bench.each(case, "dynamo", lambda sample: sample["first"]), eager)
    ours = bench.phases(case, lambda name: name in CAPTURE_PHASES)
    yield Row(f"capture / op, {case}", "us", None, *[[value / OPS[case] for value in values]
                                                     for values in (dynamo, ours)])


def code_rows(bench, case):
    warming = bench.each(case, "ours", lambda sample: sample["second"] - sample["steady"])
    ours = bench.phases(case, lambda name: name not in (*CAPTURE_PHASES, "total"))
    yield Row(f"to code, {case}", "ms", None, bench.each(case, "inductor", lambda sample: sample["to_code"]),
              [a + b for a, b in zip(ours, warming)])
    first = bench.each(case, "ours", lambda sample: sample["first"])
    yield Row("  first", "ms", None, bench.each(case, "inductor", lambda sample: sample["first"]),
              [a + b for a, b in zip(first, warming)])


def rows(bench, case, measured):
    """The rows that are complete with `case`."""
    if case in CALLS:
        yield from call_rows(bench, case)
    if {case, *measured} >= {"breaks_0", WITH_BREAKS} and case.startswith("breaks_"):
        yield from break_rows(bench)
    if case in OPS:
        yield from capture_rows(bench, case)
    if case in COLD:
        yield from code_rows(bench, case)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", default=os.environ.get("PENSTOCK_BUILD_ROOT", "build") + "/bin")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--runs", type=int, default=1, help="processes of each side per case")
    parser.add_argument("--only", default=",".join(CASES), help="cases, separated by commas")
    parser.add_argument("--json", metavar="FILE", help="writes rows and samples to FILE as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as warm:
        return measure(Bench(options, warm), options)


def measure(bench, options):
    table, measured = [], []
    print(f"{'':30}{'eager':>26}{'torch.compile':>26}{'penstock':>26}{'ratio':>9}", flush=True)
    try:
        for case in (case for case in CASES if case in options.only.split(",")):
            bench.run(case, options.runs)
            for row in rows(bench, case, measured):
                table.append(row)
                print(row.text(), flush=True)
            measured.append(case)
    except Unsound as unsound:
        print(f"costs: {unsound}", file=sys.stderr)
        return 1
    if options.json:
        samples = [{"case": case, "side": side, "samples": taken} for (case, side), taken in bench.samples.items()]
        Path(options.json).write_text(
            json.dumps({"runs": options.runs, "rows": [row.record() for row in table], "samples": samples}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
