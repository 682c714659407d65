#!/usr/bin/env python3
"""What profilers see: PENSTOCK_TRACE, one file of Chrome trace events from all stages, programs and their forked
children; torch.profiler's ranges; kernels' names for perf.

    check_trace.py BUILD-ROOT PYTHON        the last line is `N passed, N failed`
"""

import json
import pathlib
import sys
import tempfile

from suite import Suite

PROGRAM = """
import os, torch
def f(x):
    if x.sum() > 0:
        return (x * 2).relu()
    return x
x = torch.ones(8)
os.chdir("/")
for n in range(20): f(x)
child = os.fork()
if child == 0:
    for n in range(5): f(x)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def inside(inner: dict, outer: dict) -> bool:
    return outer["ts"] <= inner["ts"] + 0.2 and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.2


def events_of(suite: Suite, name: str) -> list[dict]:
    try:
        return json.loads((suite.work / name).read_text())
    except (OSError, ValueError) as error:
        suite.check(f"{name} is JSON", False, error)
        return []


def programs(suite: Suite) -> None:
    (suite.work / "program.py").write_text(PROGRAM)
    suite.command("penstock", "run", "program.py", PENSTOCK_TRACE="run.json")
    events = events_of(suite, "run.json")
    names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    suite.check("launcher, program and child have a row each", sorted(names.values()) == ["penstock-run", "program", "program"], names)
    spans = [event for event in events if event["ph"] == "X"]
    for event in spans:
        suite.check("times are sound", event["dur"] >= 0 and event["ts"] > 0, event)
    tool = next(event for event in spans if names[event["pid"]] == "penstock-run")
    first = next(event["pid"] for event in spans if event["name"].startswith("capture"))
    of_program = [event for event in spans if event["pid"] == first]
    suite.check("the program's events lie in the tool's", all(inside(event, tool) for event in of_program), tool)
    compiles = [event for event in of_program if event["name"].startswith("compile")]
    suite.check("graphs are captured and compiled under the function's name",
                any("[0/0] f" in event["name"] for event in compiles), [event["name"] for event in of_program])
    for one in ("place-nodes", "codegen"):
        found = [event for event in of_program if one in event["name"]]
        suite.check(f"pass {one} lies in a compile", found and all(any(inside(event, whole) for whole in compiles) for event in found),
                    sorted({event["name"] for event in of_program}))
    runs = [event for event in of_program if event["name"].startswith("entry")]
    suite.check("entries' runs are there", len(runs) >= 10, runs)
    roots = [event for event in of_program if event["name"] == "root"]
    suite.check("each lies in a root", all(any(inside(event, root) for root in roots) for event in runs), (runs, roots))
    breaks = [event for event in events if event["ph"] == "i" and event["name"].startswith("break PS0301")]
    suite.check("the break is there, with its line", breaks and breaks[0]["args"]["line"].endswith("program.py:4"), breaks)
    child = [event for event in spans if event["pid"] not in (first, tool["pid"])]
    suite.check("the child's runs are there, and none of its parent's",
                sum(event["name"].startswith("entry") for event in child) >= 5 and
                not any(event["name"].startswith("compile") for event in child), child)
    gates = [event["name"] for event in events if event["name"].startswith("gate: ")]
    suite.check("the gate's verdicts are there", gates, {event["name"] for event in events})


def pipes(suite: Suite) -> None:
    (suite.work / "program.py").write_text(PROGRAM)
    suite.command("sh", "-c", "penstock capture program.py | penstock decompose | penstock partition > placed", PENSTOCK_TRACE="pipe.json")
    names = {event["args"]["name"] for event in events_of(suite, "pipe.json") if event["ph"] == "M"}
    suite.check("all stages share one file", names == {"penstock-capture", "penstock-decompose", "penstock-partition", "program"}, names)


def samples(suite: Suite) -> None:
    (suite.work / "long.py").write_text("import torch\ndef f(x): return x * 2 + 1\nx = torch.ones(8)\nfor n in range(40000): f(x)\n")
    suite.command("penstock", "run", "long.py", PENSTOCK_TRACE="long.json")
    runs = [event for event in events_of(suite, "long.json") if event["ph"] == "X" and event["name"].split()[0] in ("entry", "root", "plain")]
    suite.check("of many runs some stand for all", 4096 <= len(runs) < 30000, len(runs))
    stands = sum(int(event.get("args", {}).get("of", 1)) for event in runs)
    suite.check("each says how many it stands for", 70000 < stands < 90000, stands)


PROFILED = """
import os, torch
from torch.profiler import ProfilerActivity, profile
layer = torch.nn.Linear(16, 16)
def f(x): return torch.relu(layer(x) * 2 + 1)
def g(x): return f(x).sum()
x = torch.randn(4, 16)
with torch.no_grad():
    for n in range(4): f(x)
for n in range(4): g(x).backward()
with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiled:
    with torch.no_grad():
        for n in range(3): f(x)
    for n in range(2): g(x).backward()
for event in profiled.key_averages():
    if event.key.startswith("penstock"): print(event.key, event.count, sep=";")
"""


def profiler(suite: Suite) -> None:
    """What torch.profiler shows of compiled code: a range for each run."""
    (suite.work / "profiled.py").write_text(PROFILED)
    told = suite.command("penstock", "run", "--deterministic", "profiled.py")
    ranges = dict(line.split(";") for line in told.splitlines() if line.startswith("penstock ["))
    suite.check("each call of an entry is a range of its name", sorted((key.split("] ")[-1], count) for key, count in ranges.items()) ==
                [("f", "3"), ("g", "2"), ("g backward", "2")], told)


MAPPED = """
import os, torch
def f(x): return torch.relu(x * 2 + 1).sum(1)
for n in range(3): f(torch.ones(8, 8))
path = f"/tmp/perf-{os.getpid()}.map"
print(open(path).read(), end="")
print("maps")
print(open("/proc/self/maps").read(), end="")
os.remove(path)
"""


def perf(suite: Suite) -> None:
    """Kernels' names for perf, which takes them for code that lies in no file."""
    (suite.work / "mapped.py").write_text(MAPPED)
    told = suite.command("penstock", "run", "--perf-map", "mapped.py")
    kernels, _, maps = told.partition("maps\n")
    suite.check("there is a kernel of f", "penstock [0/0] f k0_" in kernels, told)
    places = [line.split() for line in maps.splitlines() if "-" in line.split(" ")[0]]
    bare = [tuple(int(end, 16) for end in words[0].split("-")) for words in places if words[1] == "r-xp" and len(words) == 5]
    for line in kernels.splitlines():
        address, size, _ = line.split(" ", 2)
        begin, end = int(address, 16), int(address, 16) + int(size, 16)
        suite.check("it lies in executable memory of no file", any(low <= begin < end <= high for low, high in bare), (line, bare))
    (suite.work / "plain.py").write_text(MAPPED.replace("print(open(path).read(), end=\"\")", "print(os.path.exists(path))")
                                         .replace("os.remove(path)", ""))
    suite.check("nothing is written where nobody asks", suite.command("penstock", "run", "plain.py").startswith("False\n"), "")


def refuses(suite: Suite) -> None:
    (suite.work / "precious").write_text("precious")
    told = suite.command("penstock", "run", "-c", "pass", PENSTOCK_TRACE="precious")
    suite.check("a file that is no trace stays, and that is told",
                "cannot be written" in told and (suite.work / "precious").read_text() == "precious", told)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(folder))
        for part in (programs, pipes, samples, refuses, profiler, perf):
            part(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return suite.failed > 0


if __name__ == "__main__":
    sys.exit(main())
