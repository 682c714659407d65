#!/usr/bin/env python3
"""How fast GPT-2 generates: eager, torch.compile and penstock, side by side in one run.

GPT-2 (124M) with random weights decodes greedily with its cache of keys and values, through transformers'
generate, one sequence. In fresh processes that live at the same time and take turns:
  eager      plain Python
  inductor   model.forward = torch.compile(model.forward), its code cache empty at the start
  penstock   `penstock run`, its store empty at the start

  first      the whole first call of generate, compilation included
  tokens/s   of the median call behind it; least and greatest behind it
  compiled   graphs that the process compiled: bounded, however many tokens there are, because sizes are symbols
  GB/s, roof bytes of the weights that each token must read, over the time of a token, and in percent of what
             this machine's memory gives (`codegen --probe`: a copy that no cache holds, of one thread; several
             threads may get more)

A side's row counts only if its tokens are eager's. Figures are of this machine only.

Usage: generate.py [--bin DIR] [--python PYTHON] [--layers N] [--tokens N] [--prompt N] [--rounds N] [--json FILE]
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from side import Side, Unsound

PROGRAM = Path(__file__).resolve().parent / "programs/generate.py"


class Generation(Side):
    """A side that generates."""

    def __init__(self, name, command, environment):
        super().__init__(name, command, environment)
        self.times = []

    def time_round(self):
        answer = self.ask("steady")
        if answer["tokens"] != self.start["tokens"]:
            raise Unsound(f"{self.name}: a later call gives other tokens than the first")
        self.times.append(answer["time"])


def roof_of(bin_dir):
    """Bytes a second of a copy that no cache holds."""
    done = subprocess.run([f"{bin_dir}/codegen", "--probe"], capture_output=True, text=True, check=True)
    found = re.findall(r"([\d.]+) GB/s", done.stdout)
    if not found:
        raise Unsound(f"codegen --probe gives no bandwidth:\n{done.stdout}")
    return float(found[-1]) * 1e9


def compiled_graphs(path):
    with open(path, encoding="utf-8") as file:
        return sum(json.loads(line)["penstock"] == "graph" for line in file)


def measure(options, work):
    shape = [options.layers, options.tokens, options.prompt]
    documents = f"{work}/documents.json"
    ours = [f"{options.bin}/penstock", "run", f"--python={options.python}", f"--store={work}/store", "--no-tensors",
            "-o", documents]
    sides = [Generation("eager", [options.python, PROGRAM, "program", *shape], {}),
             Generation("inductor", [options.python, PROGRAM, "inductor", *shape],
                  {"TORCHINDUCTOR_CACHE_DIR": f"{work}/inductor"}),
             Generation("penstock", [*ours, PROGRAM, "program", *shape], {})]
    for number in range(options.rounds):
        for side in sides[number % len(sides):] + sides[:number % len(sides)]:
            side.time_round()
    for side in sides:
        side.finish()
        if side.start["tokens"] != sides[0].start["tokens"]:
            raise Unsound(f"{side.name} gives other tokens than eager")
    sides[2].end["compiled"] = compiled_graphs(documents)
    return [{"side": side.name, "first": side.start["first"], "steady": side.times, "read": side.start["read"],
             "compiled": side.end["compiled"], "threads": side.start["threads"]} for side in sides]


def text(row, options, roof):
    per_second = [options.tokens / time * 1e9 for time in row["steady"]]
    speed = statistics.median(per_second)
    spread = f"{speed:.1f} ({min(per_second):.1f}-{max(per_second):.1f})"
    bandwidth = row["read"] * speed
    return (f"  {row['side']:10}{row['first'] / 1e6:>12.1f}{spread:>24}{row['compiled'] or '':>10}"
            f"{bandwidth / 1e9:>8.1f}{bandwidth / roof:>8.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", default=os.environ.get("PENSTOCK_BUILD_ROOT", "build") + "/bin")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch and transformers")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=64, help="that each call makes")
    parser.add_argument("--prompt", type=int, default=16, help="tokens of the prompt")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side")
    parser.add_argument("--json", metavar="FILE", help="writes all figures (nanoseconds, bytes) to FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        try:
            roof = roof_of(options.bin)
            rows = measure(options, work)
        except Unsound as unsound:
            print(f"generate: {unsound}", file=sys.stderr)
            return True
    print(f"GPT-2, {options.layers} layers, {options.tokens} tokens behind {options.prompt}, {rows[0]['threads']} threads, "
          f"memory {roof / 1e9:.1f} GB/s\n  {'':10}{'first (ms)':>12}{'tokens/s':>24}{'compiled':>10}{'GB/s':>8}{'roof':>8}")
    print("\n".join(text(row, options, roof) for row in rows), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps({"layers": options.layers, "tokens": options.tokens, "prompt": options.prompt,
                                                  "roof": roof, "rows": rows}))
    return False


if __name__ == "__main__":
    sys.exit(main())
