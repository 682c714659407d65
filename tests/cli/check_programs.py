#!/usr/bin/env python3
"""Runs programs that end badly, and programs where no program can run, under capture and run.

    check_programs.py BUILD-ROOT PYTHON [TOOL]      PYTHON has torch; TOOL: only cases of that tool

The last line is `N passed, N failed`.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_SECONDS = 120
WORK = """
import torch
def work(x):
    return (x + 1).relu()
with torch.no_grad():
    out = work(torch.ones(4))
print("sum", out.sum().item(), flush=True)
"""
ENDINGS = {  # name: (code behind WORK, plain status as subprocess has it)
    "ends": ("", 0),
    "raises": ("raise ValueError('no such thing')\n", 1),
    "exits with 3": ("import sys; sys.exit(3)\n", 3),
    "exits with a message": ("import sys; sys.exit('enough')\n", 1),
    "leaves with os._exit": ("import os; os._exit(5)\n", 5),
    "is killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n", -9),
    "is terminated": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)\n", -15),
}


class Suite:
    def __init__(self, build: pathlib.Path, python: pathlib.Path, work: pathlib.Path):
        self.build, self.python, self.work = build, python, work
        self.only = sys.argv[3] if len(sys.argv) > 3 else ""
        self.passed = self.failed = 0

    def check(self, name: str, problem: str) -> None:
        if not name.startswith(self.only):
            return
        if problem:
            self.failed += 1
            print(f"FAILED {name}: {problem}")
        else:
            self.passed += 1

    def world(self, **changes: str) -> dict[str, str]:
        path = f"{self.python.parent}:/usr/bin:/bin"
        return {"HOME": str(self.work), "PATH": path, "LC_ALL": "C.UTF-8",
                "PENSTOCK_COMPILE": "now", "PENSTOCK_STORE": str(self.work / "store")} | changes

    def tool(self, tool: str, *arguments: str, **changes: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.build / "tools" / f"penstock-{tool}", *arguments], cwd=self.work,
                              env=self.world(**changes), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS)

    def plain(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.python, *arguments], cwd=self.work, env=self.world(),
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=TIMEOUT_SECONDS)


def endings(suite: Suite) -> None:
    """run ends as python ends; capture always writes its last document and maps the status."""
    for name, (code, status) in ENDINGS.items():
        program = suite.work / "program.py"
        program.write_text(WORK + code)
        plain = suite.plain("program.py")
        ran = suite.tool("run", "program.py")
        same = (ran.returncode, ran.stdout, ran.stderr) == (plain.returncode, plain.stdout, plain.stderr)
        suite.check(f"run: a program that {name}",
                    "" if same and plain.returncode == status else f"{ran} against {plain}")
        captured = suite.tool("capture", "program.py")
        expected = 0 if status == 0 else 7
        problem = "" if captured.returncode == expected else f"status {captured.returncode}: {captured.stderr}"
        lines = captured.stdout.splitlines()
        last = json.loads(lines[-1]) if lines else {}
        if not problem and last.get("penstock") != "end":
            problem = f"the last document is {last.get('penstock')}"
        if not problem and "sum" not in captured.stderr:
            problem = "the program's output did not go to standard error"
        suite.check(f"capture: a program that {name}", problem)


WATCHED_WORLDS = [  # what Python is to check, how the program ends, and the tools that run it
    ({"PYTHONMALLOC": "debug"}, "", ("run", "capture")),
    ({"PYTHONDEVMODE": "1"}, "raise ValueError('no such thing')\n", ("run",)),
]


def allocators(suite: Suite) -> None:
    """Python's own checks of its memory have nothing to say, whether the program gets to its end or not."""
    program = suite.work / "allocating.py"
    for changes, code, tools in WATCHED_WORLDS:
        program.write_text(WORK + "for i in range(3):\n    with torch.no_grad():\n        work(torch.ones(4))\n" + code)
        plain = subprocess.run([suite.python, program.name], cwd=suite.work, env=suite.world(**changes),
                               capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        for tool in tools:
            ran = suite.tool(tool, *(("-o", "allocating.json") if tool == "capture" else ()), program.name, **changes)
            same = (ran.returncode, ran.stdout, ran.stderr) == (plain.returncode, plain.stdout, plain.stderr)
            suite.check(f"{tool}: with {changes}", "" if same else f"{ran} against {plain}")
    ran = suite.tool("run", "--python=/usr/bin/python3", "-q", "-c", "print(1)", PYTHONMALLOC="debug")
    suite.check("run: a Python that is refused, with PYTHONMALLOC=debug",
                "" if (ran.returncode, ran.stdout, ran.stderr) == (0, "1\n", "") else str(ran))
    ran = suite.tool("run", "--version", PYTHONMALLOC="debug")
    suite.check("run --version with PYTHONMALLOC=debug", "" if ran.returncode == 0 else str(ran))


def without_python(suite: Suite) -> None:
    (suite.work / "program.py").write_text(WORK)
    bare = suite.work / "bare"
    bare.mkdir()
    done = suite.tool("capture", "program.py", PATH=str(bare))
    suite.check("capture: no Python on PATH",
                "" if done.returncode == 6 and "error[PS" in done.stderr else str(done))
    done = suite.tool("run", "program.py", PATH=str(bare))
    suite.check("run: no Python on PATH", told(done, 6, "error[PS0111]"))
    done = suite.tool("capture", "--python=/nowhere/python", "program.py")
    suite.check("capture: --python names nothing",
                "" if done.returncode == 6 and "/nowhere/python" in done.stderr else str(done))
    done = suite.tool("capture", "nowhere.py")
    suite.check("capture: no such program", "" if done.returncode in (6, 7) else str(done))
    done = suite.tool("capture")
    suite.check("capture: no program named",
                "" if done.returncode == 2 and "error[PS0101]" in done.stderr else str(done))


def without_torch(suite: Suite) -> None:
    """The system's Python has no torch: capture refuses, run runs the program plainly."""
    (suite.work / "plain.py").write_text("import sys\nprint('plain')\nsys.exit(4)\n")
    done = suite.tool("run", "--python=/usr/bin/python3", "plain.py")
    line = "penstock: warning[PS0113]: /usr/bin/python3 has no torch; "
    lines = done.stderr.splitlines()
    suite.check("run: a program without torch",
                "" if (done.returncode, done.stdout, len(lines)) == (4, "plain\n", 1) and lines[0].startswith(line)
                and "--python" in lines[0] else str(done))
    done = suite.tool("run", "-q", "--python=/usr/bin/python3", "plain.py")
    suite.check("run -q: a program without torch",
                "" if (done.returncode, done.stdout, done.stderr) == (4, "plain\n", "") else str(done))
    (suite.work / "torchless.py").write_text("import torch\n")
    done = suite.tool("run", "--python=/usr/bin/python3", "torchless.py")
    suite.check("run: Python without torch", "" if done.returncode == 1 and done.stderr.startswith(line)
                and "No module named 'torch'" in done.stderr else str(done))
    done = suite.tool("capture", "--python=/usr/bin/python3", "torchless.py")
    suite.check("capture: Python without torch", told(done, 6, "error[PS0113]: /usr/bin/python3 has no torch"))
    done = suite.tool("run", "--strict", "--python=/usr/bin/python3", "torchless.py")
    suite.check("run --strict: Python without torch",
                told(done, 6, "error[PS0113]: /usr/bin/python3 has no torch"))


def unknown_torch(suite: Suite) -> None:
    """A torch whose tensors are kept as in none that is known: plain Python runs the program, and one line says so."""
    package = suite.work / "unknown" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '9.9'\n\n\nclass Tensor:\n    pass\n")
    (suite.work / "unknown.py").write_text("import sys\nimport torch\n\n\ndef double(x):\n    return x + x\n\n\n"
                                           "print([double(x) for x in range(3)], torch.Tensor)\nsys.exit(4)\n")
    printed = "[0, 2, 4] <class 'torch.Tensor'>\n"
    path = {"PYTHONPATH": str(package.parent)}
    why = "torch 9.9 is none that is known: torch._C._from_dlpack is missing"
    line = f"penstock: warning[PS0110]: {why}; the program runs without penstock. Use torch 2.11 to 2.15.\n"
    done = suite.tool("run", "--compile=now", "unknown.py", **path)
    suite.check("run: a torch that is not known", "" if (done.returncode, done.stdout, done.stderr) == (4, printed, line) else str(done))
    done = suite.tool("run", "-q", "unknown.py", **path)
    suite.check("run -q: a torch that is not known", "" if (done.returncode, done.stdout, done.stderr) == (4, printed, "") else str(done))
    done = suite.tool("run", "--strict", "unknown.py", **path)
    suite.check("run --strict: a torch that is not known", told(done, 6, f"error[PS0110]: {why}"))
    done = suite.tool("capture", "unknown.py", **path)
    suite.check("capture: a torch that is not known", told(done, 7, f"error[PS0110]: {why}"))


def told(done: subprocess.CompletedProcess, status: int, *says: str) -> str:
    """A failure has its status, its words, and a way out."""
    good = done.returncode == status and all(word in done.stderr for word in (*says, "hint: "))
    return "" if good else str(done)


def without_extension(suite: Suite) -> None:
    """A Python that no extension was built for, and what is no Python at all."""
    (suite.work / "plain.py").write_text("import sys\nprint('plain')\nsys.exit(4)\n")
    parts = suite.work / "parts"
    parts.mkdir()
    shutil.copy(suite.build / "parts" / "penstock_preload.so", parts)
    done = suite.tool("run", "plain.py", PENSTOCK_PARTS=str(parts))
    lines = done.stderr.splitlines()
    suite.check("run: no extension for this Python",
                "" if (done.returncode, done.stdout, len(lines)) == (4, "plain\n", 1)
                and "warning[PS0112]: there is no extension for Python 3." in lines[0] else str(done))
    for tool, options in (("run", ["--strict"]), ("capture", [])):
        done = suite.tool(tool, *options, "plain.py", PENSTOCK_PARTS=str(parts))
        suite.check(f"{tool} {' '.join(options)}: no extension for this Python",
                    told(done, 6, "error[PS0112]: there is no extension for Python 3.") or
                    ("it ran" if "plain" in (done.stdout + done.stderr).splitlines() else ""))
        done = suite.tool(tool, *options, "--diagnostics=json", "plain.py", PENSTOCK_PARTS=str(parts))
        suite.check(f"{tool} {' '.join(options)}: no extension for this Python, as JSON",
                    "" if json.loads(done.stderr)["code"] == "PS0112" else str(done))
    free = suite.build / "tests" / "cli" / "free_threaded_python"
    done = suite.tool("capture", f"--python={free}", "plain.py")
    suite.check("capture: free-threaded Python",
                told(done, 6, "error[PS0112]: there is no extension for free-threaded builds of Python 3.14"))
    fake = suite.work / "python-of-sorts"
    fake.write_text("#!/bin/sh\necho plain\nexit 4\n")
    fake.chmod(0o755)
    done = suite.tool("run", f"--python={fake}", "plain.py")
    suite.check("run: no Python at all", told(done, 4, "warning[PS0114]"))
    done = suite.tool("capture", f"--python={fake}", "plain.py")
    suite.check("capture: no Python at all", told(done, 6, "error[PS0114]", str(fake)))


def limited(suite: Suite) -> None:
    """A file-size limit holds for memory behind descriptors as well."""
    (suite.work / "program.py").write_text(WORK)
    tool = str(suite.build / "tools" / "penstock-")

    def run(name: str, blocks: int, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", f'ulimit -f {blocks}; exec "$0" "$@"', tool + name, *arguments],
                              cwd=suite.work, env=suite.world(), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS)

    done = run("run", 1, "program.py")
    suite.check("run: a file-size limit", told(done, 0, "warning[PS0106]", "File too large") or
                ("" if done.stdout == "sum 8.0\n" else str(done)))
    suite.check("run --strict: a file-size limit",
                told(run("run", 1, "--strict", "program.py"), 6, "error[PS0106]", "File too large"))
    suite.check("capture: a file-size limit",
                told(run("capture", 1, "program.py"), 6, "error[PS0106]", "File too large"))
    (suite.work / "large.py").write_text(WORK.replace("torch.ones(4)", "torch.ones(1000000)"))
    done = run("capture", 2000, "large.py")
    suite.check("capture: a file-size limit on the store",
                told(done, 6, "error[PS0210]", "File too large") or
                ("" if done.stderr.count("PS0210") == 1 else str(done)))


def capture_output(suite: Suite) -> None:
    """Where the documents of capture cannot go; a reader that leaves ends the recording, not the program."""
    (suite.work / "program.py").write_text(WORK)

    def run(*arguments: str, shell: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", f'"$0" "$@" {shell}', str(suite.build / "tools" / "penstock-capture"),
                               *arguments, "program.py"], cwd=suite.work, env=suite.world(), capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS)

    suite.check("capture: full disk", told(run(shell=">/dev/full"), 6, "error[PS0103]", "No space left"))
    suite.check("capture: closed standard output", told(run(shell=">&-"), 6, "error[PS0103]", "standard output"))
    suite.check("capture: no such directory", told(run("-o", "nowhere/a.json"), 6, "error[PS0103]", "nowhere"))
    suite.check("capture: full device by name", told(run("-o", "/dev/full"), 6, "error[PS0103]", "/dev/full"))
    done = run(shell="| head -c 10; exit ${PIPESTATUS[0]}")
    suite.check("capture: closed pipe",
                "" if done.returncode == 141 and done.stderr == "sum 8.0\n" else str(done))


