#!/usr/bin/env python3
"""Calls exported models through libpenstock, from C, C++ and Python, compiled against an installed prefix.

    check_embedding.py BUILD-ROOT PYTHON

Eager PyTorch is the oracle. The examples are compiled and run as their first lines say. The last line is `N passed, N failed`.
"""
import pathlib
import sys
import tempfile

from check_export import HEAD, MODELS, SIZES, TAKES_ONE
from check_installed import install_prefix
from suite import Suite

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Behind the program that has the model: its calls by the library beside eager's, with arguments that lie in many ways.
CALLS = """
import copy, penstock
from torch.utils import _pytree

def lying(x):
    if not isinstance(x, torch.Tensor): return {}
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1])
    wide[..., ::2] = x
    return {"rows": x, "transposed": x.mT.contiguous().mT, "gaps": wide[..., ::2], "read only": read_only(x), "reversed": reversed_rows(x)}

def read_only(x):
    out = x.numpy().copy()
    out.setflags(write=False)
    return out

def reversed_rows(x):
    return x.numpy()[::-1].copy()[::-1]

model = penstock.load(sys.argv[1])
net = Net().eval()
sizes = eval(sys.argv[2])
with torch.no_grad():
    for n, m in sizes:
        given, fresh = inputs(n, m), copy.deepcopy(net)
        before = copy.deepcopy(given)
        wanted = _pytree.tree_leaves(fresh(*given.values()))
        wanted += [b for b in fresh.buffers() if hasattr(fresh, "total")]
        for how in lying(next(iter(given.values()))):
            got = model(**{name: lying(x)[how] for name, x in given.items()})
            assert [value.new_value for value in model.results] == [False] * (len(wanted) - hasattr(fresh, "total")) + [True] * hasattr(fresh, "total")
            assert len(got) == len(wanted), (len(got), len(wanted))
            for ours, theirs in zip(got, wanted):
                assert ours.shape == tuple(theirs.shape) and ours.dtype == str(theirs.dtype).removeprefix("torch.")
                torch.testing.assert_close(torch.from_dlpack(ours), theirs, rtol=1e-4, atol=1e-5, msg=lambda text: f"{n} {m} {how}: {text}")
        for name in given:
            assert torch.equal(given[name], before[name]), name
print("as eager")
"""

# A model that writes its argument, gives a view of it, and returns objects: what is in them has names.
NAMED = """
import collections, dataclasses, sys, torch
Pair = collections.namedtuple("Pair", "low high")
def f(x, table, mask):
    x.add_(1)
    y = table["weights"] @ x
    return {"logits": y.to(torch.bfloat16), "past": [(y + 1, y > 0)], "pair": Pair(y.amin(), y.amax()), "count": mask.sum()}, x.T
torch.manual_seed(0)
given = torch.randn(4, 6), {"weights": torch.randn(3, 4)}, torch.ones(5, dtype=torch.bool)
if len(sys.argv) == 1:
    f(*given)
else:
    import numpy, penstock
    model = penstock.load(sys.argv[1])
    names = [value.name for value in model.arguments]
    before = given[0].clone()
    got = model(*(x.numpy() if i % 2 else x for i, x in enumerate((given[0], given[1]["weights"], given[2]))))
    assert torch.equal(before, given[0])
    print(names, got.names, [x.dtype for x in got])
    again = given[0].clone()
    named, view = f(again, *given[1:])
    at = got.names.index
    for ours, theirs in ((got["0.logits"], named["logits"]), (got["0.past.0.0"], named["past"][0][0]), (got["0.past.0.1"], named["past"][0][1]),
                         (got["0.count"], named["count"]), (got[at("0.count") + 1], view)):
        torch.testing.assert_close(torch.from_dlpack(ours), theirs, rtol=1e-2 if theirs.dtype == torch.bfloat16 else 1e-4, atol=1e-3)
    print("the view", torch.equal(torch.from_dlpack(got["1"]), view), "the new value", torch.equal(torch.from_dlpack(got[-1]), again))
    held = numpy.asarray(got["0.count"])
    del got, model
    print("outlives them", int(held))
"""

