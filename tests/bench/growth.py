#!/usr/bin/env python3
"""How compiling grows with a program: time, memory and machine code per op, for chains of 10 to 2,000 ops of each
kind and for ops of 2 to 1,000 operands.

Each function of programs/growth.py is captured, and its graph goes through the tools of the pipe, a process each; what a
graph of one op takes is taken off. Time is the processor's, not the clock's, and where perf can count them a row
shows instructions, which other work on the machine does not change. A row whose figure per op is more than
twice that of the row with fewer ops is marked: `grows`.

Usage: growth.py [--bin DIR] [--python PYTHON] [--only KIND,…] [--most N] [--check] [--json FILE]
  --most N  leave out larger counts
  --check   end with status 1 if a row is marked
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs/growth.py"
CHAINS = ("pointwise", "reduction", "view", "slices", "slice_write", "slice_change", "narrow_copy", "cat_chain", "stack_chain",
          "split_chain", "index", "matmul", "conv", "norm", "softmax", "where", "pad", "scan")
FANS = ("cat_operands", "cat_computed", "stack_operands", "split_operands", "sum_operands", "outputs")
CHAIN_COUNTS, FAN_COUNTS = (1, 10, 100, 500, 2000), (1, 2, 10, 100, 1000)
STAGES = ("decompose", "partition", "fuse", "codegen")
FACTOR = 2.0        # per op, from one row to the next
NOISE_SECONDS = 0.05  # a row's least time that is worth comparing
MEMORY = 8 << 30
TIMEOUT = 600


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, Path(folder)
        self.environment = {**os.environ, "PENSTOCK_STORE": str(self.folder / "store"), "OMP_NUM_THREADS": "1"}
        self.perf = self.find_perf()

    def find_perf(self):
        perf = shutil.which("perf")
        if perf is None:
            return None
        tried = subprocess.run([perf, "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True)
        counted = tried.returncode == 0 and tried.stderr.split(",")[0].isdigit()
        return perf if counted else None

    def run(self, command, name):
        """Processor seconds, peak of memory in KiB and instructions of a command."""
        counts = self.folder / "counts"
        if self.perf:
            command = [self.perf, "stat", "-x,", "-e", "instructions:u", "-o", str(counts), "--", *command]
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with open(self.folder / "errors", "wb") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=self.environment, preexec_fn=limit)
            deadline = time.monotonic() + TIMEOUT
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline:
                    process.kill()
                    os.wait4(process.pid, 0)
                    raise RuntimeError(f"{name}: more than {TIMEOUT} s")
                time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{name}: status {process.returncode}: {(self.folder / 'errors').read_text()[-300:]}")
        instructions = 0
        if self.perf:
            line = [l for l in counts.read_text().splitlines() if "instructions" in l][0]
            instructions = int(line.split(",")[0])
        return {"seconds": usage.ru_utime + usage.ru_stime, "kib": usage.ru_maxrss, "instructions": instructions}

    def capture(self, kind, count):
        path = self.folder / "torch.json"
        self.run([self.tool("capture"), "--python", self.options.python, "--no-tensors", "-o", str(path), str(PROGRAM), kind, str(count)],
                 f"capture {kind} {count}")
        documents = [json.loads(line) for line in path.read_text().splitlines()]
        graphs = [d for d in documents if d["penstock"] == "graph"]
        if len(graphs) != 1:
            raise RuntimeError(f"{kind} {count}: {len(graphs)} graphs")
        return path, graphs[0]["meta"]["capture_ns"] / 1e9

    def tool(self, name):
        return str(Path(self.options.bin) / name)

    def measure(self, kind, count):
        path, capturing = self.capture(kind, count)
        row = {"kind": kind, "count": count, "capture": capturing, "kib": 0, "instructions": 0}
        shutil.rmtree(self.folder / "store", ignore_errors=True)  # code that is found is not made
        for stage in STAGES:
            out = self.folder / f"{stage}.json"
            took = self.run([self.tool(stage), str(path), "-o", str(out)], f"{stage} {kind} {count}")
            row[stage] = took["seconds"]
            row["kib"] = max(row["kib"], took["kib"])
            row["instructions"] += took["instructions"]
            path = out
        row["code"] = sum(f.stat().st_size for f in (self.folder / "store").rglob("*") if f.is_file())
        return row


def per_op(row, base):
    """What each op beyond the first adds."""
    ops = max(row["count"] - 1, 1)
    out = {key: max(row[key] - base[key], 0.0) / ops for key in ("capture", *STAGES, "kib", "code", "instructions")}
    out["total"] = out["capture"] + sum(out[stage] for stage in STAGES)
    return out


def grows(now, before, row):
    figure = "instructions" if now["instructions"] else "total"
    slow = now["total"] * row["count"] > NOISE_SECONDS
    return slow and now[figure] > FACTOR * before[figure] and before[figure] > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.environ.get("PENSTOCK_BUILD_ROOT", str(HERE.parent.parent / "build"))
    parser.add_argument("--bin", default=f"{root}/bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [*CHAINS, *FANS]
    rows, marked = [], 0
    print(f"{'kind':16}{'count':>6}  per op: {'capture':>9}" + "".join(f"{stage:>10}" for stage in STAGES) +
          f"{'all us':>10}{'KiB':>8}{'code B':>8}{'Minstr':>8}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        for kind in chosen:
            counts = [c for c in (CHAIN_COUNTS if kind in CHAINS else FAN_COUNTS) if c <= options.most]
            base = before = None
            for count in counts:
                row = bench.measure(kind, count)
                if base is None:
                    base = row
                    continue
                now = per_op(row, base)
                mark = before is not None and grows(now, before, row)
                marked += mark
                rows.append({**row, "per_op": now, "grows": mark})
                print(f"{kind:16}{count:>6}          " + "".join(f"{now[key] * 1e6:>10.1f}" for key in ("capture", *STAGES, "total")) +
                      f"{now['kib']:>8.1f}{now['code']:>8.0f}{now['instructions'] / 1e6:>8.2f}{'  grows' if mark else ''}", flush=True)
                before = now
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} rows, {marked} that grow")
    return 1 if options.check and marked else 0


if __name__ == "__main__":
    sys.exit(main())
