#!/usr/bin/env python3
"""Checks `penstock convert --emit=mlir`.

    check_mlir.py BUILD-ROOT PYTHON [--runtime [--cases]]

The text is read here: values are made once and before their use, with one type, every tensor whose sizes may be any is
bound to symbols, and ops have the operands of torch's schemas. --runtime takes IREE from PyPI: it compiles each module,
and the results are eager's, for all of interchange_cases.py but the ones that IREE says it has no form for, and for the
nine models (with --cases: not these) at three sizes each. The last line is `N passed, N failed`.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import interchange_cases
from suite import Suite

HERE = pathlib.Path(__file__).resolve().parent
ROOM = HERE.parent.parent / "interchange/mlir"
SMALL = """
import torch
from torch import nn
from torch.nn import functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 100), nn.Linear(100, 4)
        self.register_buffer("total", torch.zeros(8))
        self.shift, self.mask = torch.full((4,), 3.0), torch.tensor([[True, False, True, True]])
        self.none = torch.zeros(0, 4)
    def forward(self, x):
        self.total += x.sum(0)
        y = torch.cat([self.b(F.relu(self.a(x))) * self.shift, self.none])
        return {"y": torch.where(self.mask, y, 0.5), "z": x.reshape(x.size(0) * 2, 4), "w": x[: min(x.size(0), 5)], "v": x[1:]}