def unwritable_store(suite: Suite) -> None:
    """The program runs to its end and says what it says; then capture tells what could not be kept."""
    (suite.work / "program.py").write_text(WORK)
    taken = suite.work / "taken"
    taken.write_text("no directory")
    done = suite.tool("capture", "program.py", PENSTOCK_STORE=str(taken))
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [document["penstock"] for document in documents]
    suite.check("capture: an unwritable store", told(done, 6, "sum 8.0\n", "error[PS0210]", str(taken), "--store")
                or ("" if kinds == ["program", "graph", "end"] and "blobs" not in documents[1] else done.stdout))
    done = suite.tool("capture", "-o", "out.json", "program.py", PENSTOCK_STORE=str(taken))
    suite.check("capture -o: an unwritable store",
                told(done, 6, "error[PS0210]") or ("" if done.stdout == "sum 8.0\n" else str(done)))
    done = suite.tool("capture", "--no-tensors", "program.py", PENSTOCK_STORE=str(taken))
    suite.check("capture --no-tensors: an unwritable store",
                "" if (done.returncode, done.stderr) == (0, "sum 8.0\n") else str(done))
    done = suite.tool("capture", "program.py", PENSTOCK_STORE="", HOME="")
    suite.check("capture: no place for a store", told(done, 6, "error[PS0210]"))


