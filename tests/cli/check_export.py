#!/usr/bin/env python3
"""Checks `penstock export`: what it makes runs without Python and gives what torch gives, at other sizes too.

    check_export.py BUILD-ROOT PYTHON

Eager PyTorch is the oracle: it runs each model on inputs of several sizes, and `penstock run FILE` has no Python
to find. The last line is `N passed, N failed`.
"""
import pathlib
import sys
import tempfile

from suite import Suite

# Models, whose first call is exported, and the sizes at which the file is called then.
HEAD = """
import sys, torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
"""
MODELS = {
    "mlp": ("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 32), nn.Linear(32, 4)
    def forward(self, x):
        return self.b(F.gelu(self.a(x)))
def inputs(n, m): return {"x": torch.randn(n, 8)}
""", "x:0=batch"),
    "block": ("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)
    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = (each.view(b, t, 4, 8).transpose(1, 2) for each in self.qkv(x).split(32, 2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :] > 0)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.silu(self.up(self.norm(x))))
def inputs(n, m): return {"x": torch.randn(n, m, 32), "mask": torch.ones(n, m)}
""", "x:0=batch[2..64],x:1=seq,mask:0=batch,mask:1=seq"),
    "conv": ("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                                  nn.Conv2d(8, 8, 3, stride=2), nn.ReLU())
        self.out = nn.Linear(8, 5)
    def forward(self, x):
        y = self.body(x)
        return self.out(F.adaptive_avg_pool2d(y, 1).flatten(1)), y.amax((2, 3))
def inputs(n, m): return {"x": torch.randn(n, 3, 17, 17)}
""", "x:0=batch"),
    "counting": ("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.shift = torch.full((4,), 3.0)
    def forward(self, x):
        self.total += x.sum(0)
        return x * self.shift
def inputs(n, m): return {"x": torch.randn(n, 4)}
""", "x:0=batch"),
}
TAIL = """
net = Net().eval()
with torch.no_grad():
    if len(sys.argv) == 1:
        net(*inputs(3, 5).values())
    else:
        from safetensors.torch import load_file, save_file
        import copy
        for n, m in ((2, 2), (3, 5), (7, 3), (5, 4), (16, 33), (1, 4)):
            given, fresh = inputs(n, m), copy.deepcopy(net)
            save_file(given, f"given-{n}-{m}.safetensors")
            out = fresh(*given.values())
            out = list(out) if isinstance(out, tuple) else [out]
            torch.save(out + [b for b in fresh.buffers() if hasattr(fresh, "total")], f"wanted-{n}-{m}.pt")
"""
# The last of them is one row, which what looks for it in a size (views, convolutions) refuses.
TAKES_ONE = {"mlp", "counting"}
SIZES = ((2, 2), (3, 5), (7, 3), (5, 4), (16, 33), (1, 4))
COMPARE = """
import sys, torch
from safetensors.torch import load_file
got, wanted = load_file(sys.argv[1]), torch.load(sys.argv[2])
assert sorted(got) == [f"0/0/{i}" for i in range(len(wanted))], (sorted(got), len(wanted))
for i, value in enumerate(wanted):
    torch.testing.assert_close(got[f"0/0/{i}"], value, rtol=1e-4, atol=1e-5, equal_nan=True)
"""

# Functions of a tensor and a mask whose results are as large as elements say: one file serves every such size, none and
# one among them, unless an op takes them apart. The last of a row is the fewest marks that the file is called with.
DECIDED = {
    "selected": ("chosen = x[mask]\n    return chosen * 2 + 1, chosen.sum(), torch.masked_select(x, mask)", 0),
    "places": ("rows, columns = torch.where(mask)\n    return mask.nonzero(), rows + columns, x[rows, columns]", 0),
    "rows": ("chosen = x[mask.any(1)]\n    return F.relu(chosen @ w).softmax(-1), chosen.mean(), chosen.sum(1)", 5),
    "mixed": ("which = mask.any(1).nonzero().squeeze(1)\n    return torch.zeros_like(x).index_add_(0, which, F.silu(x[which] @ w) @ w.T)", 5),
    "repeats": ("counts = mask.sum(1)\n    return torch.repeat_interleave(x, counts, dim=0) - 1, torch.bincount(counts)", 0),
    "counted": ("n = mask.sum().item()\n    torch._check(n <= 20)\n    return torch.arange(n) * 2, torch.zeros(n, 3) + x.sum()", 2),
    "values": ("values, inverse = torch.unique(x.round() * mask, return_inverse=True)\n    return values * 3, values[inverse]", 0),
    "largest": ("return x[mask].amax()", 2),
}
MARKS = (0, 1, 2, 5, 20)
DECIDED_PROGRAM = HEAD + """
w = torch.randn(4, 4)
def f(x, mask):
    {body}
def call(marks):
    torch.manual_seed(marks)
    return torch.randn(5, 4), (torch.randperm(20) < marks).view(5, 4)
f(*call(9))
if len(sys.argv) > 1:
    from safetensors.torch import save_file
    for marks in map(int, sys.argv[1:]):
        x, mask = call(marks)
        save_file(dict(x=x, mask=mask), f"given-{{marks}}.safetensors")
        if marks >= {least}:
            out = f(x, mask)
            torch.save(list(out) if isinstance(out, tuple) else [out], f"wanted-{{marks}}.pt")
"""

