#!/usr/bin/env python3
"""Reduces captured streams with commands that fail for one op, and looks at what is left.

    check_reduce.py BUILD-ROOT PYTHON

The last line is `N passed, N failed`.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

from suite import TIMEOUT_SECONDS, Suite

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
CHECK = "penstock decompose {} | penstock partition | penstock fuse | penstock codegen | penstock run --check"


class ReduceSuite(Suite):
    def graphs(self, file: str) -> list[dict]:
        documents = [json.loads(line) for line in (self.work / file).read_text().splitlines()]
        return [document for document in documents if document["penstock"] == "graph"]


def one_op(suite: ReduceSuite, stream: str, op: str) -> None:
    """The command fails for a stream with `op`: one graph with that node alone is left, and it runs."""
    small = f"small-{op}.json"
    suite.command("penstock", "reduce", "-o", small, stream, "sh", "-c", f"! grep -q {op}")
    graphs = suite.graphs(small)
    ops = [node["op"] for graph in graphs for node in graph["nodes"]]
    suite.check(f"{op} alone is left", len(ops) == 1 and op in ops[0], ops)
    suite.command("penstock", "verify", small)
    if graphs and graphs[0]["level"] == "torch":
        suite.command("sh", "-c", CHECK.format(small))
    suite.command("penstock", "run", "--interpret", "--check", small)


def answers(suite: ReduceSuite) -> None:
    told = suite.command("penstock", "reduce", "-o", "none.json", "toy.json", "cat", status=1)
    suite.check("nothing to reduce is said", "PS0807" in told, told)
    told = suite.command("penstock", "reduce", "--matching=absent", "toy.json", "cat", status=1)
    suite.check("text that is never printed is said", "PS0807" in told and "absent" in told, told)
    told = suite.command("penstock", "reduce", "toy.json", "no-such-command", status=6)
    suite.check("a missing command is named", "no-such-command" in told, told)
    suite.command("penstock", "reduce", "toy.json", status=2)
    suite.command("penstock", "reduce", "nowhere.json", "false", status=6)
    suite.check("nothing was written", not (suite.work / "none.json").exists())


def wrong_result(suite: ReduceSuite) -> None:
    """What the manual shows: a graph whose results are not the recorded ones. A stream without it fails as well, with the
    same status, as there is nothing to check; that is another failure."""
    documents = [json.loads(line) for line in (suite.work / "toy.json").read_text().splitlines()]
    graphs = [document for document in documents if document["penstock"] == "graph"]
    add = next(node for node in graphs[0]["nodes"] if node["op"] == "aten.add.Tensor")
    next(argument for argument in add["args"] if "const" in argument)["const"] = 7
    (suite.work / "wrong.json").write_text("".join(json.dumps(document) + "\n" for document in documents))
    for quiet in ("", " 2>/dev/null"):
        suite.command("penstock", "reduce", "-o", "right.json", "wrong.json", "sh", "-c", CHECK.format("") + quiet)
        left = suite.graphs("right.json")
        suite.check(f"one graph is left of a wrong result{quiet}", len(left) == 1, left)
        told = suite.command("sh", "-c", CHECK.format("right.json"), status=1)
        suite.check(f"and fails as the whole did{quiet}", bool(quiet) or "PS0804" in told, told)
    suite.command("penstock", "reduce", "-o", "right.json", "toy.json", "sh", "-c", "exit 1")
    suite.check("a graph is left where any stream will do", len(suite.graphs("right.json")) == 1)


def sizes(suite: ReduceSuite) -> None:
    """Shapes get smaller, the data of a wrong result with them, and what comes out can be run and fails as it did."""
    (suite.work / "wide.py").write_text(
        "import torch\n\ndef f(x, table, rows):\n    y = (x @ table[rows].t()).view(64, 96)\n    return torch.relu(y + 3)\n\n"
        "torch.manual_seed(0)\nf(torch.randn(64, 48), torch.randn(1000, 48), torch.randint(1000, (96,)))\n")
    suite.command("penstock", "capture", "-o", "wide.json", "wide.py")
    wrong = (suite.work / "wide.json").read_text().replace('"const":3', '"const":5')
    (suite.work / "wide-wrong.json").write_text(wrong)
    suite.command("penstock", "reduce", "-o", "narrow.json", "wide-wrong.json", "sh", "-c", "penstock run --interpret --check")
    graph = suite.graphs("narrow.json")[0]
    found = {size for row in graph["inputs"] for size in row["type"]["sizes"]}
    suite.check("the sizes of what is wrong are small", found and max(found) <= 2, graph["inputs"])
    told = suite.command("penstock", "run", "--interpret", "--check", "narrow.json", status=1)
    suite.check("and it is still wrong", "PS0804" in told, told)
    suite.command("penstock", "reduce", "-o", "views.json", "wide.json", "sh", "-c", "! (grep aten.view | grep -q aten.index)")
    found = {size for row in suite.graphs("views.json")[0]["inputs"] for size in row["type"]["sizes"]}
    suite.check("a view's numbers get smaller with the sizes they are", max(found) <= 4, found)


def by_text(suite: ReduceSuite) -> None:
    """The command succeeds; what it prints is looked for."""
    suite.command("penstock", "reduce", "--matching=aten.lt", "-o", "text.json", "toy.json", "cat")
    ops = [node["op"] for graph in suite.graphs("text.json") for node in graph["nodes"]]
    suite.check("aten.lt alone is left", ops == ["aten.lt.Scalar"], ops)


def late(suite: ReduceSuite) -> None:
    """A command that hangs for some streams is killed, with all that it started."""
    suite.command("penstock", "reduce", "--timeout=1", "-o", "late.json", "toy.json", "sh", "-c",
              "if grep -q aten.lt; then sleep 60 | cat; fi")
    ops = [node["op"] for graph in suite.graphs("late.json") for node in graph["nodes"]]
    suite.check("what hangs is left", ops == ["aten.lt.Scalar"], ops)


def replayed(suite: ReduceSuite) -> None:
    """What --repro writes has all in it, is told from what fails otherwise or not at all, and runs only where it is trusted."""
    (suite.work / "broken").touch()
    suite.command("penstock", "reduce", "--repro=abs.zip", "toy.json", "sh", "-c", "! grep -q aten.abs || ! test -e broken")
    with zipfile.ZipFile(suite.work / "abs.zip") as archive:
        text = archive.read("documents.json").decode()
    suite.check("one op is in the file", text.count('"op":') == 1 and "aten.abs" in text, text)
    away = {"PENSTOCK_STORE": str(suite.work / "away")}
    told = suite.command("penstock", "replay", "abs.zip", status=6, **away)
    suite.check("a file from elsewhere is refused with its command", "PS0809" in told and "grep -q aten.abs" in told, told)
    told = suite.command("penstock", "replay", "--trust", "abs.zip", status=1, **away)
    suite.check("--trust runs it", "still fails: status 1" in told, told)
    suite.command("penstock", "replay", "abs.zip", status=6, **away)
    told = suite.command("penstock", "trust", "abs.zip", **away)
    suite.check("trust says what may run", "grep -q aten.abs" in told, told)
    suite.command("penstock", "replay", "abs.zip", status=1, **away)
    suite.command("penstock", "run", "--interpret", "--check", "abs.zip", **away)
    with zipfile.ZipFile(suite.work / "abs.zip") as archive, zipfile.ZipFile(suite.work / "edited.zip", "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, archive.read(name).replace(b"aten.abs ||", b"aten.abs ;"))
    suite.check("a changed file is not run", "PS0809" in suite.command("penstock", "replay", "edited.zip", status=6, **away))
    (suite.work / "broken").unlink()
    told = suite.command("penstock", "replay", "abs.zip")
    suite.check("what is mended is told", "no longer fails" in told, told)
    (suite.work / "way").write_text("3")
    suite.command("penstock", "reduce", "--repro=way.zip", "toy.json", "sh", "-c", "exit $(cat way)")
    (suite.work / "way").write_text("4")
    told = suite.command("penstock", "replay", "way.zip", status=1)
    suite.check("another failure is told", "fails in another way: status 4, was status 3" in told, told)


def programs(suite: ReduceSuite, python: str) -> None:
    """Lines, operands and sizes go as long as the same exception comes; another one with the same status is another failure."""
    (suite.work / "model.py").write_text(
        "import helper\n\n\nclass TooLong(Exception):\n    limit = 3\n    unit = 'rows'\n\n\ndef unused(x):\n    # nobody calls it\n    return x\n\n\ndef f(n):\n    for i in range(8):\n"
        "        rows = [0] * n\n        if n > 1:\n            rows = rows + helper.more(n); n = n + 0\n"
        "        if len(rows) > 3:\n            raise TooLong('too long')\n    return rows\n\n\nprint(f(512))\n")
    (suite.work / "helper.py").write_text("def more(n):\n    return [1] * n\n")
    told = suite.command("penstock", "reduce", "model.py", python, "{}")
    suite.check("what is not needed is gone", "unused" not in told and "helper" not in told and "512" not in told, told)
    suite.check("a class without a body is left", "class TooLong(Exception):\n    pass\n" in told, told)
    suite.check("and what is needed is left", "raise TooLong" in told and len(told.splitlines()) <= 8, told)
    piped = suite.command("penstock", "reduce", "--matching=too long", "--repro=model.zip", "model.py", python, "-")
    told = suite.command("penstock", "replay", "--show", "model.zip", status=1)
    suite.check("a program is replayed", "still fails: status 1, TooLong" in told and "too long" in told, piped + told)


def interrupted(suite: ReduceSuite) -> None:
    """An interrupt ends the search, not the result."""
    process = subprocess.Popen(["penstock", "reduce", "-o", "stopped.json", "toy.json", "sh", "-c",
                                f"echo >> {suite.work}/tries; sleep 1; ! grep -q aten.lt"],
                               cwd=suite.work, env=suite.world, stderr=subprocess.PIPE, text=True)
    for _ in range(TIMEOUT_SECONDS * 10):
        if (suite.work / "tries").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=TIMEOUT_SECONDS)[1]
    suite.check("an interrupt is no failure", process.returncode == 0, said)
    suite.check("it is told", "stopped" in said, said)
    suite.command("penstock", "verify", "stopped.json")


def main() -> int:
    build, python = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(os.path.abspath(sys.argv[2]))
    with tempfile.TemporaryDirectory(prefix="penstock-reduce-") as work:
        suite = ReduceSuite(build, python, pathlib.Path(work))
        suite.command("penstock", "capture", "-o", "toy.json", str(SOURCE / "tests/programs/toy.py"))
        attention = str(SOURCE / "tests/programs/attention_block.py")
        suite.command("penstock", "capture", "-o", "attention.json", attention)
        suite.command("penstock", "decompose", "-o", "core.json", "attention.json")
        one_op(suite, "toy.json", "aten.abs")
        one_op(suite, "attention.json", "aten.softmax")
        one_op(suite, "core.json", "aten.bmm")
        answers(suite)
        wrong_result(suite)
        sizes(suite)
        by_text(suite)
        late(suite)
        replayed(suite)
        programs(suite, str(python))
        interrupted(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
