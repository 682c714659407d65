#!/usr/bin/env python3
"""Runs the small programs as a user would and compares with plain Python.

For every program of PROGRAMS:
  in-process   `penstock run PROGRAM` prints what `python PROGRAM` prints, with the same status
  captures     are the same bytes without meta, whatever PYTHONHASHSEED, the working folder, and
               the folder that the program lies in; they have the ops listed here, and the program
               prints what it prints without
  report       of a capture is the golden report (entries, op lists, breaks); with other versions than the
               golden reports are of it may have the same graphs and ops in other frames and lines
  pipe         capture | decompose | partition | fuse | codegen in one go, and every stage alone on
               what the one before it saved, give the same bytes; run --check passes
  edits        a constant edited at `core` changes the result; tiles edited at `loops` change the
               machine code and not the result
  steady       torch's profiler records no ATen compute op in a call when all entries are there
Of those without a steady call only what stands above the pipe.

Usage: programs.py --bin DIR --python PYTHON [--bless] [--only NAME] [--seeds N]
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM_DIR = HERE.parent / "programs"
GOLDEN_DIR = HERE / "golden"
STAGES = ("decompose", "partition", "fuse", "codegen")
GOLDEN_VERSIONS = b"3.11 2.11"  # of Python and torch, whose frames (of comprehensions) and lines reports name

# name: the steady call, evaluated in the namespace that the finished program leaves behind; what
# stands before a semicolon is run first, outside the profile.
PROGRAMS = {
    "toy": "toy_example(a, b)",
    "dtype_guard": "x = torch.arange(8.0); scale(x)",
    "closure": "foo(a, b)",
    "mlp_norm": "model(x)",
    "module_tree": "model(x)",
    "attention_block": "model(x)",
    "shapes": "x = torch.rand(16, 30); attention_score(x)",
    "marked_sizes": "x = torch.rand(9, 5); f(x)",
    "dynamic_options": "x = torch.rand(9, 5); always(x), never(x), changed(x)",
}
# What Python does between their segments, and ops that need torch, are there in every call: these run in
# process, and their captures and reports are checked.
PROGRAMS |= dict.fromkeys(("python_mix", "train_step", "beam_search"))

# By program: the ATen ops of its graphs. The golden reports show the calls as they are written.
LAYER = ("layer_norm linear chunk view transpose view transpose view transpose transpose matmul div "
         "masked_fill softmax matmul transpose reshape linear add layer_norm linear gelu linear add")
MLP = "linear gelu layer_norm linear softmax"
OPS = {
    "shapes": {"0/0": "add t matmul div", "0/1": "add t matmul div", "0/2": "t matmul div"},
    "marked_sizes": {"0/0": "mul add relu sum", "0/1": "mul add relu sum",
                     **{f"1/{i}": "mul add tanh" for i in range(5)}},
    "dynamic_options": {"0/0": "mul add relu sum", **{f"1/{i}": "mul add tanh" for i in range(4)},
                        **{f"2/{i}": "slice exp sub" for i in range(2)}},
    "toy": {"0/0": "abs add div sum lt", "1/0": "mul mul", "2/0": "mul"},
    "dtype_guard": {"0/0": "mul add", "0/1": "div"},
    "closure": {"0/0": "add add_", "1/0": "sub add"},
    "mlp_norm": {"0/0": MLP, "0/1": MLP},
    "attention_block": {"0/0": f"alias {LAYER} alias {LAYER}"},
}


class Checks:
    """Counts named cases and prints those that failed."""

    def __init__(self):
        self.passed = self.failed = 0

    def that(self, name, ok, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED {name}\n{detail}".rstrip(), flush=True)
        return ok


class Tools:
    """The executables under test, with one store for all of their calls."""

    def __init__(self, bin_dir, python, work):
        self.bin_dir, self.python, self.work = Path(bin_dir).resolve(), python, Path(work)
        self.environment = dict(os.environ, PENSTOCK_COMPILE="now", PENSTOCK_STORE=str(self.work / "store"), OMP_NUM_THREADS="2")
        self.environment.pop("NO_COLOR", None)
        self.versions = self.run(python, "-c", """import sys, torch
