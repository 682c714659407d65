#!/usr/bin/env python3
"""`penstock run --backend`: who runs a graph, and what becomes of a back end that does not do what it should.

    check_backends.py BUILD-ROOT PYTHON [--packages]

The back end here is a Python program of the test's own that has torch run the graph, or does what TRICK says instead.
Whatever it does, the program prints what plain Python prints, and the report tells why. --packages takes the packages of
the back ends that come with penstock from PyPI, and runs tests/programs/models.py with each. The last line is `N passed,
N failed`.
"""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from suite import Suite

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
# The back end of the manual, in which a trick can stand before each request.
TRICKS = """
import os, time
trick = os.environ.get("TRICK", "")
calls = 0
def before(request):
    global calls
    do = request["do"]
    calls += do == "run"
    with open(os.environ["NOTES"], "a") as notes:
        print(do, request.get("threads", ""), os.path.basename(request.get("kept", "")), file=notes)
    if trick == "missing" and do == "describe": raise ModuleNotFoundError("No module named 'nothing'")
    if trick == "declines" and do == "compile": raise ValueError("no form for this graph")
    if trick == "crashes at compile" and do == "compile": os._exit(3)
    if trick == "aborts" and do == "compile":
        print("terminate called", flush=True)
        os.abort()
    if trick == "hangs at compile" and do == "compile": time.sleep(1000)
    if trick == "crashes at once" and do == "run": os._exit(3)
    if trick == "crashes later" and do == "run" and calls == 3: os._exit(3)
    if trick == "hangs" and do == "run": time.sleep(1000)
    if trick == "raises later" and do == "run" and calls == 3: raise ValueError("no more")
    if trick == "chatters" and do == "compile": print("yes", flush=True)
    if trick == "speaks another language": print("maybe", file=answers, flush=True)
    if trick == "keeps" and do == "compile":
        with open(request["keep"], "w") as keep: keep.write("made")
def behind(request):
    if request["do"] != "run": return
    if trick == "wrong" or trick == "wrong for other sizes" and request["inputs"][0]["sizes"][0] != 3:
        tensor(request["outputs"][0]).add_(0.1)
"""
# What a graph has to do with its program: sizes that change, a buffer that is written, a view of an input, a parameter
# that changes, errors.
PROGRAM = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)
        self.register_buffer("count", torch.zeros(8))
    def forward(self, x):
        self.count += x.sum(0)
        y = self.b(torch.tanh(self.a(x)))
        return {"y": y, "t": y.t(), "half": x[:, :4], "same": x}
def show(out):
    x = out["same"]
    print([round(value, 4) for value in out["y"].flatten().tolist()[:3]], tuple(out["t"].stride()), out["half"]._base is x)
torch.manual_seed(0)
net = Net().eval()
with torch.no_grad():
    for rows in (3, 3, 3, 3, 3, 5, 5, 5, 7, 7):
        show(net(torch.randn(rows, 8)))
    print([round(value, 4) for value in net.count.tolist()])
    net.b.bias.add_(1.0)
    for _ in range(2): show(net(torch.ones(3, 8)))
"""
TRAINED = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 2)
for _ in range(5):
    loss = net(torch.ones(3, 4)).pow(2).sum()
    loss.backward()
print(round(loss.item(), 4), round(net.weight.grad.sum().item(), 4))
"""
SIMPLE = """
import os, torch
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh()).eval()
torch.nn.init.constant_(net[0].weight, 0.5)
torch.nn.init.constant_(net[0].bias, 0.5)
with torch.no_grad():
    for _ in range(6): print(round(net(torch.ones(4, 64)).sum().item(), 3))
"""
# One thread: libgomp's team does not survive a fork, so that torch's own threaded product hangs in a child of plain Python.
FORKED = SIMPLE.replace("net =", "torch.set_num_threads(1)\nnet =", 1) + """
child = os.fork()
with torch.no_grad(): print(round(net(torch.ones(4, 64)).sum().item(), 3), flush=True)
if child == 0: os._exit(0)
try: print(os.waitpid(-1, 0)[1])
except ChildProcessError as error: print(error)
try: os.waitpid(-1, 0)
except ChildProcessError: print("no other child")
"""
# Each call takes long enough to be handed over, and what a trick makes of the back end shows in the choice.
LONG = """
import torch
a = torch.linspace(0, 1, 400 * 400).reshape(400, 400)
def f(x):
    for _ in range(4): x = torch.tanh(x @ a / 100)
    return x
with torch.no_grad():
    for _ in range(6): print(round(f(a).sum().item(), 1))
"""
# By trick: what comes of the graph, and words of the reason.
OUTCOMES = {
    "": ("runs", ""),
    "keeps": ("runs", ""),
    "chatters": ("runs", ""),
    "missing": ("missing", "No module named 'nothing'"),
    "declines": ("declined", "no form for this graph"),
    "crashes at compile": ("crashed", "while it compiled"),
    "aborts": ("crashed", "terminate called"),
    "hangs at compile": ("hung", "while it compiled"),
    "crashes at once": ("crashed", "in a call"),
    "crashes later": ("crashed", "in a call"),
    "hangs": ("hung", "in a call"),
    "raises later": ("failed", "no more"),
    "wrong": ("differs", "output 0 is not ours"),
    "speaks another language": ("missing", "neither with yes nor with no"),
}


