#!/usr/bin/env python3
"""What a call costs more when `penstock run` records for the report (-o) than when it does not.

Processes with and without run in turn (A B A B …). A process's time of a call is the least of its batches of about
5 ms, behind a warm-up that outlasts compilation, the gate, and the calls that are all timed (capture/root_meter.h); a
row is the median over the processes. The goal is 2%.

Usage: recording.py [--bin DIR] [--python PYTHON] [--runs N] [--json FILE]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys, time, torch
torch.set_num_threads(1)
def f(x, w): return torch.relu(x @ w + 1).sum(1)
width = int(sys.argv[1])
x, w = torch.randn(width, width), torch.randn(width, width)
with torch.no_grad():
    for _ in range(1500): f(x, w)
    begin = time.perf_counter(); f(x, w); once = time.perf_counter() - begin
    count = max(1, int(5e-3 / once))
    least = 1.0
    for _ in range(60):
        begin = time.perf_counter()
        for _ in range(count): f(x, w)
        least = min(least, (time.perf_counter() - begin) / count)
print(least)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=Path("build/bin"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "program.py").write_text(PROGRAM)

        def run(width: int, *recorded: str) -> float:
            command = [options.bin.resolve() / "penstock", "run", "-q", f"--python={options.python}", f"--store={work / 'store'}",
                       "--deterministic", *recorded, "program.py", str(width)]
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True)
            return float(done.stdout)

        for width in (4, 64, 128, 256, 512):
            pairs = [(run(width), run(width, "-o", "run.json")) for _ in range(options.runs)]
            without, recorded = (statistics.median(times) for times in zip(*pairs))
            rows.append({"width": width, "without": without, "recorded": recorded})
            print(f"{width:4} {without * 1e6:9.2f} us  recorded {recorded * 1e6:9.2f} us  +{(recorded - without) * 1e9:4.0f} ns  "
                  f"+{(recorded / without - 1) * 100:.1f}%", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
