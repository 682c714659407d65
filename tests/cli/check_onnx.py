#!/usr/bin/env python3
"""Checks `penstock convert --emit=onnx`.

    check_onnx.py BUILD-ROOT PYTHON [--runtime [--cases]]

The file is read here by what protocol buffers are made of, with the numbers that onnx.proto gives its fields: names are
made once and before their use, operators and sizes are those that the program has. --runtime takes onnx and onnxruntime
from PyPI: the checker accepts every file, and the results are eager's, for all of interchange_cases.py and the nine
models (with --cases: not these) at three sizes each. The last line is `N passed, N failed`.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import interchange_cases
from suite import Suite

HERE = pathlib.Path(__file__).resolve().parent
SMALL = """
import torch
from torch import nn
from torch.nn import functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 100), nn.Linear(100, 4)
        self.register_buffer("total", torch.zeros(8))
        self.shift = torch.full((4,), 3.0)
    def forward(self, x):
        self.total += x.sum(0)
        return {"y": self.b(F.gelu(self.a(x))) * self.shift, "z": x.reshape(x.size(0) * 2, 4)}
net = Net().eval()
with torch.no_grad(): net(torch.randn(3, 8))
"""
# Of onnx.proto, by message: the name of a field that is text or a number, or what message it is.
FIELDS = {
    "Model": {1: "ir_version", 2: "producer", 7: "Graph", 8: "Opset", 14: "Entry"},
    "Opset": {2: "version"}, "Entry": {1: "key", 2: "value"},
    "Graph": {1: "Node", 2: "name", 5: "Tensor", 11: "Input", 12: "Output"},
    "Node": {1: "input", 2: "output", 3: "name", 4: "op_type", 5: "Attribute", 6: "place"},
    "Attribute": {1: "name", 2: "f", 3: "i", 4: "s", 6: "Graph", 7: "floats", 8: "ints", 20: "type"},
    "Tensor": {1: "dims", 2: "data_type", 8: "name", 9: "raw", 13: "Entry", 14: "location"},
    "Input": {1: "name", 2: "Type"}, "Output": {1: "name", 2: "Type"}, "Type": {1: "TensorType"},
    "TensorType": {1: "elem_type", 2: "Shape"}, "Shape": {1: "Dim"}, "Dim": {1: "value", 2: "param"},
}
BYTES = {("Tensor", "raw"), ("Attribute", "s")}


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def read(message: str, data: bytes) -> dict:
    """The fields of a message by name, each a list."""
    found: dict = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = FIELDS[message][key >> 3], key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if name in FIELDS:
                value = read(name, value)
            elif (message, name) not in BYTES:
                value = value.decode()
        found.setdefault(name, []).append(value)
    return found


def size(port: dict) -> list:
    shape = port["Type"][0]["TensorType"][0].get("Shape", [{}])[0]
    return [(dim.get("param") or dim.get("value"))[0] for dim in shape.get("Dim", [])]


def wrong_names(model: dict) -> str:
    """What breaks the single assignment of names; empty: nothing."""
    made: set[str] = set()
    return wrong_in(model["Graph"][0], set(), made)


def wrong_in(graph: dict, around: set[str], made: set[str]) -> str:
    """The same of a graph that sees the names `around`; those in `made` are taken."""
    known = set(around)
    for port in graph.get("Input", []) + graph.get("Tensor", []):
        known.add(port["name"][0])
    made |= known
    for node in graph.get("Node", []):
        for name in node.get("input", []):
            if name and name not in known:
                return f"{name} is used before it is made"
        for attribute in node.get("Attribute", []):
            for inner in attribute.get("Graph", []):
                if wrong := wrong_in(inner, known, made):
                    return wrong
        for name in node["output"]:
            if name in made:
                return f"{name} is made twice"
            known.add(name)
            made.add(name)
    lost = [port["name"][0] for port in graph.get("Output", []) if port["name"][0] not in known]
    return f"outputs {lost} are not made" if lost else ""


def check_small(suite: Suite) -> None:
    (suite.work / "small.py").write_text(SMALL)
    suite.command("penstock", "export", "--function=Net.forward", "--dynamic-sizes=x:0=batch[2..64]", "-o", "small.pstk", "small.py")
    suite.command("penstock", "convert", "--emit=onnx", "-o", "small.onnx", "small.pstk")
    model = read("Model", (suite.work / "small.onnx").read_bytes())
    graph = model["Graph"][0]
    suite.check("versions", (model["ir_version"], model["Opset"][0]["version"]) == ([14], [28]), model["Opset"])
    suite.check("names", not wrong_names(model), wrong_names(model))
    inputs = {port["name"][0]: size(port) for port in graph["Input"]}
    suite.check("inputs: what changes has a default", inputs == {"x": ["batch", 8], "total": [8]}, inputs)
    outputs = {port["name"][0]: size(port) for port in graph["Output"]}
    suite.check("outputs", outputs == {"y": ["batch", 4], "z": ["2*batch", 4], "self_total": [8]}, outputs)
    weights = {tensor["name"][0]: tensor for tensor in graph["Tensor"]}
    suite.check("weights are called as in state_dict()", {"a.weight", "a.bias", "b.weight", "b.bias", "total", "shift"} <= set(weights), list(weights))
    suite.check("their elements", weights["shift"]["raw"][0] == struct.pack("<4f", 3, 3, 3, 3), weights["shift"])
    kinds = [node["op_type"][0] for node in graph["Node"]]
    suite.check("operators", kinds.count("Gemm") == 2 and {"Gelu", "ReduceSum", "Shape"} <= set(kinds) and len(kinds) < 16, kinds)
    gemm = next(node for node in graph["Node"] if node["op_type"] == ["Gemm"])
    suite.check("with their line", ".py:" in gemm["place"][0], gemm)
    suite.check("ranges", {"key": ["size batch"], "value": ["2..64"]} in model["Entry"], model["Entry"])


def check_beside(suite: Suite) -> None:
    suite.command("penstock", "convert", "--emit=onnx", "--external-data", "-o", "beside.onnx", "small.pstk")
    inside = {each["name"][0]: each for each in read("Model", (suite.work / "small.onnx").read_bytes())["Graph"][0]["Tensor"]}
    data = (suite.work / "beside.onnx.data").read_bytes()
    moved = 0
    for tensor in read("Model", (suite.work / "beside.onnx").read_bytes())["Graph"][0]["Tensor"]:
        place = {entry["key"][0]: entry["value"][0] for entry in tensor.get("Entry", [])}
        wanted = inside[tensor["name"][0]].get("raw", [b""])[0]
        if not place:
            suite.check("small tensors stay", tensor.get("raw", [b""])[0] == wanted and len(wanted) < 1024, tensor["name"])
            continue
        at, length = int(place["offset"]), int(place["length"])
        moved += 1
        suite.check("large ones begin at a page", place["location"] == "beside.onnx.data" and at % 4096 == 0, place)
        suite.check("and are the same", data[at:at + length] == wanted, place)
    suite.check("what was large", moved == 2, moved)


def check_refused(suite: Suite) -> None:
    (suite.work / "refused.py").write_text(
        "import torch\ndef f(x):\n    y = x + 1\n    return torch.fft.rfft(y).abs()\ndef g(x):\n    return x.median(0)[0]\n"
        "f(torch.ones(4, 4)); g(torch.ones(4, 4))\n")
    suite.command("penstock", "capture", "-o", "refused.json", "refused.py")
    told = suite.command("penstock", "convert", "--emit=onnx", "-o", "refused.onnx", "refused.json", status=2)
    suite.check("several graphs", "--graph" in told and "0/0, 1/0" in told, told)
    for graph, op, line in (("0/0", "fft", "refused.py:4"), ("1/0", "aten.median.dim", "refused.py:6")):
        told = suite.command("penstock", "convert", "--emit=onnx", f"--graph={graph}", "-o", "refused.onnx", "refused.json", status=4)
        suite.check("an op without a form", op in told and line in told and "PS0602" in told, told)
        suite.check("no file", not (suite.work / "refused.onnx").exists())
    told = suite.command("penstock", "convert", "--emit=onnx", "--graph=7/0", "-o", "refused.onnx", "refused.json", status=2)
    suite.check("no such graph", "7/0" in told and "0/0, 1/0" in told, told)
    suite.command("bash", "-o", "pipefail", "-c", "penstock convert --emit=json refused.json | penstock decompose | penstock partition -o placed.json")
    told = suite.command("penstock", "convert", "--emit=onnx", "--graph=1/0", "-o", "refused.onnx", "placed.json", status=3)
    suite.check("another level", "level placed" in told, told)


def check_edited(suite: Suite) -> None:
    """Documents that no capture writes, and that are legal."""
    (suite.work / "edited.py").write_text(
        "import torch\ndef f(x):\n    return x.reshape(-1, 2)\ndef g(x):\n    return torch.nn.functional.gelu(x)\nx = torch.ones(6)\n"
        "torch._dynamo.mark_dynamic(x, 0)\nf(x); g(torch.ones(4, dtype=torch.float64))\n")
    suite.command("penstock", "capture", "-o", "edited.json", "edited.py")
    lines = (suite.work / "edited.json").read_text().splitlines()
    halved = list(lines)
    graph = json.loads(lines[1])
    graph["guards"] = []
    graph["symbols"][0] |= {"name": "t", "hint": 3, "minimum": 1}
    names = {"s0": "2*t", "floordiv(s0, 2)": "t"}
    halved[1] = json.dumps(graph)
    for old, new in names.items():
        halved[1] = halved[1].replace(f'"{old}"', f'"{new}"')
    (suite.work / "halved.json").write_text("\n".join(halved) + "\n")
    suite.command("penstock", "convert", "--emit=onnx", "--graph=0/0", "-o", "halved.onnx", "halved.json")
    graph = read("Model", (suite.work / "halved.onnx").read_bytes())["Graph"][0]
    suite.check("the input's size is twice the symbol", size(graph["Input"][0]) == ["2*t"], graph["Input"])
    kinds = [node["op_type"][0] for node in graph["Node"]]
    suite.check("the symbol is half of it", "Div" in kinds and "Shape" in kinds, kinds)
    (suite.work / "core.json").write_text("\n".join(line.replace('"level":"torch"', '"level":"core"') for line in lines) + "\n")
    told = suite.command("penstock", "convert", "--emit=onnx", "--graph=1/0", "-o", "core.onnx", "core.json", status=4)
    suite.check("an op that ONNX has for other arguments", "aten.gelu.default" in told and "these arguments" in told, told)


def check_sample(suite: Suite) -> None:
    for number, name in interchange_cases.write(suite, interchange_cases.CASES[::6] + interchange_cases.CONTROL, "onnx"):
        path = suite.work / f"case-{number}.onnx"
        wrong = wrong_names(read("Model", path.read_bytes())) if path.exists() else "no file"
        suite.check(f"{name}: names", not wrong, wrong)


RUN = """
import pathlib, statistics, sys, time
import onnx, onnxruntime, torch
onnxruntime.set_default_logger_severity(3)
TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-9, 1e-10)}
for stem in sys.argv[2:]:
    name = f"{sys.argv[1]}/{stem}"
    said, worst, times = "", 0.0, []
    try:
        onnx.checker.check_model(name + ".onnx", full_check=True)
        session = onnxruntime.InferenceSession(name + ".onnx", providers=["CPUExecutionProvider"])
        ports = [port.name for port in session.get_inputs()]
        for at in range(3):
            given, wanted = torch.load(f"{name}-{at}.pt")
            feeds = {port: (given[port] if len(ports) > 1 else next(iter(given.values()))).numpy() for port in ports}
            begin = time.perf_counter()
            names = list(wanted) if isinstance(wanted, dict) else None
            got = [torch.from_numpy(each) for each in session.run(names, feeds)]
            times.append((time.perf_counter() - begin) * 1e3)
            wanted = list(wanted.values()) if names else wanted
            assert len(got) == len(wanted), f"{len(got)} outputs, {len(wanted)} wanted"
            for a, b in zip(got, wanted):
                rtol, atol = TOLERANCES.get(b.dtype, (0, 0))
                # Of a model's result an element is held against the largest.
                if "case" not in stem: atol = 1e-3 * max(b.abs().max().item(), 1e-3)
                torch.testing.assert_close(a, b, rtol=rtol, atol=atol, equal_nan=True)
                if b.is_floating_point() and b.numel():
                    gap = (a.double() - b.double()).abs().nan_to_num().max().item()
                    worst = max(worst, gap)
    except Exception as error:
        said = str(error).replace(chr(10), " ")[:400]
    print(stem, "GOOD" if not said else "BAD", f"{worst:.2g}", "/".join(f"{ms:.1f}" for ms in times), said)
