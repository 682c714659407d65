#!/usr/bin/env python3
"""What real models cost: eager, torch.compile and penstock, side by side in one run.

For every model, in fresh processes that live at the same time:
  eager       plain Python
  inductor    torch.compile, its code cache empty at the start
  freezing    the same with TORCHINDUCTOR_FREEZING=1
  penstock    `penstock run`, its store empty at the start
  again       `penstock run` once more, on the store that the one before left
  pipe        `penstock capture … | codegen`, and `run --bench` on the documents

  capture   Dynamo: first call with backend="eager" less an eager call, torch._dynamo already imported,
            in a process of its own. Ours: capture and guards as `--time` gives them,
            without the ops and the freeing of what they made, which an eager call does too.
  compile   captured graph to loaded code. Inductor: first call less capture less a steady call. Ours:
            passes, code generation and loading as `--time` gives them, and what the first run of the
            code takes longer than a steady one. Pipe: wall time of the stages behind capture.
  first     the whole first call; ours with what its code takes longer when it first runs, which is in
            the third call, in `again` in the second.
  steady    medians of rounds in which the sides take turns; least and greatest round behind it.
  peak      resident memory at its greatest, and how much of it the built model and inputs did not need.

A side's row counts only if its result is eager's, and ours only if torch's profiler sees no ATen
compute op in a steady call: then every entry is in use. Figures are of this machine only.

Usage: models.py [--bin DIR] [--python PYTHON] [--rounds N] [--json FILE] [NAME…]
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from side import Side, Unsound

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs/models.py"
COMPARE = HERE / "programs/compare_results.py"
TOLERANCE = 1e-3  # of an element, relative to its tensor's largest magnitude
MODELS = HERE.parent / "programs/models.py"
NAMES = ("resnet50", "mobilenetv3", "efficientnet", "convnext", "vit")
STAGES = ("decompose", "partition", "fuse", "codegen")
CAPTURE_PHASES = ("capture", "guards")
SECONDS = 0.4  # of a side in each round


class ModelSide(Side):
    """A side that runs the model."""

    def __init__(self, name, command, environment, result):
        super().__init__(name, [*command, result], environment)
        self.result, self.rounds = result, []

    def time_round(self):
        self.rounds.append(statistics.median(self.ask(f"steady {SECONDS}")["times"]))

    def steady(self):
        return statistics.median(self.rounds)

    def phases(self, wanted):
        found = re.findall(r"^(\S.*?)\s+([\d.]+)$", self.said(), re.M)
        return sum(float(ms) * 1e6 for name, ms in found if name != "total" and wanted(name))

    def peak(self):
        return self.end["peak"], self.end["peak"] - self.start["built"]


class Pipe:
    """The model through documents."""

    def __init__(self, options, name, work):
        self.bin, self.rounds = Path(options.bin).resolve(), []
        self.environment = dict(os.environ, PENSTOCK_COMPILE="now", PENSTOCK_STORE=f"{work}/pipe-store")
        graphs, self.kernels = f"{work}/graphs.json", f"{work}/kernels.json"
        self.tool("capture", f"--python={options.python}", "-o", graphs, MODELS, name)
        begin = time.perf_counter_ns()
        stages = " | ".join(f"'{self.bin}/{stage}'" for stage in STAGES)
        subprocess.run(["bash", "-c", f"set -o pipefail; cat {graphs} | {stages} > {self.kernels}"], check=True,
                       env=self.environment)
        self.compile = time.perf_counter_ns() - begin
        check = self.tool("run", "--check", self.kernels)
        self.error = max(output["error"] for document in self.documents(check) if document["penstock"] == "result"
                         for output in document["compared"])
        captured = [json.loads(line) for line in Path(graphs).read_text().splitlines()]
        self.capture = sum(document["meta"]["capture_ns"] for document in captured
                           if document["penstock"] == "graph")

    def tool(self, name, *arguments):
        done = subprocess.run([str(part) for part in (self.bin / name, *arguments)], capture_output=True, text=True,
                              env=self.environment, check=False)
        if done.returncode != 0:
            raise Unsound(f"{name}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    @staticmethod
    def documents(text):
        return [json.loads(line) for line in text.splitlines()]

    def time_round(self):
        self.rounds.append(sum(
            timing["nanoseconds"] for document in self.documents(self.tool("run", "--bench", self.kernels))
            if document["penstock"] == "result"
            for timing in document["meta"]["timings"] if timing["name"] == "call"))

    def steady(self):
        return statistics.median(self.rounds)


class Model:
    """All sides of one model."""

    def __init__(self, options, name, work):
        self.name = name
        ours = [f"{options.bin}/penstock", "run", f"--python={options.python}", f"--store={work}/store", "--time"]
        plain = [options.python]

        def side(label, command, kind, **environment):
            return ModelSide(label, [*command, PROGRAM, MODELS, name, kind], environment, f"{work}/{label}.result")
        self.pipe = Pipe(options, name, work)
        cold = {"TORCHINDUCTOR_CACHE_DIR": f"{work}/inductor"}
        frozen = {"TORCHINDUCTOR_CACHE_DIR": f"{work}/frozen", "TORCHINDUCTOR_FREEZING": "1"}
        self.sides = {"eager": side("eager", plain, "program"), "dynamo": side("dynamo", plain, "dynamo"),
                      "inductor": side("inductor", plain, "inductor", **cold),
                      "freezing": side("freezing", plain, "inductor", **frozen),
                      "penstock": side("penstock", ours, "program"), "again": side("again", ours, "program")}
        turns = [*self.sides.values(), self.pipe]
        for number in range(options.rounds):
            for turn in turns[number % len(turns):] + turns[:number % len(turns)]:
                turn.time_round()
        self.check_compute()
        for one in self.sides.values():
            one.finish()
        self.check_results(options.python)

    def check_results(self, python):
        """Every element of every tensor that the last calls gave."""
        files = {side.result: label for label, side in self.sides.items()}
        done = subprocess.run([python, COMPARE, *files], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unsound(f"{self.name}: the results could not be compared\n{done.stderr}")
        for file, found in json.loads(done.stdout).items():
            if isinstance(found, str) or found > TOLERANCE:
                raise Unsound(f"{self.name}: {files[file]} gives another result than eager: {found}")

    def check_compute(self):
        for label in ("penstock", "again"):
            compute = self.sides[label].ask("profile")["compute"]
            if compute:
                raise Unsound(f"{self.name}: a steady call runs ATen ops: {', '.join(compute)}")

    def row(self, label):
        side, eager = self.sides[label], self.sides["eager"]
        row = {"side": label, "first": side.start["first"], "steady": side.rounds, "peak": side.peak()}
        if label in ("inductor", "freezing"):
            row["capture"] = self.sides["dynamo"].start["first"] - eager.steady()
            row["compile"] = side.start["first"] - row["capture"] - side.steady()
        elif label != "eager":
            # While the gate measures, plain Python runs the second call.
            warming = side.start["second" if label == "again" else "third"] - side.steady()
            row["capture"] = side.phases(lambda phase: phase in CAPTURE_PHASES)
            row["compile"] = side.phases(lambda phase: phase not in CAPTURE_PHASES) + warming
            row["first"] += warming
            row["llvm"] = side.end["llvm"]
        return row

    def rows(self):
        rows = [self.row(label) for label in self.sides if label != "dynamo"]
        return [*rows, {"side": "pipe", "capture": self.pipe.capture, "compile": self.pipe.compile,
                        "steady": self.pipe.rounds, "error": self.pipe.error}]

    def record(self):
        return {"model": self.name, "threads": self.sides["eager"].start["threads"], "rows": self.rows()}


def text(row):
    def ms(value):
        return "" if value is None else f"{value / 1e6:.1f}"
    steady = row["steady"]
    spread = f"{ms(statistics.median(steady))} ({ms(min(steady))}-{ms(max(steady))})"
    peak = "{:.0f} +{:.0f}".format(*(kb / 1024 for kb in row["peak"])) if "peak" in row else ""
    return (f"  {row['side']:10}{ms(row.get('capture')):>10}{ms(row.get('compile')):>11}{ms(row.get('first')):>11}"
            f"{spread:>26}{peak:>14}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {MODELS.name}; by default {' '.join(NAMES)}")
    parser.add_argument("--bin", default=os.environ.get("PENSTOCK_BUILD_ROOT", "build") + "/bin")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch and the models")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side")
    parser.add_argument("--json", metavar="FILE", help="writes all figures (nanoseconds, kilobytes) to FILE")
    options = parser.parse_args()
    records, failed = [], False
    for name in options.names or NAMES:
        with tempfile.TemporaryDirectory() as work:
            try:
                model = Model(options, name, work)
            except Unsound as unsound:
                print(f"models: {unsound}", file=sys.stderr)
                failed = True
                continue
        records.append(model.record())
        print(f"{name}, {records[-1]['threads']} threads (ms; MiB)\n  {'':10}{'capture':>10}{'compile':>11}"
              f"{'first':>11}{'steady':>26}{'peak':>14}")
        print("\n".join(map(text, records[-1]["rows"])), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps({"rounds": options.rounds, "models": records}))
    return failed


if __name__ == "__main__":
    sys.exit(main())
