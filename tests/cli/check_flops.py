#!/usr/bin/env python3
"""Checks `report --flops`: operations of products are those that torch.utils.flop_counter counts, at every size.

    check_flops.py BUILD-ROOT PYTHON [--models]      with --models: of the nine bench models, too

The last line is `N passed, N failed`.
"""
import json
import pathlib
import re
import sys
import tempfile

from suite import Suite

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Functions of one tensor or two with sizes n and m, and what torch's counter says of a call.
PROGRAM = """
import sys, torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
torch.manual_seed(0)
CASES = {
    "linear": lambda n, m: (lambda x: F.gelu(F.linear(x, W(7, 8), W(7))), R(n, m, 8)),
    "products": lambda n, m: (lambda x: (x @ x.mT) @ x + torch.bmm(x, W(5, 8).T.expand(x.size(0), 8, 5)).sum(), R(n, m, 8)),
    "einsum": lambda n, m: (lambda x: torch.einsum("nmd,nkd->nmk", x, x * 2), R(n, m, 8)),
    "attention": lambda n, m: (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), R(n, 2, m, 8)),
    "convolution": lambda n, m: (lambda x: F.conv2d(x, W(6, 2, 3, 3), W(6), stride=2, padding=1, groups=2), R(n, 4, m + 8, 9)),
    "convolution1d": lambda n, m: (lambda x: F.conv1d(x, W(6, 4, 3), dilation=2), R(n, 4, m + 8)),
    "transposed": lambda n, m: (lambda x: F.conv_transpose2d(x, W(4, 3, 3, 3), stride=2), R(n, 4, m + 2, 5)),
    "none": lambda n, m: (lambda x: (x.softmax(-1) * 2).cumsum(0), R(n, m)),
}
def R(*sizes): return torch.randn(*sizes)
made = {}
def W(*sizes): return made.setdefault(sizes, torch.randn(*sizes))
name, sizes = sys.argv[1], [(11, 13), (5, 13), (5, 9), (7, 3)]
with torch.no_grad():
    for n, m in sizes:
        function, x = CASES[name](n, m)
        def case(x): return function(x)
        counter = FlopCounterMode(display=False)
        with counter, sdpa_kernel(SDPBackend.MATH):  # of attention by kernels of the CPU it counts nothing
            case(x)
        print(n, m, counter.get_total_flops())
"""
# The same, recorded once with both sizes as symbols.
RECORDED = PROGRAM.split("name, sizes =")[0] + """
function, x = CASES[sys.argv[1]](11, 13)
def case(x): return function(x)
with torch.no_grad(): case(x)
"""
NAMES = re.findall(r'^    "(\w+)": lambda', PROGRAM, re.M)

MODEL = """
import importlib.util, sys, torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
spec = importlib.util.spec_from_file_location("models", sys.argv[1])
models = importlib.util.module_from_spec(spec)
spec.loader.exec_module(models)
torch.manual_seed(0)
model, args, kwargs = models.MODELS[sys.argv[2]]()
def called(): return model.eval()(*args, **kwargs)
with torch.no_grad():
    if len(sys.argv) > 3:
        counter = FlopCounterMode(display=False)
        with counter, sdpa_kernel(SDPBackend.MATH): called()
        print(counter.get_total_flops())
    else:
        called()
"""


def counted(suite: Suite, program: str, *words: str) -> list:
    suite.command("penstock", "capture", *(["--dynamic=all", "--only=case"] if program == "recorded.py" else ["--only=called"]), "-o", "graphs.json", program, *words)
    return json.loads(suite.command("penstock", "report", "--flops", "--json", "graphs.json"))["graphs"]


def check_case(suite: Suite, python: str, name: str) -> None:
    graphs = counted(suite, "recorded.py", name)
    wanted = [[int(number) for number in line.split()] for line in suite.command(python, "program.py", name).splitlines()]
    suite.check(f"{name}: one graph, all counted", len(graphs) == 1 and not graphs[0]["not_counted"], graphs)
    document = next(line for line in (suite.work / "graphs.json").read_text().splitlines() if '"penstock":"graph"' in line)
    shape = next(each["type"]["sizes"] for each in json.loads(document)["inputs"] if each["name"] == "x")
    expression = graphs[0]["total"]["products"]["expression"]
    for n, m, flops in wanted:
        names = dict(zip((str(size) for size in shape), actual_shape(name, n, m)))
        values = {symbol: value for symbol, value in names.items() if symbol.isidentifier()}
        got = eval(expression, {"floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "max": max, "min": min}, values)
        suite.check(f"{name} at {n}, {m}: {expression}", got == flops, f"{got}, torch counts {flops}")
        if (n, m) == (11, 13):
            suite.check(f"{name}: the number at the capture", graphs[0]["total"]["products"]["number"] == flops, graphs[0]["total"])


def actual_shape(name: str, n: int, m: int) -> tuple:
    return {"linear": (n, m, 8), "products": (n, m, 8), "einsum": (n, m, 8), "attention": (n, 2, m, 8),
            "convolution": (n, 4, m + 8, 9), "convolution1d": (n, 4, m + 8), "transposed": (n, 4, m + 2, 5), "none": (n, m)}[name]


def check_text(suite: Suite) -> None:
    suite.command("penstock", "capture", "--dynamic=all", "--only=case", "-o", "graphs.json", "recorded.py", "linear")
    told = suite.command("penstock", "report", "--flops", "graphs.json")
    suite.check("expressions and numbers", re.search(r"torch\.nn\.functional\.linear +16\.02 k = 112\*s0\*s1 ", told), told)
    suite.check("inputs and outputs", "inputs and outputs: " in told, told)
    suite.command("bash", "-c", "penstock decompose graphs.json | penstock partition | penstock fuse > loops.json")
    told = suite.command("penstock", "report", "--flops", "loops.json", status=3)
    suite.check("a level without ops", "penstock capture" in told, told)


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="penstock-flops-") as work:
        suite = Suite(build, python, pathlib.Path(work))
        for name, text in (("program.py", PROGRAM), ("recorded.py", RECORDED), ("model.py", MODEL)):
            (suite.work / name).write_text(text)
        for name in NAMES:
            check_case(suite, str(python), name)
        check_text(suite)
        if sys.argv[3:] == ["--models"]:
            models = str(SOURCE / "tests/programs/models.py")
            for name in ("resnet50", "mobilenetv3", "efficientnet", "convnext", "vit", "bert", "gpt2", "distilbert", "llama"):
                flops = int(suite.command(str(python), "model.py", models, name, "counted"))
                ours = sum(graph["total"]["products"]["number"] for graph in counted(suite, "model.py", models, name))
                suite.check(f"{name} as torch counts it", ours == flops, f"{ours}, torch counts {flops}")
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
