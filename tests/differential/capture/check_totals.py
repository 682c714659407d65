"""Counts the ATen ops of plain runs with torch's profiler: what a capture calls captured and what it
calls native must add up to as many, and what it calls native is known of each program.

    check_totals.py CAPTURE

All ops of the programs run inside roots. The last line is `N passed, N failed`.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HEADER = "import torch\ntorch.manual_seed(0)\n"
# name: (program, ops that run outside of graphs)
PROGRAMS = {
    "one graph": ("""
def work(n):
    x = torch.ones(n)
    return (x + 1).relu() * x
for _ in range(3):
    work(4)
""", 0),
    "a break in each call": ("""
def work(n):
    x = torch.rand(n) + 1
    if x.sum().item() > 0:   # item is no op of a graph
        x = x - 1
    return x.exp()
for _ in range(4):
    work(4)
""", 4),
    "a branch on a tensor": ("""
def work(n):
    x = torch.rand(n) + 1
    if x.sum() > 0:   # asks is_nonzero
        x = x - 1
    return x.exp()
for _ in range(3):
    work(4)
""", 3),
    "ops that C code calls": ("""
def work(n):
    x = torch.ones(n)
    return [y + 1 for y in sorted([x.sum(), x.max(), x.min()])]   # sorted compares: lt and is_nonzero
for _ in range(2):
    work(4)
""", None),
    "composites count as one": ("""
def work(n):
    x = torch.ones(n, n)
    return torch.nn.functional.linear(x, x, x[0]) @ x
with torch.no_grad():
    for _ in range(3):
        work(5)
""", 0),
}
# What runs below a constructor of a module runs natively and is no part of the program's tensor code.
BELOW_CONSTRUCTORS = """
class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))
    def forward(self, x):
        return self.layers[1](self.layers[0](x))
model = Stack()
def work():
    return model(torch.ones(2, 3))
with torch.no_grad():
    for _ in range(2):
        work()
"""
# A function that makes a model and its input is no root: it runs no op but factories.
MADE_IN_A_FUNCTION = """
def make():
    layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
    return layers, torch.randn(2, 3)
model, x = make()
with torch.no_grad():
    for _ in range(2):
        model(x)
"""
COUNT = """
import runpy, sys, torch
for program in sys.argv[1:]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        runpy.run_path(program, run_name="__main__")
    events = [event for event in profile.events() if event.name.startswith("aten::")]
    print("ATEN", sum(event.cpu_parent is None for event in events))
"""


def plain_counts(programs):
    """Of each program, all in one process."""
    done = subprocess.run([sys.executable, "-c", COUNT, *programs], capture_output=True, text=True,
                          timeout=120, check=True)
    return [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("ATEN")]


def captured_counts(capture, program, store):
    done = subprocess.run([capture, "--python", sys.executable, "--store", store, program],
                          capture_output=True, text=True, timeout=120, check=True)
    end = json.loads(done.stdout.splitlines()[-1])
    counts = {row["name"]: row["count"] for row in end["counts"]}
    return counts["captured_ops"], counts.get("native_ops", 0)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        programs = [pathlib.Path(folder) / f"program_{at}.py" for at in range(len(PROGRAMS))]
        for program, (text, _) in zip(programs, PROGRAMS.values()):
            program.write_text(HEADER + text)
        counts = plain_counts(map(str, programs))
        for program, expected, (name, (_, native)) in zip(programs, counts, PROGRAMS.items(), strict=True):
            got = captured_counts(sys.argv[1], str(program), folder)
            right = sum(got) == expected and (got[1] == native if native is not None else got[1] > 0)
            passed += right
            failed += not right
            if not right:
                print(f"{name}: {expected} ops, captured and native {got}, native expected {native}")
        for name, text, expected in (
                ("below constructors", BELOW_CONSTRUCTORS, (6, 0)),  # ones and two linears in each of two calls
                ("made in a function", MADE_IN_A_FUNCTION, (4, 0))):
            program = pathlib.Path(folder) / "program.py"
            program.write_text(HEADER + text)
            got = captured_counts(sys.argv[1], str(program), folder)
            right = got == expected
            passed += right
            failed += not right
            if not right:
                print(f"{name}: captured and native {got}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
