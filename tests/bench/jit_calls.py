"""Cost of a call in process, beside eager and torch.compile(backend="eager") in the same session: the
three run in turn, medians of the rounds. Usage: jit_calls.py PENSTOCK PYTHON [ROUNDS]; prints JSON."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

penstock, python = sys.argv[1], sys.argv[2]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
workload = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jit_workload.py")
COMMANDS = {
    "eager": [python, workload],
    "dynamo": [python, workload],
    "penstock": [penstock, "run", "--python", python, workload],
}
times = {side: {} for side in COMMANDS}
with tempfile.TemporaryDirectory() as folder:
    for _ in range(rounds):
        for side, command in COMMANDS.items():
            out = os.path.join(folder, "out.json")
            subprocess.run(command + [side, out], check=True)
            with open(out) as file:
                for row, value in json.load(file).items():
                    times[side].setdefault(row, []).append(value)
report = {row: {side: round(statistics.median(times[side][row])) for side in COMMANDS}
          for row in times["eager"]}
print(json.dumps({"unit": "ns per call", "rounds": rounds, "rows": report}, indent=1))