# Calls that are no calls of the model f(x: [n, 2], y: [n, 3]), and what is said.
WRONG = """
import numpy, penstock, sys
model = penstock.load(sys.argv[1])
x, y = numpy.ones((5, 2), numpy.float32), numpy.ones((5, 3), numpy.float32)
model(x, y)
for call in (lambda: model(x), lambda: model(x, y, y), lambda: model(x, z=y), lambda: model(x, x=x), lambda: model(x.astype(float), y),
             lambda: model(x[0], y), lambda: model(x, y[:, :2]), lambda: model(x, y[:4]), lambda: model(x.astype(">f4"), y),
             lambda: model([[1.0]], y), lambda: model(numpy.ones((1, 2), numpy.float32), y[:1]),
             lambda: model(numpy.ones((11, 2), numpy.float32), numpy.ones((11, 3), numpy.float32)), lambda: model(x, y)["none"],
             lambda: penstock.load("missing.pstk"), lambda: penstock.load(__file__), lambda: penstock.load(sys.argv[1], graph="7/7")):
    try:
        call()
        print("NO ERROR")
    except Exception as error:
        print(type(error).__name__, error)
print(float(numpy.asarray(model(x, y)[0])[0, 0]))
"""
SAID = ["takes 2 arguments (x, y); y is missing", "takes 2 arguments (x, y), and 3 were given", "has no argument z: it has x, y",
        "two values for argument x", "argument x is float64[5, 2], the graph is called with float32[n, 2]", "argument x is float32[2]",
        "argument y is float32[5, 2]", "argument y is float32[4, 3]", "elements of type >f4", "is a list, and no array",
        "not for n = 1", "asserts.py:3: the graph is for sizes with n <= 10", "KeyError", "[PS0102]", "PenstockError", "holds no graph 7/7"]

# The memory that is a process's own, not mapped from a file, when it has called a model with weights of 64 MB.
MEMORY = """
import numpy, penstock, sys
model = penstock.load(sys.argv[1])
model(numpy.ones((3, 2048), numpy.float32))
print(next(int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Anonymous")))
"""
LARGE = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(4))).eval()
with torch.no_grad(): net(torch.ones(3, 2048))
"""

THREADS = """
import numpy, penstock, sys, threading
model = penstock.load(sys.argv[1], threads=1)
def calls(number, out):
    x = numpy.full((3 + number, 8), number, numpy.float32)
    out.append(all(numpy.array_equal(alone[number], numpy.asarray(model(x)[0])) for _ in range(50)))