net = Net().eval()
with torch.no_grad(): net(torch.randn(3, 8))
"""
# What IREE 3.13 compiles no code for, and in what words it says so.
NOT_IN_IREE = {
    "double": "undefined symbol: cos",
    "small integers": "dstOriginalDtype has to be passed",
}
VALUE = re.compile(r"%[\w.$-]+")


def wrong_values(text: str) -> str:
    """What breaks the single assignment of values, or their types; empty: nothing."""
    types: dict[str, str] = {}
    bound: set[str] = set()
    for line in text.splitlines():
        line = re.sub(r" loc\(.*\)$", "", line.strip())
        if line.startswith("func.func"):
            for name, kind in re.findall(r"(%[\w.]+): ([^()]+?)(?=, %|\) ->)", line):
                types[name] = kind
            continue
        if not VALUE.search(line):
            continue
        made, _, rest = line.rpartition(" = ") if re.match(r"%[^=]*= ", line) else ("", "", line)
        if made:
            made, _, rest = line.partition(" = ")
        given = VALUE.findall(re.sub(r'"[^"]*"', "", rest))
        for name in given:
            if name not in types:
                return f"{name} is used before it is made: {line}"
        if rest.startswith("torch.bind_symbolic_shape"):
            bound.add(given[0])
        form = re.fullmatch(r"torch\.(?:aten|prim)\.\S+ ?(.*?) : (.*) -> (.*)", rest)
        if form:
            if ("ListConstruct" in rest) != form[2].startswith("("):
                return f"the types of operands stand otherwise: {line}"
            told = split_types(form[2].strip("()")) if "ListConstruct" in rest else split_types(form[2])
            if [types[name] for name in given] != told:
                return f"operands have other types: {line}"
            results = split_types(form[3])
        else:
            results = [re.split(" : | -> ", rest)[-1] if " : " in rest and "constant" not in rest else "!torch." + rest.split()[0].split(".")[-1]]
        for name, kind in zip(VALUE.findall(made), results):
            if name in types:
                return f"{name} is made twice"
            types[name] = kind
    unbound = [name for name, kind in types.items() if "?" in kind and name not in bound]
    return f"sizes of {unbound} are not bound" if unbound else ""


def split_types(text: str) -> list[str]:
    return re.findall(r"[^,\s][^,<]*(?:<(?:[^<>]|<[^<>]*>)*>)?", text)


def ops_of(text: str) -> list[str]:
    return re.findall(r"torch\.((?:aten|prim)\.\S+)", text)


def check_small(suite: Suite) -> None:
    (suite.work / "small.py").write_text(SMALL)
    suite.command("penstock", "export", "--function=Net.forward", "--dynamic-sizes=x:0=batch[2..64]", "-o", "small.pstk", "small.py")
    suite.command("penstock", "convert", "--emit=mlir", "-o", "small.mlir", "small.pstk")
    text = (suite.work / "small.mlir").read_text()
    suite.check("values", not wrong_values(text), wrong_values(text))
    head = text.split("module {")[0].splitlines()
    suite.check("what arguments and results are called", head[:2] + head[2:7] ==
                ["// argument 0: x", "// argument 1: total", *(f"// result {at}: {name}" for at, name in enumerate(("y", "z", "w", "v", "self_total")))], head)
    suite.check("the symbol with its range", '%batch = torch.symbolic_int "batch" {min_val = 2, max_val = 64} : !torch.int' in text, text[:2000])
    suite.check("an argument's sizes", "bind_symbolic_shape %x, [%batch], affine_map<()[s0] -> (s0, 8)> : !torch.vtensor<[?,8],f32>" in text, text[:2000])
    suite.check("a product of sizes", "affine_map<()[s0] -> (s0 * 2, 4)>" in text, text[:4000])
    suite.check("a difference of sizes", "affine_map<()[s0] -> ((s0 + -1), 8)>" in text, text[:6000])
    suite.check("a minimum is a symbol of its own", 'torch.symbolic_int "min(batch, 5)"' in text or 'torch.symbolic_int "min(5, batch)"' in text, text[:4000])
    ops = ops_of(text)
    suite.check("ops as they are", ops.count("aten.linear") == 2 and "aten.relu" in ops and "aten.cat" in ops, ops)
    suite.check("with their line", re.search(r'aten\.mul\.Tensor .* loc\("[^"]*small\.py":14:0\)$', text, re.MULTILINE), text[:4000])
    suite.check("bools", "dense<[[true, false, true, true]]> : tensor<1x4xi1>" in text, text[:4000])
    suite.check("nothing at all", "dense<> : tensor<0x4xf32>" in text, text[:4000])
    kept = dict(re.findall(r'^      "([^"]+)": "0x40000000([0-9A-F]*)"', text, re.MULTILINE))
    suite.check("weights are called as in state_dict()", set(kept) == {"a.weight", "a.bias", "b.weight", "b.bias", "shift"}, list(kept))
    suite.check("their elements", kept.get("shift") == struct.pack("<4f", 3, 3, 3, 3).hex().upper(), kept.get("shift"))
    suite.command("penstock", "convert", "--emit=mlir", "--external-data", "-o", "beside.mlir", "small.pstk")
    beside = (suite.work / "beside.mlir").read_text()
    suite.check("values of parameters", not wrong_values(beside), wrong_values(beside))
    suite.check("parameters", '@"a.weight" = #flow.parameter.named<"model"::"a.weight"> : tensor<100x8xf32>' in beside and "resources" not in beside, beside[:2000])
    data = (suite.work / "beside.mlir.safetensors").read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    table = json.loads(data[8:8 + length])
    for name, digits in kept.items():
        begin, end = table[name]["data_offsets"]
        suite.check(f"{name} beside", data[8 + length + begin:8 + length + end].hex().upper() == digits)
    told = suite.command("penstock", "convert", "--emit=mlir", "--external-data", "small.pstk", status=2)
    suite.check("parameters need a name", "-o FILE" in told, told)


def check_refused(suite: Suite) -> None:
    (suite.work / "refused.py").write_text(
        "import torch\ndef f(x):\n    y = x + 1\n    return torch.fft.rfft(y).abs()\ndef g(x):\n    return x.median(0)[0]\n"
        "f(torch.ones(4, 4)); g(torch.ones(4, 4))\n")
    suite.command("penstock", "capture", "-o", "refused.json", "refused.py")
    told = suite.command("penstock", "convert", "--emit=mlir", "-o", "refused.mlir", "refused.json", status=2)
    suite.check("several graphs", "--graph" in told and "0/0, 1/0" in told, told)
    for graph, op, line in (("0/0", "fft", "refused.py:4"), ("1/0", "aten.median.dim", "refused.py:6")):
        told = suite.command("penstock", "convert", "--emit=mlir", f"--graph={graph}", "-o", "refused.mlir", "refused.json", status=4)
        suite.check("an op without a form", op in told and line in told and "PS0602" in told, told)
        suite.check("no file", not (suite.work / "refused.mlir").exists())
    suite.command("bash", "-o", "pipefail", "-c", "penstock convert --emit=json refused.json | penstock decompose | penstock partition -o placed.json")
    told = suite.command("penstock", "convert", "--emit=mlir", "--graph=1/0", "-o", "refused.mlir", "placed.json", status=3)
    suite.check("another level", "level placed" in told, told)


def check_edited(suite: Suite) -> None:
    """A document that no capture writes, and that is legal: an input's size is twice a symbol."""
    (suite.work / "edited.py").write_text(
        "import torch\ndef f(x):\n    return x.reshape(-1, 2)\nx = torch.ones(6)\ntorch._dynamo.mark_dynamic(x, 0)\nf(x)\n")
    suite.command("penstock", "capture", "-o", "edited.json", "edited.py")
    lines = (suite.work / "edited.json").read_text().splitlines()
    graph = json.loads(lines[1])
    graph["guards"] = []
    graph["symbols"][0] |= {"name": "t", "hint": 3, "minimum": 1}
    lines[1] = json.dumps(graph).replace('"s0"', '"2*t"').replace('"floordiv(s0, 2)"', '"t"')
    (suite.work / "halved.json").write_text("\n".join(lines) + "\n")
    suite.command("penstock", "convert", "--emit=mlir", "--graph=0/0", "-o", "halved.mlir", "halved.json")
    text = (suite.work / "halved.mlir").read_text()
    suite.check("values", not wrong_values(text), wrong_values(text))
    suite.check("the symbol is half of it", "affine_map<()[s0] -> (s0 * 2)>" in text and "aten.floordiv.int" in text, text)


