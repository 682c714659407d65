#!/usr/bin/env python3
"""`%load_ext penstock` and `%%penstock` in a Jupyter kernel: a notebook runs as without them, cell by cell, and has reports.

    check_notebook.py BUILD-ROOT PYTHON [ENVIRONMENT]

Installs ipykernel and nbclient from PyPI into an environment of its own, which sees PYTHON's torch, unless ENVIRONMENT has
them. The last line is `N passed, N failed`.
"""

import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from suite import Suite

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Runs the notebook of cells that stands on standard input, and prints the outputs of each and what the kernel is left with.
RUNNER = """
import json, nbformat, sys
from nbclient import NotebookClient
notebook = nbformat.v4.new_notebook()
notebook.cells = [nbformat.v4.new_code_cell(source) for source in json.load(sys.stdin)]
NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True).execute()
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""

# A cell, and whether it is compiled where the notebook is run with penstock.
CELLS = [
    ("import torch\ndef f(x):\n    return torch.relu(x * 2 - 1).sum()\ndef g(x):\n    if x.sum() < 0:\n        return x\n    return x * 3", False),
    ("x = torch.arange(12.0)\nprint('before')\ny = f(x)\ny", True),
    ("for n in range(3):\n    print(float(f(x + n)), flush=True)", True),
    ("g(x)", True),
    ("f(x)", False),
    ("def wrong(x):\n    y = x * 2\n    return y.view(7)\nwrong(x)", True),
    ("import asyncio\nawait asyncio.sleep(0)\nfloat(f(x))", True),
    ("z = [float(f(x - n)) for n in range(2)];", True),
    ("1 +", True),
    ("_, y, z, sorted(name for name in globals() if len(name) == 1)", False),
]


def environment(python: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    made = work / "environment"
    subprocess.run([python, "-m", "venv", made], check=True)
    subprocess.run([made / "bin/python", "-m", "pip", "install", "-q", "ipykernel", "nbclient"], check=True)
    place = subprocess.run([python, "-c", "import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))"],
                           capture_output=True, text=True, check=True).stdout
    next((made / "lib").glob("python3.*/site-packages")).joinpath("torch.pth").write_text(place)
    return made


def run(suite: Suite, inside: pathlib.Path, cells: list[str]) -> list[list[dict]]:
    world = suite.world | {"PYTHONPATH": str(SOURCE / "packaging/python"), "PENSTOCK_COMPILE": "auto",
                           "PATH": f"{inside}/bin:{suite.world['PATH']}", "VIRTUAL_ENV": str(inside)}
    done = subprocess.run([inside / "bin/python", "-c", RUNNER], input=json.dumps(cells), cwd=suite.work, env=world,
                          capture_output=True, text=True, timeout=600)
    suite.check("the notebook runs", done.returncode == 0, done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else []


def is_report(output: dict) -> bool:
    return output["output_type"] == "display_data" and "<iframe" in "".join(output["data"].get("text/html", ""))


def visible(outputs: list[dict]) -> list:
    """What people see of a cell: texts in a row as one, without the colours, numbers and places that differ between kernels."""
    seen: list = []
    for output in outputs:
        if is_report(output):
            continue
        text = json.dumps({key: value for key, value in output.items() if key not in ("execution_count", "metadata")})
        text = re.sub(r"\\u001b\[[0-9;]*m", "", text)
        seen.append(re.sub(r"ipykernel_\d+|In\[\d+\]|0x[0-9a-f]+", "", text))
    return seen


def as_without(suite: Suite, inside: pathlib.Path) -> None:
    plain = run(suite, inside, [source for source, _ in CELLS])
    compiled = run(suite, inside, ["%load_ext penstock"] + [("%%penstock --compile=now\n" if marked else "") + source
                                                            for source, marked in CELLS])
    if not plain or not compiled:
        return
    suite.check("loading says nothing", compiled[0] == [], compiled[0])
    for (source, marked), without, having in zip(CELLS, plain, compiled[1:]):
        name = source.splitlines()[-1]
        # A cell begins a line later: %%penstock stands in its first one.
        shifted = [re.sub(r"line (\d+)", "line", text) for text in visible(having)]
        expected = [re.sub(r"line (\d+)", "line", text) for text in visible(without)]
        if "Error" in str(without):
            suite.check(f"{name}: the same exception", [json.loads(text).get("ename") for text in shifted] ==
                        [json.loads(text).get("ename") for text in expected], (having, without))
        else:
            suite.check(f"{name}: the same output", shifted == expected, (shifted, expected))
        reports = [output for output in having if is_report(output)]
        suite.check(f"{name}: a report where one is asked for", len(reports) == (marked and source != "1 +"), having)
    first = next(output for output in compiled[2] if is_report(output))["data"]
    suite.check("the report of the first cell is of its graph", "1 graph" in first["text/plain"] and "[0/0] f" in first["text/plain"],
                first["text/plain"])
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', first["text/html"])[1])
    suite.check("it holds a whole page", page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>"), page[:200])
    suite.check("it shows the cell by its number, and its lines", "In[2]" in page and "torch.relu(x * 2 - 1)" in page, first["text/plain"])
    later = next(output for output in compiled[4] if is_report(output))["data"]["text/plain"]
    suite.check("a later cell's report is of that cell", "g" in later and "[0/0] f" not in later and "PS0301" in later, later)


def magics(suite: Suite, inside: pathlib.Path) -> None:
    outputs = run(suite, inside, [
        "import torch\nx = torch.ones(3)\ndef f(x): return (x * 2).relu().sum()", "%load_ext penstock", "%penstock report",
        "%penstock on --compile=now", "f(x)", "%penstock off", "%penstock report", "%penstock report page.html", "%%penstock --compile=auto\nf(x)",
        "%penstock nothing", "%%penstock --complie=now\nf(x)", "%penstock", "%load_ext penstock", "%unload_ext penstock", "f(x)"])
    if not outputs:
        return
    texts = ["".join(str(output.get("text", output.get("evalue", output.get("data", "")))) for output in each) for each in outputs]
    suite.check("a report of nothing says what to do", "%%penstock" in texts[2], texts[2])
    suite.check("between on and off calls are compiled, without a report", not any(map(is_report, outputs[4])) and "1 graph" in texts[6], texts)
    suite.check("a page is written", (suite.work / "page.html").read_text().startswith("<!DOCTYPE html>"), texts[7])
    suite.check("other options are refused, with the way", "restart the kernel" in texts[8], texts[8])
    suite.check("an unknown word too", "on, off, report and help" in texts[9], texts[9])
    suite.check("help is there", "%%penstock" in texts[11], texts[11])
    suite.check("loading again is told of", "already loaded" in texts[12], texts[12])
    suite.check("unloaded, all is plain", "tensor(6.)" in texts[14], texts[14])
    wrong = run(suite, inside, ["%load_ext penstock", "%%penstock --complie=now\nprint('ran')"])
    suite.check("a misspelt option stops the cell and names the right one",
                wrong[1][-1]["output_type"] in ("error", "stream") and "--compile" in str(wrong[1]) and "'ran\\n'" not in str(wrong[1]), wrong)


def example(suite: Suite, inside: pathlib.Path) -> None:
    """The notebook of examples/."""
    cells = [cell for cell in json.loads((SOURCE / "examples/notebook.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    outputs = run(suite, inside, ["".join(cell["source"]) for cell in cells])
    if not outputs:
        return
    suite.check("no cell fails", all(output["output_type"] != "error" for each in outputs for output in each), outputs)
    reports = [output for output in outputs[2] if is_report(output)]
    suite.check("the marked cell has a report, which names the break",
                len(reports) == 1 and "graph break" in reports[0]["data"]["text/plain"], outputs[2])
    suite.check("the page is written", (suite.work / "notebook.html").read_text().startswith("<!DOCTYPE html>"), outputs[3])


def main() -> int:
    build, python = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        suite = Suite(build, python, work)
        inside = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else environment(python, work)
        os.environ.pop("PENSTOCK_COMPILE", None)
        as_without(suite, inside)
        magics(suite, inside)
        example(suite, inside)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return suite.failed > 0


if __name__ == "__main__":
    sys.exit(main())