print(*(".".join(v.split(".")[:2]) for v in (sys.version, torch.__version__)))""").stdout.strip()

    def run(self, *command, stdin=b"", folder=None, **environment):
        return subprocess.run([str(part) for part in command], input=stdin, capture_output=True,
                              cwd=folder or self.work, env=dict(self.environment, **environment),
                              timeout=600, check=False)

    def tool(self, name, *arguments, **keywords):
        return self.run(self.bin_dir / name, *arguments, **keywords)

    def capture(self, program, **keywords):
        return self.tool("capture", f"--python={self.python}", program, **keywords)

    def stripped(self, stream):
        return self.tool("convert", "--strip-meta", stdin=stream).stdout


def text(process):
    return (f"status {process.returncode}\n{process.stdout.decode(errors='replace')[-2000:]}"
            f"{process.stderr.decode(errors='replace')[-3000:]}")


def check_in_process(tools, checks, name, plain):
    ours = tools.tool("penstock", "run", "-v", f"--python={tools.python}", PROGRAM_DIR / f"{name}.py")
    checks.that(f"{name}: in process prints what python prints", plain.stdout == ours.stdout,
                f"plain:\n{text(plain)}\nours:\n{text(ours)}")
    checks.that(f"{name}: in process has python's status", plain.returncode == ours.returncode,
                text(ours))
    checks.that(f"{name}: in process says nothing on stderr", not ours.stderr, text(ours))


def places_of(tools, name):
    """(program, working folder): absolute and relative paths of the program, and of a copy of it. Which
    come first differs from program to program."""
    elsewhere = tools.work / "a copy" / name
    elsewhere.mkdir(parents=True, exist_ok=True)
    shutil.copy(PROGRAM_DIR / f"{name}.py", elsewhere)
    here = [(PROGRAM_DIR / f"{name}.py", tools.work), (f"{name}.py", PROGRAM_DIR),
            (f"programs/{name}.py", PROGRAM_DIR.parent)]
    copies = [(elsewhere / f"{name}.py", tools.work), (f"../{name}/{name}.py", elsewhere)]
    at = list(PROGRAMS).index(name)
    return [(here if seed % 2 == 0 else copies)[(at + seed // 2) % (3 if seed % 2 == 0 else 2)] for seed in range(6)]


def check_captures(tools, checks, name, seeds, plain):
    """Captures from several places; returns the stream of one."""
    places = places_of(tools, name)
    captures = []
    for seed in range(seeds):
        program, folder = places[seed % len(places)]
        captures.append(tools.capture(program, folder=folder, PYTHONHASHSEED=str(seed)))
    failed = [capture for capture in captures if capture.returncode != 0]
    if not checks.that(f"{name}: capture", not failed, "\n".join(map(text, failed))):
        return None
    different = {tools.stripped(capture.stdout) for capture in captures}
    checks.that(f"{name}: {seeds} captures with different hash seeds and folders are the same bytes",
                len(different) == 1 and different != {b""}, f"{len(different)} different")
    said = captures[0].stderr.splitlines()
    checks.that(f"{name}: prints under capture what python prints",
                plain.stdout and all(line in said for line in plain.stdout.splitlines()), text(captures[0]))
    if name in OPS:
        documents = map(json.loads, captures[0].stdout.splitlines())
        ops = {graph["id"]: " ".join(node["op"].split(".")[1] for node in graph["nodes"])
               for graph in documents if graph["penstock"] == "graph"}
        checks.that(f"{name}: captured ops", ops == OPS[name], f"{ops}")
    return captures[0].stdout


def without_spans(stream):
    """The stream without what was measured per graph: breaks stand in the program's order then, and have no costs."""
    documents = [json.loads(line) for line in stream.splitlines()]
    for document in documents:
        for key in ("spent", "timeline"):
            document.get("meta", {}).pop(key, None)
    return "".join(json.dumps(document) + "\n" for document in documents).encode()