def backend_of_manual() -> str:
    """The back end that the manual prints, with room for tricks."""
    page = (SOURCE / "man/penstock-backend.7.scd").read_text()
    code = page.split("```\n")[1]
    call = "globals()[request[\"do\"]](request) or \"\""
    assert call in code
    tricky = code.replace("for line in sys.stdin:", TRICKS + "for line in sys.stdin:")
    tricky = tricky.replace("    try:\n", "    try:\n        before(request)\n")
    return tricky.replace("        print(\"yes\", " + call, "        made = " + call + "\n        behind(request)\n        print(\"yes\", made")


class Backends(Suite):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        (self.work / "own.py").write_text(backend_of_manual())
        for name, text in (("program", PROGRAM), ("trained", TRAINED), ("simple", SIMPLE), ("forked", FORKED), ("long", LONG)):
            (self.work / f"{name}.py").write_text(text)
        self.world["NOTES"] = str(self.work / "notes")
        self.python = arguments[1]

    @functools.cache
    def plain(self, program: str) -> str:
        done = subprocess.run([self.python, f"{program}.py"], cwd=self.work, env=self.world, capture_output=True, text=True,
                              timeout=600)
        return done.stdout

    def run(self, what: str, program: str, trick: str, *options: str, backend: str = "./own.py", **variables: str) -> list[dict]:
        """The documents about back ends; the program has printed what plain Python prints."""
        (self.work / "notes").write_text("")
        command = ["penstock", "run", f"--backend={backend}", *options, "-o", "run.json", f"{program}.py"]
        done = subprocess.run(command, cwd=self.work, env=self.world | {"TRICK": trick} | variables, capture_output=True,
                              text=True, timeout=600, stdin=subprocess.DEVNULL)
        self.check(f"{what}: status", done.returncode == 0, done.stderr)
        self.check(f"{what}: prints what python prints", done.stdout == self.plain(program), done.stdout)
        self.said = done.stderr
        documents = [json.loads(line) for line in (self.work / "run.json").read_text().splitlines()]
        return [each for each in documents if each["penstock"] == "backend"]

    def notes(self) -> list[list[str]]:
        return [line.split(" ") for line in (self.work / "notes").read_text().splitlines()]

    def asked(self, what: str) -> int:
        return sum(note[0] == what for note in self.notes())


def check_tricks(suite: Backends) -> None:
    for trick, (outcome, reason) in OUTCOMES.items():
        name = f"a back end that {trick}" if trick else "a back end"
        events = suite.run(name, "simple", trick, "--backend-time-limit=20" if "hangs" in trick else "--backend-time-limit=200")
        last = events[-1] if events else {}
        suite.check(f"{name}: its outcome", last.get("outcome") == outcome and reason in last.get("reason", ""), events)
        report = suite.command("penstock", "report", "run.json")
        suite.check(f"{name}: the report tells", outcome in report and "back end: own" in report, report)
        whole = json.loads(suite.command("penstock", "report", "--json", "run.json"))
        suite.check(f"{name}: so does its JSON", [row["outcome"] for row in whole["backends"]] == [outcome], whole["backends"])
        lines = [line for line in suite.said.splitlines() if line.startswith("penstock")]
        suite.check(f"{name}: one line where it is missing", len(lines) == (outcome == "missing"), suite.said)


def check_program(suite: Backends) -> None:
    events = suite.run("sizes, writes and views", "program", "")
    ran = [event for event in events if event["outcome"] == "runs"]
    suite.check("graphs with any number of rows run there", len(ran) >= 2, events)
    suite.check("calls go there", suite.asked("run") > suite.asked("compile"), suite.notes())
    changed = [event for event in events if event["outcome"] == "changed"]
    suite.check("a parameter that changes takes the graph back", len(changed) == 1 and "bias" in changed[0]["reason"], events)
    events = suite.run("wrong for other sizes", "program", "wrong for other sizes")
    suite.check("other sizes are compared, too", any(event["outcome"] == "differs" for event in events), events)
    events = suite.run("gradients", "trained", "")
    suite.check("gradients stay with penstock", events and all(
        event["outcome"] == "untried" and "gradients" in event["reason"] for event in events), events)
    suite.run("after a fork the child is penstock's", "forked", "")


