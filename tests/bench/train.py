#!/usr/bin/env python3
"""What training steps cost: eager, torch.compile and penstock, side by side in one run.

For every model and optimizer, in fresh processes that live at the same time:
  eager      plain Python
  model      torch.compile of the model, its code cache empty at the start
  step       torch.compile of the whole step (forward, backward, optimizer, zero_grad), likewise
  penstock   `penstock run`, its store empty at the start

  first      the whole first step, compilation included
  steady     medians of rounds in which the sides take turns; least and greatest round behind it
  forward, backward, optimizer   of the steady step; of a step that is compiled as one nobody sees them
  cpu        processor time of a steady step, which other work on the machine changes least
  peak       resident memory at its greatest

A side's row counts only if the losses of its first steps are eager's, to 4 digits; with dropout only penstock's need to be, as
torch.compile draws other numbers. Figures are of this machine only; it is named with them.

Usage: train.py [--bin DIR] [--python PYTHON] [--rounds N] [--seconds S] [--sides SIDE,…] [--json FILE] [NAME[/OPTIMIZER]…]
  --json FILE  keeps every model there as soon as it is measured; a later call goes on where that one was interrupted
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from side import Side, Unsound

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs/train.py"
MODELS = HERE.parent / "programs/models.py"
ROWS = ("resnet50/sgd", "bert/adamw", "bert-dropout/adamw", "gpt2/adamw", "vit/adamw", "nanogpt/adamw", "nanogpt/sgd",
        "mlp/adamw", "mlp/sgd")
SIDES = ("eager", "model", "step", "penstock")
PHASES = ("forward", "backward", "optimizer")
DRAWS = ("bert-dropout",)  # models whose losses depend on random numbers
TOLERANCE = 1e-4


class TrainSide(Side):
    """A side that trains the model."""

    def __init__(self, name, options, row, work):
        model, optimizer = row.split("/")
        python = [options.python]
        environment = {}
        if name == "penstock":
            python = [Path(options.bin) / "penstock", "run", f"--python={options.python}"]
            environment = {"PENSTOCK_STORE": f"{work}/store"}
        elif name != "eager":
            environment = {"TORCHINDUCTOR_CACHE_DIR": f"{work}/{name}"}
        side = "program" if name in ("eager", "penstock") else name
        super().__init__(name, [*python, PROGRAM, MODELS, model, optimizer, side], environment)
        self.rounds = []

    def time_round(self, seconds):
        steps = self.ask(f"steady {seconds}")["steps"]
        phases = [statistics.median(step["phases"][i] for step in steps) for i in range(len(steps[0]["phases"]))]
        total = statistics.median(sum(step["phases"]) for step in steps)
        self.rounds.append({"total": total, "phases": phases, "cpu": statistics.median(step["cpu"] for step in steps)})

    def figures(self):
        def milliseconds(nanoseconds):
            return round(nanoseconds / 1e6, 3)

        totals = [one["total"] for one in self.rounds]
        row = {"first_s": round(sum(self.start["steps"][0]["phases"]) / 1e9, 2), "steady_ms": milliseconds(statistics.median(totals)),
               "least_ms": milliseconds(min(totals)), "greatest_ms": milliseconds(max(totals))}
        for i, phase in enumerate(PHASES if len(self.rounds[0]["phases"]) == len(PHASES) else ()):
            row[phase + "_ms"] = milliseconds(statistics.median(one["phases"][i] for one in self.rounds))
        row["cpu_ms"] = milliseconds(statistics.median(one["cpu"] for one in self.rounds))
        return row | {"built_mb": self.start["built"] // 1024, "peak_mb": self.end["peak"] // 1024}


def unsound(row, side, eager):
    """Why a side's row does not count; empty if it does."""
    if row.split("/")[0] in DRAWS and side.name != "penstock":
        return ""
    pairs = zip(side.start["losses"], eager.start["losses"])
    worst = max(abs(a - b) / max(abs(b), 1e-6) for a, b in pairs)
    return "" if worst <= TOLERANCE else f"losses {side.start['losses']}, eager's are {eager.start['losses']}"


def measure(options, row):
    """The figures of all sides of a model."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as work:
        sides = []
        for name in options.sides:
            try:
                sides.append(TrainSide(name, options, row, work))
            except Unsound as error:
                print(json.dumps({"row": row, "side": name, "unsound": str(error)[-800:]}), flush=True)
        for number in range(options.rounds):
            # Who goes first changes, as the first of a round finds other memory in the caches.
            for side in sides[number % len(sides):] + sides[:number % len(sides)]:
                side.time_round(options.seconds)
        figures = {"row": row, "machine": machine(), "instructions": sides[0].start["instructions"], "threads": sides[0].start["threads"]}
        for side in sides:
            side.finish()
            figures[side.name] = side.figures()
            if why := unsound(row, side, sides[0]):
                figures[side.name]["unsound"] = why
    return figures


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=os.path.abspath, default=os.environ.get("PENSTOCK_BUILD_ROOT", "build") + "/bin")
    parser.add_argument("--python", type=os.path.abspath, default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--sides", type=lambda text: text.split(","), default=list(SIDES))
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    path = Path(options.json) if options.json else None
    kept = json.loads(path.read_text()) if path and path.exists() else {}
    rows = [row for row in ROWS if not options.names or row in options.names or row.split("/")[0] in options.names]
    for row in rows:
        if row not in kept:
            kept[row] = measure(options, row)
            if path:
                path.write_text(json.dumps(kept, indent=1))
        print(json.dumps(kept[row]), flush=True)
    return 1 if any("unsound" in side for row in rows for side in kept[row].values() if isinstance(side, dict)) else 0


if __name__ == "__main__":
    sys.exit(main())