def totals(report):
    """Graphs, ops in graphs and all ops, of the table at the end; none of a report that failed."""
    lines = report.splitlines()[-3:]
    row = dict(zip(lines[0].split(), lines[-1].split())) if len(lines) == 3 else {}
    return [row.get(name) for name in (b"graphs", b"captured_ops", b"total_ops")]


def check_report(tools, checks, name, stream, bless):
    report = tools.tool("report", stdin=without_spans(stream), COLUMNS="100")
    # Excerpts name files by their absolute path, so that a terminal can open them.
    shown = re.sub(rb"--> /\S*/(tests/programs|site-packages)/", rb"--> \1/", report.stdout)
    shown = re.sub(rb"(?m)^(\S+  +)/\S*/(site-packages/)", rb"\1\2", shown)
    # pct_time is measured.
    shown = re.sub(rb"(?m)^((?: +\d+){4} +[\d.]+%) +[\d.]+%", rb"\1         -", shown)
    golden = GOLDEN_DIR / f"{name}.txt"
    if bless and report.returncode == 0:
        GOLDEN_DIR.mkdir(exist_ok=True)
        golden.write_bytes(shown)
    expected = golden.read_bytes() if golden.exists() else b""
    alike = shown == expected or tools.versions != GOLDEN_VERSIONS and totals(shown) == totals(expected)
    checks.that(f"{name}: report is the golden one", report.returncode == 0 and alike,
                f"expected:\n{expected.decode()}\n{text(report)}")


def check_stages(tools, checks, name, stream):
    """Each stage alone on what the one before saved; returns the saved streams by level's stage."""
    saved = {"capture": stream}
    for stage in STAGES:
        file = tools.work / f"{name}.{stage}"
        file.write_bytes(stream)
        done = tools.tool(stage, file)
        if not checks.that(f"{name}: {stage}", done.returncode == 0, text(done)):
            return saved
        again = tools.tool("convert", stdin=done.stdout)
        checks.that(f"{name}: {stage} saved and read again is the same bytes",
                    again.stdout == done.stdout, text(again))
        stream = saved[stage] = done.stdout
    result = tools.tool("run", "--check", "--tolerance=1e-4", stdin=stream)
    checks.that(f"{name}: run --check", result.returncode == 0, text(result))
    for stage in ("capture", "decompose", "fuse"):
        interpreted = tools.tool("run", "--interpret", "--check", "--tolerance=1e-4", stdin=saved[stage])
        checks.that(f"{name}: run --interpret behind {stage}", interpreted.returncode == 0,
                    text(interpreted))
    return saved


def check_pipe(tools, checks, name, saved):
    """From the program to machine code through pipes alone, with a hash seed and from a folder of its own."""
    program, folder = places_of(tools, name)[2]
    words = [f"'{tools.bin_dir}/capture' --python='{tools.python}' '{program}'"]
    words += [f"'{tools.bin_dir}/{stage}'" for stage in STAGES]
    whole = tools.run("bash", "-c", "set -o pipefail; " + " | ".join(words), folder=folder, PYTHONHASHSEED="100")
    same = tools.stripped(whole.stdout) == tools.stripped(saved["codegen"])
    checks.that(f"{name}: one pipe gives the bytes of the saved stages",
                whole.returncode == 0 and same, text(whole))


def edited(stream, edit):
    """The stream with `edit` applied to every graph, and how much it changed."""
    lines, changes = [], 0
    for line in stream.splitlines():
        document = json.loads(line)
        if document["penstock"] == "graph":
            changes += edit(document)
        lines.append(json.dumps(document))
    return "\n".join(lines).encode(), changes


def edit_constants(graph):
    """Another number in the place of every floating-point operand of arithmetic."""
    changes = 0
    for node in graph["nodes"]:
        if node["op"] not in ("prim.add", "prim.mul", "prim.div", "prim.sub"):
            continue
        for argument in node["args"]:
            if isinstance(argument.get("const"), float):
                argument["const"] = 3 * argument["const"] + 0.5
                changes += 1
    return changes


