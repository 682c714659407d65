#!/usr/bin/env python3
"""Whether the gate tells slow entries from fast ones, with real entries.

For each size of the intermediates that a function makes (1 to 64 MiB together) and each of three mixes of work, the
program runs once as it is: what the gate measured of both sides is read from its report. Then it runs again with a cold
store, its entries made slower (`run --handicap`) so that a call takes 5, 20 and 50 percent longer than plain Python,
and once 10 percent less where the entry is that much faster. The first three must be refused, the last accepted. Beside
the verdict stands what plain Python takes in a process without penstock: the gate must have measured about that.

Usage: gate.py [--bin DIR] [--python PYTHON] [--only MIB,…] [--json FILE]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SHARES = (0.05, 0.20, 0.50)
MEBIBYTES = (1, 4, 16, 32, 64)
PROGRAM = '''
import sys, time, torch
mebibytes, kind = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)
parts = 4                     # intermediates of one call
side = mebibytes * 2 ** 18 // parts // 256
x, w = torch.rand(side, 256), torch.rand(256, 256) / 16
def pointwise(x, w):
    a = torch.sin(x) + 1
    return (torch.exp(a) * a).tanh()
def product(x, w):
    a = torch.relu(x @ w)
    b = (a - a.mean(-1, keepdim=True)) * a.rsqrt().nan_to_num(0, 0, 0)
    return b @ w
def cheap(x, w):
    a = x + 1
    b = a[::2] * 3
    return (b - a[1::2]).abs() + b
call = {"pointwise": pointwise, "product": product, "cheap": cheap}[kind]
least = float("inf")
with torch.no_grad():
    for _ in range(60):
        begin = time.perf_counter_ns()
        call(x, w)
        least = min(least, time.perf_counter_ns() - begin)
if len(sys.argv) > 3:
    print(least)
'''


class Bench:
    def __init__(self, options, work):
        self.python, self.work = options.python, work
        self.run_tool, self.report_tool = [str(Path(options.bin) / "penstock"), "run"], [str(Path(options.bin) / "penstock"), "report"]
        self.program = work / "program.py"
        self.program.write_text(PROGRAM)
        self.stores = 0

    def plain(self, *arguments):
        """Nanoseconds of the least call of a process without penstock."""
        command = [self.python, self.program, *arguments, "say"]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def gate(self, handicap, *arguments):
        """What the gate of the one entry says, with a cold store."""
        self.stores += 1
        document = self.work / "gate.json"
        command = self.run_tool + [f"--python={self.python}", f"--handicap={handicap:.6f}", "-o", document, self.program]
        environment = dict(os.environ, PENSTOCK_COMPILE="now", PENSTOCK_STORE=str(self.work / f"store-{self.stores}"))
        subprocess.run(command + list(arguments), check=True, capture_output=True, env=environment)
        shown = subprocess.run(self.report_tool + ["--json", document], check=True, capture_output=True, text=True).stdout
        gates = json.loads(shown)["gates"]
        if len(gates) != 1:
            sys.exit(f"{arguments}: {len(gates)} entries where one was to be measured")
        return gates[0]

    def row(self, mebibytes, kind):
        arguments = (str(mebibytes), kind)
        plain = min(self.plain(*arguments) for _ in range(2))
        free = self.gate(0, *arguments)
        ours, beside = free["entry_ns"], free["plain_ns"]
        asked = [(share, "refused") for share in SHARES]
        if ours < 0.9 * beside:
            asked.append((-0.10, "accepted"))
        verdicts, wrong = [], 0
        for share, wanted in asked:
            handicap = (beside * (1 + share) - ours) / 1e6
            if handicap < 0:
                verdicts.append("-")  # it is slower already
                continue
            gate = self.gate(handicap, *arguments)
            taken = gate["entry_ns"] / gate["plain_ns"] - 1
            wrong += gate["verdict"] != wanted
            verdicts.append(f"{taken:+.0%} {gate['verdict']}")
        return {"mebibytes": mebibytes, "kind": kind, "python_ns": plain, "plain_ns": beside, "entry_ns": ours,
                "verdict": free["verdict"], "asked": [share for share, _ in asked], "verdicts": verdicts, "wrong": wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.environ.get("PENSTOCK_BUILD_ROOT", "build") + "/bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="", help="sizes in MiB, with commas")
    parser.add_argument("--json")
    options = parser.parse_args()
    chosen = [int(size) for size in options.only.split(",") if size] or MEBIBYTES
    rows = []
    print(f"{'MiB':>4} {'work':10} {'python ms':>10} {'measured':>10} {'entry':>10}  as it is   slower by 5, 20, 50%; faster by 10%")
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, Path(work))
        for mebibytes in chosen:
            for kind in ("pointwise", "product", "cheap"):
                row = bench.row(mebibytes, kind)
                rows.append(row)
                times = " ".join(f"{row[name] / 1e6:10.3f}" for name in ("python_ns", "plain_ns", "entry_ns"))
                print(f"{mebibytes:4} {kind:10} {times}  {row['verdict']:9}  {'; '.join(row['verdicts'])}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    wrong = sum(row["wrong"] for row in rows)
    print(f"{wrong} verdicts of {sum(len(row['verdicts']) for row in rows)} are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