def check_store(suite: Backends) -> None:
    suite.run("what is kept", "simple", "keeps", PENSTOCK_STORE=str(suite.work / "kept"))
    first = [note for note in suite.notes() if note[0] == "compile"]
    suite.run("what is kept, again", "simple", "keeps", PENSTOCK_STORE=str(suite.work / "kept"))
    again = [note for note in suite.notes() if note[0] == "compile"]
    suite.check("the next process has what was kept", not first[0][2] and again[0][2], (first, again))
    suite.run("threads", "simple", "", OMP_NUM_THREADS="1")
    suite.check("threads are the program's", [note for note in suite.notes() if note[0] == "compile"][0][1] == "1", suite.notes())


def check_auto(suite: Backends) -> None:
    tools = suite.work / "tools"
    tools.mkdir()
    for name in ("slow", "wrong"):
        trick = "TRICK = 'wrong'" if name == "wrong" else "TRICK = ''"
        text = backend_of_manual().replace("trick = os.environ.get(\"TRICK\", \"\")", trick.replace("TRICK", "trick"))
        if name == "slow":
            text = text.replace("def run(request):\n", "def run(request):\n    import time; time.sleep(0.1)\n", 1)
        (tools / f"penstock-backend-{name}.py").write_text(text)
    path, store = f"{suite.world['PATH']}:{tools}", str(suite.work / "chosen")
    events = suite.run("auto", "long", "", backend="auto", PATH=path, PENSTOCK_STORE=store)
    found = {event["backend"]: event for event in events}
    suite.check("auto tries what is on PATH", {"slow", "wrong"} <= found.keys(), events)
    suite.check("auto names what is slower", found["slow"]["outcome"] == "slower" and found["slow"]["meta"]["backend_ns"] > 5e7, events)
    suite.check("auto names what differs", found["wrong"]["outcome"] == "differs", events)
    asked = suite.asked("compile")
    again = suite.run("auto, again", "long", "", backend="auto", PATH=path, PENSTOCK_STORE=store)
    suite.check("auto compiles no loser again", asked >= 2 and suite.asked("compile") == 0, suite.notes())
    suite.check("a verdict is kept", {event["backend"]: event["outcome"] for event in again if event["backend"] in ("slow", "wrong")} ==
                {"slow": "slower", "wrong": "differs"} and all(event["meta"].get("remembered") for event in again), again)


def check_uses(suite: Backends) -> None:
    suite.run("no such back end", "simple", "", backend="nonesuch")
    suite.check("what there is is named", "onnxruntime" in suite.said and suite.said.count("warning") == 1, suite.said)
    suite.run("no such file", "simple", "", backend="./nonesuch.py")
    said = suite.command("penstock", "run", "--backend=auto", "--deterministic", "simple.py", status=2)
    suite.check("auto measures, and --deterministic does not", "--deterministic forbids" in said, said)
    said = suite.command("penstock", "run", "--backend=auto", "run.json", status=2)
    suite.check("documents have no back end", "convert --emit=onnx" in said, said)


def check_packages(suite: Backends) -> None:
    inside = suite.work / "packages"
    subprocess.run([suite.python, "-m", "venv", inside], check=True)
    subprocess.run([inside / "bin/pip", "install", "-q", "onnxruntime", "openvino", "iree-base-compiler", "iree-base-runtime"], check=True)
    own = subprocess.check_output([suite.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    next(inside.glob("lib/python*/site-packages")).joinpath("torch.pth").write_text(own)
    model = (SOURCE / "tests/programs/models.py").read_text().replace("range(3)", "range(8)")
    (suite.work / "model.py").write_text(model.replace('else "resnet50"', f'else os.environ["MODEL"]').replace("import sys", "import os, sys"))
    for name in ("resnet50", "bert", "gpt2"):
        for backend in ("onnxruntime", "openvino", "iree", "torch-inductor"):
            events = suite.run(f"{name} by {backend}", "model", "", "--backend-time-limit=1800", backend=backend, MODEL=name,
                               PENSTOCK_BACKEND_PYTHON=str(inside / "bin/python"))
            suite.check(f"{name} by {backend}", events and events[-1]["outcome"] == "runs", events)


def main() -> int:
    build, python = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="penstock-backends-") as folder:
        suite = Backends(build, python, pathlib.Path(folder))
        os.environ.pop("PENSTOCK_BACKEND_PYTHON", None)
        if "--packages" in sys.argv[3:]:
            check_packages(suite)
        else:
            for check in (check_tricks, check_program, check_store, check_auto, check_uses):
                check(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