def check_joined(suite: Suite) -> None:
    """Of several sizes that may be any it is said which ones become one."""
    (suite.work / "joined.py").write_text(
        "import torch\ndef f(x):\n    return x.transpose(1, 2).reshape(-1, 8)\nx = torch.ones(3, 2, 5, 4)\n"
        "torch._dynamo.mark_dynamic(x, 0)\ntorch._dynamo.mark_dynamic(x, 2)\nf(x)\n")
    suite.command("penstock", "capture", "-o", "joined.json", "joined.py")
    suite.command("penstock", "convert", "--emit=mlir", "-o", "joined.mlir", "joined.json")
    text = (suite.work / "joined.mlir").read_text()
    suite.check("values", not wrong_values(text), wrong_values(text))
    ops = ops_of(text)
    suite.check("dims are joined", ops.count("aten.flatten.using_ints") == 2 and "aten.view" not in ops and "s0 * s1, 8)" in text, text)


def check_core(suite: Suite) -> None:
    """Primitive ops as ATen's: what decompose made of a graph."""
    (suite.work / "core.py").write_text(
        "import torch\ndef f(x):\n    y = x.clone()\n    y[1:, ::2] = 2\n    return y.softmax(1), y.var(0), x.log10().isfinite(), torch.arange(0, 3, 0.5), x.unfold(1, 3, 2), x.flip(0)\n"
        "f(torch.ones(3, 8))\n")
    suite.command("bash", "-o", "pipefail", "-c", "penstock capture core.py | penstock decompose -o core.json")
    suite.command("penstock", "convert", "--emit=mlir", "-o", "core.mlir", "core.json")
    text = (suite.work / "core.mlir").read_text()
    suite.check("values", not wrong_values(text), wrong_values(text))
    ops = set(ops_of(text))
    suite.check("prims as ATen ops", {"aten.slice_scatter", "aten.amax", "aten.exp", "aten.mean.dim", "aten.index_select", "aten.flip"} <= ops and not any("softmax" in op for op in ops), ops)


def check_schemas(suite: Suite, python: str) -> None:
    """The tables say what torch says."""
    names = {}
    for path in sorted((ROOM.parent.parent / "libcore/ops/aten").glob("*.def")):
        names |= dict(re.findall(r'^PS_OP\((\w+),\s*"aten\.([\w.]+)"', path.read_text(), re.MULTILINE))
    rows = {}
    for path in sorted((ROOM / "schemas").glob("*.def")):
        rows |= {names[op]: schema for op, schema in re.findall(r'^PS_MLIR_ATEN\((\w+), "(.*)"\)$', path.read_text(), re.MULTILINE)}
    (suite.work / "schemas.py").write_text(
        "import re, sys, torch\nfor name in sys.argv[1:]:\n    packet, overload = name.split('.')\n"
        "    text = str(getattr(getattr(torch.ops.aten, packet), overload)._schema)\n"
        "    print(re.sub(r'\\([a-z]!?\\)', '', '(' + text.split('(', 1)[1]).replace('\"', \"'\"))\n")
    said = subprocess.run([python, "schemas.py", *rows], cwd=suite.work, capture_output=True, text=True, check=True).stdout.splitlines()
    suite.check("there are schemas", len(said) > 180, len(said))
    for (name, schema), told in zip(rows.items(), said, strict=True):
        suite.check(f"the schema of {name}", schema == told, told)


def check_sample(suite: Suite) -> None:
    for number, name in interchange_cases.write(suite, interchange_cases.CASES[::6], "mlir"):
        path = suite.work / f"case-{number}.mlir"
        wrong = wrong_values(path.read_text()) if path.exists() else "no file"
        suite.check(f"{name}: values", not wrong, wrong)