def edit_tiles(graph):
    """Another tile and unroll factor for every vectorised loop that reduces nothing."""
    changes = 0

    def visit(body):
        nonlocal changes
        for statement in body:
            if "loop" in statement:
                schedule = statement["schedule"]
                if schedule["vectorize"] and not statement.get("accumulators"):
                    schedule["tile"], schedule["unroll"] = 4, 3
                    changes += 1
                visit(statement["body"])

    for step in graph["steps"]:
        visit(step.get("body", []))
    return changes


def check_edits(tools, checks, name, saved):
    stream, changes = edited(saved["decompose"], edit_constants)
    if checks.that(f"{name}: there are constants to edit at core", changes > 0):
        for stage in STAGES[1:]:
            stream = tools.tool(stage, stdin=stream).stdout
        result = tools.tool("run", "--check", stdin=stream)
        checks.that(f"{name}: a constant edited at core changes the result",
                    result.returncode == 1 and b'"differs"' in result.stdout, text(result))
    stream, changes = edited(saved["fuse"], edit_tiles)
    checks.that(f"{name}: there are tiles to edit at loops", changes > 0)
    code = tools.tool("codegen", stdin=stream)
    checks.that(f"{name}: a tile edited at loops changes the machine code",
                code.returncode == 0 and code_of(code.stdout) != code_of(saved["codegen"]), text(code))
    result = tools.tool("run", "--check", "--tolerance=1e-4", stdin=code.stdout)
    checks.that(f"{name}: a tile edited at loops does not change the result", result.returncode == 0,
                text(result))


def code_of(stream):
    """The hashes of the machine code of every graph."""
    graphs = [document for document in map(json.loads, stream.splitlines()) if document["penstock"] == "graph"]
    return [[blob["hash"] for blob in graph["blobs"] if blob["use"] == "code"] for graph in graphs]


def check_steady(tools, checks, names):
    """All programs in one process: each has its own entries."""
    # Every entry is used, so that what the profiler sees says what entries leave to torch.
    names = [name for name in names if PROGRAMS[name] is not None]
    if not names:
        return
    pairs = [word for name in names for word in (shlex.quote(f"{PROGRAM_DIR}/{name}.py"), PROGRAMS[name])]
    ours = tools.tool("penstock", "run", "-v", "--deterministic", f"--python={tools.python}", HERE / "profile_steady.py",
                      *pairs)
    found = [line for line in ours.stdout.decode().splitlines() if line.startswith("ATen compute ops of ")]
    for name in names:
        checks.that(f"{name}: no ATen compute op in a steady call",
                    ours.returncode == 0 and f"ATen compute ops of {name}.py: none" in found, text(ours))


def check_program(tools, checks, name, options):
    plain = tools.run(tools.python, PROGRAM_DIR / f"{name}.py")
    check_in_process(tools, checks, name, plain)
    stream = check_captures(tools, checks, name, options.seeds, plain)
    if stream is None:
        return
    check_report(tools, checks, name, stream, options.bless)
    if PROGRAMS[name] is None:
        return
    saved = check_stages(tools, checks, name, stream)
    if "codegen" in saved:
        check_pipe(tools, checks, name, saved)
        check_edits(tools, checks, name, saved)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder with the tools by their plain names")
    parser.add_argument("--python", required=True, help="a Python that has torch")
    parser.add_argument("--only", choices=PROGRAMS)
    parser.add_argument("--seeds", type=int, default=2, help="captures of each program, beside the pipe's")
    parser.add_argument("--bless", action="store_true", help="accept the reports as golden")
    options = parser.parse_args()
    checks = Checks()
    names = [options.only] if options.only else list(PROGRAMS)
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(options.bin, options.python, work)
        for name in names:
            check_program(tools, checks, name, options)
        check_steady(tools, checks, names)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