"""


def check_results(suite: Suite, inside: str, stems: list[str]) -> None:
    (suite.work / "run.py").write_text(RUN)
    done = subprocess.run([inside, "run.py", str(suite.work), *stems], cwd=suite.work, capture_output=True, text=True, check=False)
    answers = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    for stem in stems:
        answer = answers.get(stem, f"no answer: {done.stderr[-500:]}")
        suite.check(f"{stem} under onnxruntime", answer.startswith("GOOD"), answer)
        if "case" not in stem:
            print(stem, answer)


def check_runtime(suite: Suite, python: str, models: bool) -> None:
    inside = interchange_cases.runtime(suite, python, "onnx", "onnxruntime")
    cases = interchange_cases.CASES + interchange_cases.CONTROL
    written = interchange_cases.write(suite, cases, "onnx")
    suite.command(python, "cases.py", str(suite.work))
    check_results(suite, inside, [f"case-{number}" for number, _ in written])
    if not models:
        return
    (suite.work / "models.py").write_text(interchange_cases.MODELS)
    for name in interchange_cases.MODEL_NAMES:
        suite.command("penstock", "capture", "--only=*.forward", "-o", f"{name}.json", "models.py", str(HERE.parent / "programs"), name, str(suite.work))
        suite.command("penstock", "convert", "--emit=onnx", "--graph=0/0", "-o", f"{name}.onnx", f"{name}.json")
        check_results(suite, inside, [name])
        for left in (*suite.work.glob(f"{name}*"), *suite.store.glob("blobs/*")):
            if left.is_file():
                left.unlink()


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="penstock-onnx-") as work:
        suite = Suite(build, python, pathlib.Path(work))
        if "--runtime" in sys.argv[3:]:
            check_runtime(suite, str(python), "--cases" not in sys.argv[3:])
        else:
            check_small(suite)
            check_beside(suite)
            check_refused(suite)
            check_edited(suite)
            check_sample(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