# Programs that are no export, with what is said of them.
REFUSED = [
    ("a break", "def f(x):\n    y = x * 2\n    print('now')\n    return y + 1\nf(torch.ones(4, 2))",
     "", 1, ["is not one graph", "refused.py:8"]),
    ("a size that a line makes a number", "def f(x):\n    if x.size(0) == 4: x = x + 1\n    return x * 2\nf(torch.ones(4, 2))",
     "x:0=n", 2, ["n == 4", "refused.py:7"]),
    ("sizes that have to be equal", "def f(x, y):\n    return x + y\nf(torch.ones(4, 2), torch.ones(4, 2))",
     "x:0=n,y:0=m", 2, ["refused.py:7", "relies on"]),
    ("equal names of other sizes", "def f(x, y):\n    return x.sum() + y.sum()\nf(torch.ones(4, 2), torch.ones(5, 2))",
     "x:0=n,y:0=n", 2, ["y:0=n", "a name of its own"]),
    ("a call out of the range", "def f(x):\n    return x * 2\nf(torch.ones(4, 2))", "x:0=n[5..9]", 2, ["the size is 4", "5 to 9"]),
    ("a call with one", "def f(x):\n    return x * 2\nf(torch.ones(1, 2))", "x:0=n", 2, ["2 or more"]),
    ("no such input", "def f(x):\n    return x * 2\nf(torch.ones(4, 2))", "y:0=n", 2, ["has no tensor y", "It has x"]),
    ("a module's inputs have its forward's names",
     "class Net(torch.nn.Module):\n    def forward(self, x, *rest, mask):\n        return x + rest[0] + mask\n"
     "Net()(torch.ones(4, 2), torch.ones(4, 2), mask=torch.ones(4, 2))", "y:0=n", 2, ["It has x, args_1, mask"]),
    ("so have those of a forward that an object has", "net = torch.nn.Module()\nnet.forward = lambda left, right: left + right\n"
     "net(torch.ones(4, 2), torch.ones(4, 2))", "y:0=n", 2, ["It has left, right"]),
    ("so have those of a decorated function", "@torch.no_grad()\ndef f(x, mask):\n    return x + mask\n"
     "f(torch.ones(4, 2), mask=torch.ones(4, 2))", "y:0=n", 2, ["It has x, mask"]),
    ("no such dim", "def f(x):\n    return x * 2\nf(torch.ones(4, 2))", "x:2=n", 2, ["counted from 0"]),
    ("ranges without a size", "def f(x):\n    return x * 2\nf(torch.ones(4, 2))", "x:0=n[2..3],x:1=n[5..]", 2, ["at least 5"]),
    ("malformed", "def f(x):\n    return x * 2\nf(torch.ones(4, 2))", "x0=n", 2, ["INPUT:DIM=NAME"]),
    ("several functions", "def f(x):\n    return x * 2\ndef g(x):\n    return x + 2\nf(g(torch.ones(4, 2)))", "", 2,
     ["2 functions", "--function: f, g"]),
    ("a program that fails", "def f(x):\n    return x * 2\nf(torch.ones(4, 2))\nsys.exit(3)", "", 7, []),
]


def check_model(suite: Suite, python: str, name: str, program: str, sizes: str) -> None:
    (suite.work / f"{name}.py").write_text(HEAD + program + TAIL)
    suite.command("penstock", "export", "--function=Net.forward", f"--dynamic-sizes={sizes}", "-o", f"{name}.pstk", f"{name}.py")
    suite.command(python, f"{name}.py", "wanted")
    for n, m in SIZES[:None if name in TAKES_ONE else -1]:
        suite.command("penstock", "run", "--emit=text", f"{name}.pstk", f"--inputs=given-{n}-{m}.safetensors", "--outputs=got.safetensors",
                      VIRTUAL_ENV="/nowhere", PATH=suite.world["PATH"].split(":")[0])
        suite.command(python, "compare.py", "got.safetensors", f"wanted-{n}-{m}.pt")


