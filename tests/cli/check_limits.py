#!/usr/bin/env python3
"""The limits of compilation: past each of them the program goes on as plain Python, and says so.

    check_limits.py BUILD-ROOT PYTHON      PYTHON has torch

The last line is `N passed, N failed`.
"""
import json
import pathlib
import re
import sys
import tempfile
import time

from suite import Suite

PROGRAM = """
import sys, torch

def work(x, n):
    parts = []
    for i in range(n):
        x = torch.softmax(x * 1.5 + i, -1)
        parts.append(x.sum(0))
    return torch.stack(parts)

with torch.no_grad():
    for columns in (8, 8, 8, 12, 16, 12):
        print(round(work(torch.linspace(0, 1, 4 * columns).view(4, columns), int(sys.argv[1])).sum().item(), 3))
"""
# Options that one small graph is beyond, and what the message says of it.
LIMITS = {
    "--compile-time-limit=0.0001": "more than 0.0001 s",
    "--compile-memory-limit=0.001": "more than 0.001 MiB of memory",
    "--code-size-limit=0.0001": "more than 0.0001 MiB of machine code",
}


def documents(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def check_program(suite, program, plain, option, why):
    out = suite.work / "out.json"
    said = suite.command("penstock", "run", "-v", option, "-o", str(out), program, "3", PENSTOCK_STORE=str(suite.work / option[2:]))
    printed = "".join(line + "\n" for line in said.splitlines() if not line.startswith("penstock:"))
    suite.check(f"{option}: what is printed", printed == plain, said)
    messages = [line for line in said.splitlines() if line.startswith("penstock:")]
    suite.check(f"{option}: one message", len(messages) == 1 and "PS0709" in messages[0] and why in messages[0], said)
    stream = documents(out)
    skips = [d for d in stream if d["penstock"] == "skip"]
    suite.check(f"{option}: one skip document", [s["code"] for s in skips] == ["PS0709"], skips)
    graphs = [d for d in stream if d["penstock"] == "graph"]
    # Other sizes are not tried.
    suite.check(f"{option}: entries", len(graphs) == 1, len(graphs))
    calls = [c["count"] for d in stream if d["penstock"] == "end" for c in d["calls"]]
    suite.check(f"{option}: no call of the entry", calls == [0], calls)
    suite.check(f"{option}: in the report", "PS0709" in suite.command("penstock", "report", str(out)), "")
    for quiet in ([], ["-q"], ["-q", "-v"]):
        said = suite.command("penstock", "run", *quiet, option, program, "3", PENSTOCK_STORE=str(suite.work / "q"))
        suite.check(f"{option}: silent with {quiet or 'nothing'}", said == plain, said)
    suite.command("penstock", "run", "--strict", option, program, "3", PENSTOCK_STORE=str(suite.work / "s"))


def check_near(suite, program):
    """A long compilation stops soon behind its limit."""
    compiled = suite.command("penstock", "run", "-v", "--time", "--compile-time-limit=1", program, "400", PENSTOCK_STORE=str(suite.work / "near"))
    phases = dict(re.findall(r"^([a-z-]+) +([0-9.]+)$", compiled, re.M))
    taken = sum(float(ms) for name, ms in phases.items() if name not in ("total", "capture", "guards", "gate", "load"))
    stopped = "PS0709" in compiled
    suite.check("a long compilation stops near its limit", stopped and taken < 20_000, f"{taken} ms\n{compiled[-2000:]}")


def check_documents(suite, program):
    graph = suite.work / "loops.json"
    captured = suite.work / "torch.json"
    suite.command("penstock", "capture", "--no-tensors", "-o", str(captured), program, "3")
    suite.command("sh", "-c", f"penstock decompose {captured} | penstock partition | penstock fuse -o {graph}")
    for option, why in LIMITS.items():
        said = suite.command("penstock", "codegen", option, "-o", "/dev/null", str(graph), status=4, PENSTOCK_STORE=str(suite.work / "c"))
        suite.check(f"codegen {option}", "error[PS0709]" in said and why in said, said)
    suite.command("penstock", "codegen", "--compile-time-limit=0", "--compile-memory-limit=0", "--code-size-limit=0", "-o", "/dev/null", str(graph))
    suite.command("penstock", "codegen", "--compile-time-limit=soon", str(graph), status=2)


def main():
    build, python = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(build, python, pathlib.Path(folder))
        program = suite.work / "program.py"
        program.write_text(PROGRAM)
        plain = suite.command(str(python), str(program), "3")
        for option, why in LIMITS.items():
            check_program(suite, "program.py", plain, option, why)
        check_near(suite, "program.py")
        check_documents(suite, "program.py")
        begin = time.monotonic()
        said = suite.command("penstock", "run", "--stats", "program.py", "3")
        suite.check("without limits it is compiled", "PS0709" not in said, f"{time.monotonic() - begin} s: {said}")
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