def unsupported(suite: Suite) -> None:
    """An op that only torch has, without Python: exit 4, the op, and its line with a caret."""
    (suite.work / "spectrum.py").write_text(WORK.replace("(x + 1).relu()", "torch.fft.fft(x).abs() + 1"))
    streams = {"capture": suite.tool("capture", "spectrum.py").stdout}
    before = "capture"
    for stage in ("decompose", "partition", "fuse", "codegen"):
        done = subprocess.run([suite.build / "tools" / f"penstock-{stage}"], input=streams[before],
                              cwd=suite.work, env=suite.world(), capture_output=True, text=True)
        suite.check(f"{stage}: an op that needs torch is no error", "" if done.returncode == 0 else str(done))
        streams[stage] = done.stdout
        before = stage
    for stage, stream in streams.items():
        options = [] if stage == "codegen" else ["--interpret"]
        why = "aten.fft_fft.default needs torch: there is neither" if stage in ("fuse", "codegen") else \
            "aten.fft_fft.default"
        done = subprocess.run([suite.build / "tools" / "penstock-run", *options], input=stream, cwd="/",
                              env=suite.world(), capture_output=True, text=True)
        suite.check(f"run {' '.join(options)} behind {stage}: an op that needs torch",
                    told(done, 4, why, f"{suite.work}/spectrum.py:4:", "^^^") or
                    ("" if '"unsupported"' in done.stdout else str(done)))