def check_decided(suite: Suite, python: str) -> None:
    for name, (body, least) in DECIDED.items():
        (suite.work / "decided.py").write_text(DECIDED_PROGRAM.format(body=body, least=least))
        suite.command("penstock", "export", "--function=f", "-o", f"{name}.pstk", "decided.py")
        served = [marks for marks in MARKS if marks >= least]
        suite.command(python, "decided.py", *map(str, MARKS))
        for marks in served:
            suite.command("penstock", "run", "--emit=text", f"{name}.pstk", f"--inputs=given-{marks}.safetensors",
                          "--outputs=got.safetensors", VIRTUAL_ENV="/nowhere", PATH=suite.world["PATH"].split(":")[0])
            suite.command(python, "compare.py", "got.safetensors", f"wanted-{marks}.pt")
        if name == "largest":
            told = suite.command("penstock", "run", f"{name}.pstk", "--inputs=given-0.safetensors", status=3)
            suite.check(f"{name}: what it is not for is told", "elements decide a size of 0" in told, told)


def check_refused(suite: Suite) -> None:
    for name, program, sizes, status, wanted in REFUSED:
        (suite.work / "refused.py").write_text(HEAD + program + "\n")
        options = [f"--dynamic-sizes={sizes}"] if sizes else []
        told = suite.command("penstock", "export", *options, "-o", "refused.pstk", "refused.py", status=status)
        for words in wanted:
            suite.check(f"{name}: {words}", words in told, told)
        suite.check(f"{name}: no file", not (suite.work / "refused.pstk").exists())


def check_calls(suite: Suite, python: str) -> None:
    """What run says of inputs that the file is not for."""
    (suite.work / "asserts.py").write_text(HEAD + """
def f(x, y):
    if x.size(0) > 10: x = x * 3
    return x + y.sum()
f(torch.ones(4, 2), torch.ones(4, 3))
f(torch.ones(4, 2), torch.ones(4, 3))
f(torch.ones(4, 5), torch.ones(4, 3))
""")
    told = suite.command("penstock", "export", "--dynamic-sizes=x:0=n[2..20],y:0=n", "-o", "asserts.pstk", "asserts.py")
    suite.check("the assert is told with its line", "asserts.py:8" in told and "n <= 10" in told, told)
    suite.check("and the later call", "not served" in told, told)
    (suite.work / "make.py").write_text("import sys, torch\nfrom safetensors.torch import save_file\n"
                                        "save_file({k: eval(v) for k, v in (word.split('=') for word in sys.argv[1:])}, 'call.safetensors')\n")
    good = "x=torch.ones(5,2)", "y=torch.ones(5,3)"
    for name, tensors, status, wanted in (
            ("a good call", good, 0, ""),
            ("another dtype", ("x=torch.ones(5,2).double()", good[1]), 2, "input x is float64[5, 2]"),
            ("another rank", ("x=torch.ones(5)", good[1]), 2, "input x is float32[5]"),
            ("another fixed size", ("x=torch.ones(5,3)", good[1]), 2, "input x is float32[5, 3]"),
            ("equal sizes that differ", ("x=torch.ones(6,2)", good[1]), 2, "input y is float32[5, 3]"),
            ("another name", (*good, "z=torch.ones(1)"), 2, "a tensor z"),
            ("an input that lacks", good[:1], 1, "input y"),
            ("out of the range", ("x=torch.ones(1,2)", "y=torch.ones(1,3)"), 2, "not for n = 1"),
            ("above the range", ("x=torch.ones(21,2)", "y=torch.ones(21,3)"), 2, "not for n = 21"),
            ("what the line asks", ("x=torch.ones(11,2)", "y=torch.ones(11,3)"), 2, "asserts.py:8")):
        suite.command(python, "make.py", *tensors)
        told = suite.command("penstock", "run", "asserts.pstk", "--inputs=call.safetensors", status=status)
        suite.check(f"{name}: {wanted}", wanted in told, told)


def main() -> int:
    build, python = (pathlib.Path(word) for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="penstock-export-") as work:
        suite = Suite(build, python, pathlib.Path(work))
        (suite.work / "compare.py").write_text(COMPARE)
        for name, (program, sizes) in MODELS.items():
            check_model(suite, str(python), name, program, sizes)
        check_decided(suite, str(python))
        check_refused(suite)
        check_calls(suite, str(python))
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