alone = [numpy.asarray(model(numpy.full((3 + n, 8), n, numpy.float32))[0]).copy() for n in range(6)]
out = []
threads = [threading.Thread(target=calls, args=(n, out)) for n in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
print(out == [True] * 6)
"""


def write(suite: Suite, name: str, text: str) -> str:
    (suite.work / name).write_text(text)
    return name


def check_models(suite: Suite, python: str) -> None:
    for name, (program, sizes) in MODELS.items():
        write(suite, f"{name}.py", HEAD + program + "\nif len(sys.argv) == 1:\n    with torch.no_grad(): Net().eval()(*inputs(3, 5).values())\n    sys.exit()\n" + CALLS)
        suite.command("penstock", "export", "--function=Net.forward", f"--dynamic-sizes={sizes}", "-o", f"{name}.pstk", f"{name}.py")
        told = suite.command(python, f"{name}.py", f"{name}.pstk", repr(SIZES[:None if name in TAKES_ONE else -1]))
        suite.check(f"{name} is as eager", told == "as eager\n", told)


def check_calls(suite: Suite, python: str) -> None:
    write(suite, "named.py", NAMED)
    suite.command("penstock", "export", "--function=f", "-o", "named.pstk", "named.py")
    told = suite.command(python, "named.py", "named.pstk").splitlines()
    suite.check("names are those of the program", told[:1] == [
        "['x', 'table_weights', 'mask'] ['0.logits', '0.past.0.0', '0.past.0.1', '0.pair.0', '0.pair.1', '0.count', '1', 'x'] "
        "['bfloat16', 'float32', 'bool', 'float32', 'float32', 'int64', 'float32', 'float32']"], told)
    suite.check("views and new values", told[1:] == ["the view True the new value True", "outlives them 5"], told)
    write(suite, "asserts.py", "import torch\ndef f(x, y):\n    if x.size(0) > 10: x = x * 3\n    return x + y.sum()\nf(torch.ones(4, 2), torch.ones(4, 3))\n")
    suite.command("penstock", "export", "--dynamic-sizes=x:0=n[2..20],y:0=n", "-o", "asserts.pstk", "asserts.py")
    lines = suite.command(python, write(suite, "wrong.py", WRONG), "asserts.pstk").splitlines()
    for wanted, line in zip(SAID, lines):
        suite.check(f"a wrong call is told: {wanted}", wanted in line, line)
    suite.check("and the next call is right", lines[len(SAID):] == ["16.0"], lines)
    suite.check("threads get what one gets", suite.command(python, write(suite, "threads.py", THREADS), "mlp.pstk") == "True\n")
    untrusted = "import numpy, penstock\nx, y = numpy.ones((2, 2), numpy.float32), numpy.ones((2, 3), numpy.float32)\n" \
                "try: penstock.load('asserts.pstk', store='elsewhere')(x, y)\nexcept penstock.PenstockError as error: print(error)\n" \
                "print(penstock.load('asserts.pstk', store='elsewhere', trust=True)(x, y))"
    told = suite.command(python, write(suite, "untrusted.py", untrusted)).splitlines()
    suite.check("code made elsewhere needs trust", "[PS0809]" in told[0] and "tensor float32[2, 2]" in told[1], told)


def check_sharing(suite: Suite, python: str) -> None:
    suite.command("penstock", "export", "-o", "large.pstk", write(suite, "large.py", LARGE))
    program = write(suite, "memory.py", MEMORY)
    suite.command(python, program, "large.pstk")
    own = int(suite.command(python, program, "large.pstk"))
    suite.check("64 MB of weights are nobody's own", own < 48 << 10, f"{own} kB")


def check_examples(suite: Suite, python: str, prefix: pathlib.Path) -> None:
    examples = SOURCE / "examples/embedding"
    suite.command("penstock", "export", "--dynamic-sizes=input:0=rows", "-o", "linear.pstk", str(SOURCE / "examples/mlp.py"))
    described = {"PKG_CONFIG_PATH": str(next(prefix.rglob("pkgconfig/penstock.pc")).parent),
                 "LD_LIBRARY_PATH": str(next(prefix.rglob("libpenstock.so.1")).parent)}
    suite.command("sh", "-c", f"cc -Wall -Wextra -Werror -std=c99 {examples}/call.c $(pkg-config --cflags --libs penstock) -o call", **described)
    suite.command("sh", "-c", f"c++ -Wall -Wextra -Werror -std=c++17 -pthread {examples}/threads.cpp $(pkg-config --cflags --libs penstock) -o threads", **described)
    by_c = suite.command("./call", "linear.pstk", "3", **described)
    suite.check("C describes the model", by_c.startswith("argument input: rows 16\nresult result: rows 4\nrow 0 begins with "), by_c)
    by_python = suite.command(python, str(examples / "call.py"), "linear.pstk", "3")
    suite.check("C and Python get the same", by_c.splitlines()[2:] == by_python.splitlines()[1:], by_python)
    suite.check("C++ calls from threads", suite.command("./threads", "linear.pstk", "4", **described) == "4 threads: as one after the other\n")
    told = suite.command("./call", "missing.pstk", "3", status=1, **described)
    suite.check("C is told what is wrong", "[PS0102]" in told, told)


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="penstock-embedding-") as work:
        suite = Suite(build, python, pathlib.Path(work))
        prefix = install_prefix(build, suite.work).parent
        suite.world["PATH"] = f"{prefix / 'bin'}:/usr/bin:/bin"
        suite.world["PYTHONPATH"] = str(prefix / "share/penstock/python")
        check_models(suite, str(python))
        check_calls(suite, str(python))
        check_sharing(suite, str(python))
        check_examples(suite, str(python), prefix)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
