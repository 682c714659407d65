#!/usr/bin/env python3
"""What capture, guards and compilation cost, beside torch.compile in the same run.

Every row is measured in fresh processes, ours and the peer's in turn (A B A B …), and the median of
the runs is printed with its spread. What is counted:
  call          steady wall time of a call on tiny tensors (kernels of a few ns included)
  break         (call with 8 breaks - call with none) / 8
  capture / op  first call with backend="eager" less a steady call, over the ops; ours: capture time
                as the document gives it (segment start to finished graph, ops not counted)
  to code       first call less capture less a steady call, empty caches

Usage: costs.py [--bin DIR] [--python PYTHON] [--runs N] [--json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs/costs.py"
ADD_LOOP_OPS = 300


class Bench:
    def __init__(self, options):
        self.options = options
        self.samples = {}

    def process(self, command, environment):
        done = subprocess.run([str(part) for part in command], capture_output=True, check=True, timeout=900,
                              env=dict(os.environ, OMP_NUM_THREADS="2", **environment))
        return json.loads(done.stdout.splitlines()[-1])

    def peer(self, case, mode):
        with tempfile.TemporaryDirectory() as cache:
            sample = self.process([self.options.python, PROGRAM, case, mode],
                                  {"TORCHINDUCTOR_CACHE_DIR": cache})
        self.samples.setdefault((case, mode), []).append(sample)

    def ours(self, case):
        with tempfile.TemporaryDirectory() as work:
            documents = Path(work) / "documents.json"
            sample = self.process([Path(self.options.bin) / "penstock", "run", f"--python={self.options.python}",
                                   "-o", documents, PROGRAM, case, "eager"],
                                  {"PENSTOCK_STORE": f"{work}/store"})
            graphs = [json.loads(line) for line in documents.read_text().splitlines()]
            sample["capture"] = sum(graph.get("meta", {}).get("capture_ns", 0)
                                    for graph in graphs if graph["penstock"] == "graph") / 1e9
        self.samples.setdefault((case, "ours"), []).append(sample)

    def figures(self, case, mode, figure):
        return [sample[figure] for sample in self.samples[case, mode]]

    def median(self, case, mode, figure="steady"):
        return statistics.median(self.figures(case, mode, figure))


def rows(bench):
    """(what, unit, scale, eager, torch.compile, ours)"""
    median = bench.median
    for case in ("one_op", "module_tree"):
        yield f"call, {case}", "us", 1e6, median(case, "eager"), median(case, "compile"), median(case, "ours")

    def per_break(mode):
        return (median("breaks_8", mode) - median("breaks_0", mode)) / 8
    yield "break", "us", 1e6, per_break("eager"), per_break("compile"), per_break("ours")

    def capture(case):
        return median(case, "dynamo", "first") - median(case, "eager")
    yield ("capture / op", "us", 1e6, None, capture("add_loop") / ADD_LOOP_OPS,
           median("add_loop", "ours", "capture") / ADD_LOOP_OPS)
    yield ("to code, mlp", "ms", 1e3, None,
           median("mlp", "compile", "first") - capture("mlp") - median("mlp", "compile"),
           median("mlp", "ours", "first") - median("mlp", "ours", "capture") - median("mlp", "eager", "first"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", default=os.environ.get("PENSTOCK_BUILD_ROOT", "build") + "/bin")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    bench = Bench(options)
    for _ in range(options.runs):
        for case in ("one_op", "module_tree", "breaks_0", "breaks_8", "mlp", "add_loop"):
            bench.peer(case, "eager")
            bench.ours(case)
            bench.peer(case, "dynamo" if case == "add_loop" else "compile")
        bench.peer("mlp", "dynamo")
    if options.json:
        print(json.dumps([{"case": case, "mode": mode, "samples": samples}
                          for (case, mode), samples in bench.samples.items()]))
        return
    print(f"{'':22}{'eager':>10}{'compile':>12}{'penstock':>12}{'ratio':>10}")
    for what, unit, scale, eager, peer, ours in rows(bench):
        shown = "" if eager is None else f"{eager * scale:.2f}"
        print(f"{what + ' (' + unit + ')':22}{shown:>10}{peer * scale:>12.2f}{ours * scale:>12.2f}"
              f"{peer / max(ours, 1e-12):>9.1f}x")


if __name__ == "__main__":
    sys.exit(main())