def streams_and_arguments(suite: Suite) -> None:
    program = suite.work / "echo.py"
    program.write_text("import sys\nprint(sys.argv, sys.orig_argv[1:], __name__, __file__)\n"
                       "print('to people', file=sys.stderr)\n")
    for words in (["echo.py", "--help", "-o", "x"], ["-m", "echo", "--only", "y"],
                  ["-c", "import sys; print(sys.argv)", "--version"]):
        plain, ran = suite.plain(*words), suite.tool("run", *words)
        same = (plain.returncode, plain.stdout, plain.stderr) == (ran.returncode, ran.stdout, ran.stderr)
        suite.check(f"run {' '.join(words)}", "" if same else f"{ran} against {plain}")
    kept = suite.tool("capture", "-o", "kept.json", "echo.py")
    suite.check("capture -o leaves standard output alone",
                "" if kept.stdout.startswith("['echo.py'") and (suite.work / "kept.json").exists()
                else str(kept))


PROFILED = """import time
import torch
from penstock_profile import kernel_nanoseconds, measuring_nanoseconds
def double(x):
    return x * 2
for _ in range(2):
    double(torch.ones(3))  # recorded, then run
before, start = kernel_nanoseconds(), time.perf_counter_ns()
for _ in range(5):
    double(torch.ones(3))
passed, kernels = time.perf_counter_ns() - start, kernel_nanoseconds() - before
print(0 < kernels < passed, 0 < measuring_nanoseconds() < 100_000)
"""
LOOP = """
import torch, sys, os, signal
def work(x):
    return (x + 1).relu()
def choose(x):
    if x.sum() > 3:
        return x * 2
    return x - 1
with torch.no_grad():
    for _ in range(6):
        work(torch.ones(4))
    for _ in range(3):
        choose(torch.ones(4))
print("done", flush=True)
"""