RUN = """
import pathlib, re, sys, time
import iree.compiler, iree.runtime, numpy, torch
OPTIONS = ["--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false"]
TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-9, 1e-10)}
for stem in sys.argv[2:]:
    name = f"{sys.argv[1]}/{stem}"
    said, worst, times, took = "", 0.0, [], 0.0
    try:
        begin = time.perf_counter()
        code = iree.compiler.compile_file(name + ".mlir", input_type="torch", target_backends=["llvm-cpu"], extra_args=OPTIONS)
        took = time.perf_counter() - begin
        config = iree.runtime.Config("local-task")
        modules = []
        if pathlib.Path(name + ".mlir.safetensors").exists():
            index = iree.runtime.ParameterIndex()
            index.load(name + ".mlir.safetensors")
            modules.append(iree.runtime.create_io_parameters_module(config.vm_instance, index.create_provider(scope="model")))
        modules.append(iree.runtime.VmModule.copy_buffer(config.vm_instance, code))
        module = iree.runtime.load_vm_modules(*modules, config=config)[-1]
        head = pathlib.Path(name + ".mlir").read_text().split("module {")[0]
        ports = re.findall(r"^// argument \\d+: (.*)$", head, re.MULTILINE)
        names = re.findall(r"^// result \\d+: (.*)$", head, re.MULTILINE)
        for at in range(3):
            given, wanted = torch.load(f"{name}-{at}.pt")
            feeds = [(given[port] if len(ports) > 1 else next(iter(given.values()))).numpy() for port in ports]
            begin = time.perf_counter()
            got = module.main(*feeds)
            got = [numpy.array(each.to_host() if hasattr(each, "to_host") else each) for each in (got if isinstance(got, (tuple, list)) else [got])]
            times.append((time.perf_counter() - begin) * 1e3)
            if isinstance(wanted, dict):
                got = [dict(zip(names, got))[each] for each in wanted]
                wanted = list(wanted.values())
            assert len(got) == len(wanted), f"{len(got)} outputs, {len(wanted)} wanted"
            for a, b in zip(got, wanted):
                a = torch.from_numpy(a)
                # IREE's runtime has no bool, and gives bytes as signed ones.
                if b.dtype in (torch.bool, torch.uint8) and a.dtype == torch.int8: a = a.view(torch.uint8).to(b.dtype)
                rtol, atol = TOLERANCES.get(b.dtype, (0, 0))
                # Of a model's result an element is held against the largest.
                if "case" not in stem: atol = 1e-3 * max(b.abs().max().item(), 1e-3)
                torch.testing.assert_close(a, b, rtol=rtol, atol=atol, equal_nan=True)
                if b.is_floating_point() and b.numel():
                    worst = max(worst, (a.double() - b.double()).abs().nan_to_num().max().item())
    except Exception as error:
        said = str(error)
        said = said[max(said.find("error:"), 0):].replace(chr(10), " ")[:400]
    print(stem, "GOOD" if not said else "BAD", f"{worst:.2g}", f"{took:.0f}s", "/".join(f"{ms:.1f}" for ms in times), said, flush=True)
"""


def check_results(suite: Suite, inside: str, stems: list[str], refused: dict[str, str]) -> None:
    (suite.work / "run.py").write_text(RUN)
    done = subprocess.run([inside, "run.py", str(suite.work), *stems], cwd=suite.work, capture_output=True, text=True, check=False)
    answers = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    for stem in stems:
        answer = answers.get(stem, f"no answer: {done.stderr[-500:]}")
        if stem in refused:
            suite.check(f"{stem} is none of IREE's", refused[stem] in answer, answer)
        else:
            suite.check(f"{stem} under IREE", answer.startswith("GOOD"), answer)
        if "case" not in stem:
            print(stem, answer)
    told = [float(answer.split()[1]) for answer in answers.values() if answer.startswith("GOOD")]
    print(f"{len(told)} of {len(stems)} compiled, and within {max(told, default=0):.2g}")


def check_runtime(suite: Suite, python: str, models: bool) -> None:
    inside = interchange_cases.runtime(suite, python, "iree-base-compiler", "iree-base-runtime")
    written = interchange_cases.write(suite, interchange_cases.CASES, "mlir")
    suite.command(python, "cases.py", str(suite.work))
    refused = {f"case-{number}": NOT_IN_IREE[name] for number, name in written if name in NOT_IN_IREE}
    check_results(suite, inside, [f"case-{number}" for number, _ in written], refused)
    if not models:
        return
    (suite.work / "models.py").write_text(interchange_cases.MODELS)
    for name in interchange_cases.MODEL_NAMES:
        suite.command("penstock", "capture", "--only=*.forward", "-o", f"{name}.json", "models.py", str(HERE.parent / "programs"), name, str(suite.work))
        suite.command("penstock", "convert", "--emit=mlir", "--external-data", "--graph=0/0", "-o", f"{name}.mlir", f"{name}.json")
        check_results(suite, inside, [name], {})
        for left in (*suite.work.glob(f"{name}*"), *suite.store.glob("blobs/*")):
            if left.is_file():
                left.unlink()


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="penstock-mlir-") as work:
        suite = Suite(build, python, pathlib.Path(work))
        if "--runtime" in sys.argv[3:]:
            check_runtime(suite, str(python), "--cases" not in sys.argv[3:])
        else:
            check_small(suite)
            check_refused(suite)
            check_edited(suite)
            check_joined(suite)
            check_core(suite)
            check_schemas(suite, str(python))
            check_sample(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