def documents_of(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def recording(suite: Suite) -> None:
    """run -o writes the documents of the run, and the last one is right however the program ends."""
    for name, (code, status) in ENDINGS.items():
        (suite.work / "loop.py").write_text(LOOP + code)
        path = suite.work / "documents.json"
        path.unlink(missing_ok=True)
        ran = suite.tool("run", "--deterministic", "-o", str(path), "loop.py")
        documents = documents_of(path)
        last = documents[-1] if documents else {}
        calls = {row["id"]: row["count"] for row in last.get("calls", [])}
        ending = (last.get("status", 0), last.get("signal", 0))
        good = (ran.returncode == status and ran.stdout == "done\n" and last.get("penstock") == "end"
                and ending == ((status, 0) if status >= 0 else (0, -status))
                and calls == {"0/0": 6, "1/0": 3, "2/0": 3})
        suite.check(f"run -o: a program that {name}", "" if good else f"{ran} {last}")
        kinds = [document["penstock"] for document in documents[:-1]]
        levels = {document["level"] for document in documents if document["penstock"] == "graph"}
        suite.check(f"run -o: documents of a program that {name}",
                    "" if kinds == ["program", "graph", "graph", "break", "graph"] and levels == {"torch"}
                    else str((kinds, levels)))
    shown = suite.tool("report", "documents.json")
    suite.check("report on the documents of run", "" if shown.returncode == 0 and "[1/0] choose" in shown.stdout
                and "6 calls" in shown.stdout and "PS0301" in shown.stdout else str(shown))
    shown = suite.tool("report", "--summary", "documents.json")
    suite.check("report --summary on the documents of run",
                "" if shown.returncode == 0 and " 21 " in shown.stdout else str(shown))
    (suite.work / "loop.py").write_text(LOOP)
    listings = []
    for tool in ("run", "capture"):
        suite.tool(tool, "--deterministic", "-o", f"{tool}.json", "loop.py")
        shown = suite.tool("report", f"{tool}.json").stdout.partition("\ngraphs  ")[0].partition("\n[0/0] ")[2]
        listings.append(shown.replace("  gate: off: nothing is measured\n", ""))
    suite.check("report lists the same ops for run as for capture",
                "" if listings[0] == listings[1] and "[2/0] choose" in listings[0] else "".join(listings))
    done = suite.tool("run", "-o", "-", "loop.py")
    suite.check("run -o -: standard output is the program's",
                "" if done.returncode == 2 and "error[PS0101]" in done.stderr else str(done))


GATED = '''
import sys, torch
def compute(x):
    y = torch.relu(x + 1)
    print("computed", file=sys.stderr)
    return (y * y).sum(-1)
x = torch.arange(32.0).reshape(4, 8)
with torch.no_grad():
    for _ in range(40):
        y = compute(x)
print(y.tolist())
'''


def gate(suite: Suite) -> None:
    """Entries that are slower than plain Python are refused, and the next process knows."""
    (suite.work / "gated.py").write_text(GATED)
    store = suite.work / "gate-store"
    totals = set()  # of ops, whoever runs them

    def run(title: str, *options: str) -> dict:
        plain = suite.plain("gated.py")
        ran = suite.tool("run", *options, "-o", "gated.json", "gated.py", PENSTOCK_STORE=str(store))
        suite.check(f"gate: {title}: prints what python prints",
                    "" if (ran.returncode, ran.stdout, ran.stderr) == (0, plain.stdout, plain.stderr) else str(ran))
        report = json.loads(suite.tool("report", "--json", "gated.json").stdout)
        gates = report["gates"]
        totals.add(report["summary"]["total_ops"])
        counts = {row["id"]: row["count"] for row in documents_of(suite.work / "gated.json")[-1]["calls"]}
        return {gate["id"]: (gate["verdict"], gate["remembered"], counts[gate["id"]]) for gate in gates}

    off = run("--deterministic", "--deterministic")
    suite.check("gate: --deterministic measures nothing",
                "" if off == {"0/0": ("off", False, 40), "1/0": ("off", False, 40)} else str(off))
    slow = run("slow entries", "--handicap=2")
    # The recording, the first call that does not count, and six pairs.
    suite.check("gate: slow entries are refused",
                "" if slow == {"0/0": ("refused", False, 8), "1/0": ("refused", False, 8)} else str(slow))
    shown = suite.tool("report", "gated.json").stdout
    suite.check("gate: report tells the verdict and both times",
                "" if re.search(r"gate: refused, plain Python runs the calls: 2(\.\d+)? ms a call, plain Python "
                                r"\S+ [um]s \(least of 6\)", shown) else shown)
    again = run("refused before", "--handicap=2")
    suite.check("gate: a verdict is kept",
                "" if again == {"0/0": ("refused", True, 0), "1/0": ("refused", True, 0)} else str(again))
    shown = suite.tool("report", "--summary", "gated.json").stdout
    suite.check("gate: report --summary names who measured",
                "" if shown.count("measured by an earlier process") == 2 else shown)
    measured = run("measured")
    suite.check("gate: every entry has a verdict",
                "" if [row[0] in ("accepted", "refused") and not row[1] for row in measured.values()] == [True, True]
                else str(measured))
    suite.check("gate: ops are counted once, whoever runs them", "" if len(totals) == 1 else str(totals))
    (suite.work / "gated.py").write_text(GATED.replace("range(40)", "range(3)"))
    store = suite.work / "another-gate-store"
    few = run("few calls")
    suite.check("gate: too few calls leave it open",
                "" if few == {"0/0": ("open", False, 2), "1/0": ("open", False, 2)} else str(few))


DETERMINISTIC = '''
import hashlib, torch
from torch import nn
torch.manual_seed(0)
convolutions = nn.Sequential(
    nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
    nn.Conv2d(64, 64, 3, padding=2, dilation=2, groups=8), nn.GELU(), nn.Conv2d(64, 512, 3, 2),
    nn.Conv2d(512, 64, 3, padding=3, dilation=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).eval()
layers = nn.Sequential(nn.Linear(4096, 33), nn.LayerNorm(33), nn.GELU(), nn.Linear(33, 7), nn.Softmax(-1)).eval()
def reduce(x, w):
    return [x.sum(), x.mean(0), x.var(1), x.logsumexp(1), x.amax(0), x.t() @ w, x.cumsum(0), x.softmax(0), x.norm()]
image, row, x, w = torch.randn(1, 3, 30, 30), torch.randn(4, 4096), torch.randn(4096, 16), torch.randn(4096, 5)
with torch.no_grad():
    for call in range(6):
        results = [convolutions(image), layers(row), *reduce(x, w)]
        bits = [hashlib.sha256(result.contiguous().numpy().tobytes()).hexdigest()[:8] for result in results]
        if call > 0:  # the first call is eager's own
            print(*bits)
'''


def deterministic(suite: Suite) -> None:
    """--deterministic: the same bits in every call of every process, with one thread and with two."""
    (suite.work / "same.py").write_text(DETERMINISTIC)
    lines = []
    for threads in (1, 2, 1, 2):
        ran = suite.tool("run", "--deterministic", f"--threads={threads}", "same.py")
        lines += ran.stdout.splitlines() if ran.returncode == 0 and not ran.stderr else [str(ran)]
    suite.check("run --deterministic: ten calls with one thread and ten with two give the same bits",
                "" if len(lines) == 20 and len(set(lines)) == 1 else "\n".join(sorted(set(lines))))


def giving_up(suite: Suite) -> None:
    """Kernels cannot be kept: the program runs as ever, and is told once; --strict ends it in order."""
    (suite.work / "loop.py").write_text(LOOP)
    broken = suite.work / "broken-store"
    broken.mkdir()
    for name in ("blobs", "kernels"):
        (broken / name).write_text("no directory")
    ran = suite.tool("run", "loop.py", PENSTOCK_STORE=str(broken))
    lines = ran.stderr.splitlines()
    told = [line.partition("warning")[2][:8] for line in lines]
    # One line for each function.
    suite.check("run: what cannot be compiled runs as Python",
                "" if (ran.returncode, ran.stdout, told) == (0, "done\n", ["[PS0210]"] * 2) else str(ran))
    ran = suite.tool("run", "-q", "loop.py", PENSTOCK_STORE=str(broken))
    suite.check("run -q: nothing is said of it",
                "" if (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "") else str(ran))
    ran = suite.tool("run", "--strict", "-o", "strict.json", "loop.py", PENSTOCK_STORE=str(broken))
    documents = documents_of(suite.work / "strict.json")
    last = documents[-1] if documents else {}
    good = (ran.returncode == 5 and ran.stderr.count("error[PS0210]") == 1 and ran.stdout == ""
            and last.get("penstock") == "end" and last.get("status") == 5
            and any(d["penstock"] == "skip" and d.get("bypass") for d in documents))
    suite.check("run --strict: ends with a message, its documents and status 5", "" if good else f"{ran} {last}")


def program_options(suite: Suite) -> None:
    (suite.work / "loop.py").write_text(LOOP)
    told = "/loop.py:6:8\n 6 |     if x.sum() > 3:\n   |        ^^^^^^^^^^^\n  hint: "
    done = suite.tool("run", "--fullgraph", "loop.py")
    suite.check("run --fullgraph: a break is told with its line, status 1",
                "" if done.returncode == 1 and done.stdout == "done\n" and "error[PS0301]" in done.stderr
                and told in done.stderr else str(done))
    done = suite.tool("capture", "--fullgraph", "-o", "kept.json", "loop.py")
    suite.check("capture --fullgraph: a break is told with its line, status 1, and the documents are kept",
                "" if done.returncode == 1 and done.stdout == "done\n" and told in done.stderr
                and documents_of(suite.work / "kept.json")[-1]["penstock"] == "end" else str(done))
    (suite.work / "failing.py").write_text(LOOP + "sys.exit(3)\n")
    for tool, status in (("run", 3), ("capture", 7)):
        done = suite.tool(tool, "--fullgraph", "-o", "kept.json", "failing.py")
        suite.check(f"{tool} --fullgraph: the status of a program that fails goes first",
                    "" if done.returncode == status and "error[PS0301]" in done.stderr else str(done))
    (suite.work / "program.py").write_text(WORK)
    done = suite.tool("run", "--fullgraph", "program.py")
    suite.check("run --fullgraph: no break, the program's status",
                "" if done.returncode == 0 and done.stderr == "" else str(done))
    suite.tool("run", "--only", "choose", "-o", "only.json", "loop.py")
    names = {d["name"] for d in documents_of(suite.work / "only.json") if d["penstock"] == "graph"}
    suite.check("run --only GLOB", "" if names == {"choose"} else str(names))
    (suite.work / "threads.py").write_text("import torch\nprint(torch.get_num_threads())\n")
    done = suite.tool("run", "--threads", "1", "threads.py")
    suite.check("run --threads N", "" if done.stdout == "1\n" else str(done))
    done = suite.tool("run", "--stats", "--time", "loop.py")
    suite.check("run --stats --time", "" if done.returncode == 0 and done.stdout == "done\n"
                and "graph calls" in done.stderr and "codegen" in done.stderr else str(done))
    (suite.work / "profiled.py").write_text(PROFILED)
    done = suite.tool("run", "--deterministic", "--profile", "profiled.py")
    rows = [line.split() for line in done.stderr.splitlines()[1:]]
    suite.check("run --profile: the calls of every entry, and the program can ask",
                "" if done.returncode == 0 and done.stdout == "True True\n" and len(rows) == 1
                and rows[0][:2] == ["[0/0]", "6"] and "profiled.py:4" in rows[0][-1]
                and float(rows[0][2]) > float(rows[0][3]) > 0 else str(done))
    (suite.work / "echo.py").write_text("import sys\nprint(sys.argv)\n")


def main() -> int:
    build, python = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).absolute()
    with tempfile.TemporaryDirectory(prefix="penstock-programs-") as work:
        suite = Suite(build, python, pathlib.Path(work))
        endings(suite)
        allocators(suite)
        without_python(suite)
        without_torch(suite)
        without_extension(suite)
        unknown_torch(suite)
        limited(suite)
        capture_output(suite)
        unwritable_store(suite)
        unsupported(suite)
        streams_and_arguments(suite)
        recording(suite)
        gate(suite)
        deterministic(suite)
        giving_up(suite)
        program_options(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
