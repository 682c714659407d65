#!/usr/bin/env python3
"""Checks `penstock convert` with files of torch.export: read, run without Python, written, loaded again by torch.

    check_pt2.py BUILD-ROOT PYTHON
    check_pt2.py BUILD-ROOT PYTHON --long [PYTHON-OF-ANOTHER-TORCH]

Eager PyTorch is the oracle (pt2_models.py). --long: all examples of torch/_export/db and nine models
(pt2_examples.py), and what another torch writes and loads. The last line is `N passed, N failed`.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile
import zipfile

from check_export import HEAD, MODELS, TAIL
from suite import Suite

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = str(HERE / "pt2_models.py")
EXAMPLES = str(HERE / "pt2_examples.py")
NINE = str(HERE.parent / "programs/models.py")
CALLS = (4, 2, 7, 33)
# What of torch/_export/db is read, runs and comes back, of how many that torch exports.
READ, RUN = 31, 30
LOAD = """
import sys, warnings, torch
warnings.filterwarnings("ignore")
from safetensors.torch import load_file
program = torch.export.load(sys.argv[1]).module()
for n, m in ((2, 2), (3, 5), (7, 3)):
    given = load_file(f"given-{n}-{m}.safetensors")
    out = program(*(given[name] for name in sys.argv[2:]))
    wanted = torch.load(f"wanted-{n}-{m}.pt")
    for a, b in zip(torch.utils._pytree.tree_leaves(out), wanted):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
if len(sys.argv) == 3:
    try:
        program(torch.ones(3, 9))
    except Exception: pass
    else: raise SystemExit("a wrong size is taken")
"""
# The only function with tensor code is the module's __call__, which collects its arguments in *args.
CALL = """
from safetensors.torch import load_file
given = load_file("given-3-5.safetensors")
net = Net().eval()
with torch.no_grad():
    net(given["x"], given["mask"]) if "mask" in given else net(given["x"])
"""


def check_models(suite: Suite, python: str) -> list[str]:
    """Every small module, read and run; then all of them written and loaded."""
    names = suite.command(python, PROGRAM, "export", ".").split()
    (suite.work / "back").mkdir()
    for name in names:
        suite.command("penstock", "convert", "-o", f"{name}.pstk", f"{name}.pt2")
        for n in CALLS:
            suite.command("penstock", "run", "-o", "/dev/null", f"{name}.pstk", f"--inputs={name}-{n}.safetensors",
                          f"--outputs={name}-{n}.got.safetensors", VIRTUAL_ENV="/nowhere")
        suite.command("penstock", "convert", "--emit=pt2", "-o", f"back/{name}.pt2", f"{name}.pt2")
        suite.command("penstock", "convert", "-o", "there.json", f"{name}.pt2")
        suite.command("penstock", "convert", "-o", "again.json", f"back/{name}.pt2")
        suite.command("penstock", "graphdiff", "there.json", "again.json")
    suite.command(python, PROGRAM, "compare", ".", *names)
    suite.command(python, PROGRAM, "load", ".", *(f"back/{name}.pt2" for name in names))
    return names


def check_stages(suite: Suite, python: str) -> None:
    """The documents go through the stages as captured ones do."""
    stages = "set -o pipefail; penstock convert attention.pt2"
    for stage in ("decompose", "partition", "fuse", "codegen"):
        stages += f" | penstock {stage}"
    for n in CALLS:
        suite.command("bash", "-c", f"{stages} | penstock run --inputs=attention-{n}.safetensors "
                                    f"--outputs=attention-{n}.got.safetensors -o /dev/null")
    suite.command(python, PROGRAM, "compare", ".", "attention")


def check_exported(suite: Suite, python: str) -> None:
    """What `penstock export` writes is a program of torch.export with the same results."""
    (suite.work / "load.py").write_text(LOAD)
    for name, (program, sizes) in MODELS.items():
        (suite.work / f"exported-{name}.py").write_text(HEAD + program + TAIL)
        suite.command("penstock", "export", "--function=Net.forward", f"--dynamic-sizes={sizes}", "-o", f"exported-{name}.pstk",
                      f"exported-{name}.py")
        suite.command(python, f"exported-{name}.py", "wanted")
        suite.command("penstock", "convert", "--emit=pt2", "-o", f"exported-{name}.pt2", f"exported-{name}.pstk")
        suite.command(python, "load.py", f"exported-{name}.pt2", *(["x", "mask"] if name == "block" else ["x"]))
        (suite.work / f"called-{name}.py").write_text(HEAD + program + CALL)
        suite.command("penstock", "export", f"--dynamic-sizes={sizes}", "-o", f"called-{name}.pstk", f"called-{name}.py")
        suite.command("penstock", "convert", "--emit=pt2", "-o", f"called-{name}.pt2", f"called-{name}.pstk")
        suite.command(python, "load.py", f"called-{name}.pt2", *(["x", "mask"] if name == "block" else ["x"]))


def repack(source: pathlib.Path, target: pathlib.Path, change) -> None:
    """The same archive with members that `change(name, bytes)` gives back: None leaves one out."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)


def program(edit):
    """A change of the program's record."""
    def change(name, data):
        if not name.endswith("models/model.json"):
            return data
        record = json.loads(data)
        edit(record)
        return json.dumps(record)
    return change


def text(pattern: str, replacement: str):
    return lambda name, data: re.sub(pattern.encode(), replacement.encode(), data) if name.endswith(".json") else data


def first(record, key, value):
    record["graph_module"]["graph"]["nodes"][0][key] = value


def unbacked(record):
    """The last tensor gets a size that no argument has."""
    values = record["graph_module"]["graph"]["tensor_values"]
    values[next(reversed(values))]["sizes"] = [{"as_expr": {"expr_str": "Symbol('u0', integer=True)", "hint": None}}, {"as_int": 4}]


# Archives that are not read: what is changed in that of `buffers`, the status, and words of the message.
HOSTILE = [
    ("no program", lambda name, data: None if "models/" in name else data, 4, "holds 0 exported programs"),
    ("no weights", lambda name, data: None if "weights_config" in name else data, 3, "weights_config.json"),
    ("no memory", lambda name, data: None if name.endswith("weight_0") else data, 3, "weight_0"),
    ("memory too short", lambda name, data: data[:5] if name.endswith("weight_0") else data, 3, "memory has 5 bytes"),
    ("a bomb", lambda name, data: b"[" * 100_000 if "models/" in name else data, 3, "nested too deeply"),
    ("no record", lambda name, data: b"{" if "models/" in name else data, 3, "models/model.json"),
    ("big endian", lambda name, data: b"big" if name.endswith("byteorder") else data, 4, "byteorder"),
    ("another archive", lambda name, data: b"pt3" if name.endswith("archive_format") else data, 4, "archive_format"),
    ("another schema", text('"major": 8', '"major": 9'), 3, "schema 9"),
    ("pickled weights", text('"use_pickle": false', '"use_pickle": true'), 4, "pickle"),
    ("a legacy pickle", lambda name, data: data, 4, "pickle"),
    ("an unknown dtype", text('"dtype": 7', '"dtype": 99'), 4, "dtype 99"),
    ("another layout", text('"layout": 7', '"layout": 2'), 4, "layout 2"),
    ("a custom op", program(lambda record: first(record, "target", "torch.ops.mine.op.default")), 4, "torch.ops.mine.op.default"),
    ("a subgraph", program(lambda record: first(record, "target", "torch.ops.higher_order.flex_attention")), 4, "higher_order.flex_attention"),
    ("a Python function", program(lambda record: first(record, "target", "os.system")), 4, "os.system"),
    ("an unknown argument", program(lambda record: record["graph_module"]["graph"]["nodes"][0]["inputs"][0].update(
        arg={"as_custom_obj": {"name": "thing", "class_fqn": "mine.Thing"}})), 4, "script object thing of class mine.Thing"),
    ("a script object", program(lambda record: record["graph_module"]["signature"]["input_specs"].__setitem__(
        0, {"custom_obj": {"arg": {"name": "o", "class_fqn": "c"}, "custom_obj_name": "engine"}})), 4, "script object engine"),
    ("a value that is not made", program(lambda record: record["graph_module"]["graph"]["nodes"][0]["inputs"][0].update(
        arg={"as_tensor": {"name": "nothing"}})), 3, "nothing is used before"),
    ("a missing spec", program(lambda record: record["graph_module"]["signature"]["input_specs"].pop()), 3, "one for each input"),
    ("a size that runs code", text(r"Symbol\('s77'[^)]*\)", "__import__('os')"), 3, "no size as sympy writes it"),
    ("a size of another kind", text(r"Symbol\('s77'[^)]*\)", "IntTrueDiv(Integer(4), Integer(2))"), 4, "IntTrueDiv"),
    ("a huge power", text(r"Symbol\('s77'[^)]*\)", "Pow(Integer(9), Integer(999999))"), 4, "power"),
    ("a size of the data", program(unbacked), 4, "u0, which no argument gives"),
    ("a condition of another kind", program(lambda record: record.update(guards_code=["L['x'].dtype == 3"])), 4, "L['x'].dtype"),
    ("an impossible tree", text(r'builtins\.tuple', "os.system"), 4, "os.system"),
]


def check_hostile(suite: Suite) -> None:
    source = suite.work / "buffers.pt2"
    for name, change, status, words in HOSTILE:
        damaged = suite.work / "hostile.pt2"
        repack(source, damaged, change)
        if name == "a legacy pickle":
            with zipfile.ZipFile(damaged, "a") as archive:
                archive.writestr("buffers/data/weights/model.pt", b"\x80\x02.")
        told = suite.command("penstock", "convert", "-o", "hostile.json", "hostile.pt2", status=status)
        suite.check(f"{name}: {words}", words in told, told)
        suite.check(f"{name}: no file", not (suite.work / "hostile.json").exists())
    (suite.work / "hostile.pt2").write_bytes(source.read_bytes()[:900])
    suite.command("penstock", "convert", "hostile.pt2", status=3)
    # A file that is larger than its memory: a stride of 0.
    repack(source, suite.work / "hostile.pt2", text(r'"sizes": \[\{"as_int": 4\}\], "requires_grad": false, "device": '
                                                    r'\{"type": "cpu", "index": null\}, "strides": \[\{"as_int": 1\}\]',
                                                    '"sizes": [{"as_int": 4000000000000}], "requires_grad": false, "device": '
                                                    '{"type": "cpu", "index": null}, "strides": [{"as_int": 0}]'))
    told = suite.command("penstock", "convert", "hostile.pt2", status=3)
    suite.check("too many elements", "too many elements" in told, told)


def check_uses(suite: Suite) -> None:
    told = suite.command("penstock", "convert", "--emit=pt2", "linear.pt2", status=2)
    suite.check("a name is needed", "-o FILE" in told, told)
    (suite.work / "two.py").write_text("import torch\ndef f(x):\n    y = x * 2\n    print(1)\n    return y + 1\nf(torch.ones(3))\n")
    suite.command("penstock", "capture", "-o", "two.json", "two.py")
    told = suite.command("penstock", "convert", "--emit=pt2", "-o", "two.pt2", "two.json", status=1)
    suite.check("one graph", "2 graphs" in told, told)
    suite.command("bash", "-c", "penstock convert linear.pt2 | penstock decompose >core.json")
    told = suite.command("penstock", "convert", "--emit=pt2", "-o", "core.pt2", "core.json", status=3)
    suite.check("the level is told", "level" in told, told)


def check_long(suite: Suite, python: str, other: str | None) -> None:
    """Torch's own examples, real models, and another version of torch."""
    build = suite.world["PATH"].split(":")[0]
    for kind, rest in (("examples", []), ("models", [NINE])):
        told = suite.command(python, EXAMPLES, kind, f"{build}/penstock", ".", *rest)
        print(told)
        counts = json.loads(told.splitlines()[-1] if told.startswith("{") else re.findall(r"^\{.*\}$", told, re.MULTILINE)[-1])
        wanted = {"examples": (READ, RUN, READ, READ), "models": (9, 9, 9, 9)}[kind]
        got = tuple(counts[key] for key in ("read", "run", "written", "same"))
        suite.check(f"{kind}: {wanted} are read, run, written and the same", all(a >= b for a, b in zip(got, wanted)), got)
    if other:
        for file in suite.work.glob("*.pt2"):
            file.unlink()
        shutil.rmtree(suite.work / "back", ignore_errors=True)
        check_models(suite, other)


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="penstock-pt2-") as folder:
        suite = Suite(build, python, pathlib.Path(folder))
        if "--long" in sys.argv:
            check_long(suite, str(python), sys.argv[4] if len(sys.argv) > 4 else None)
        else:
            check_models(suite, str(python))
            check_stages(suite, str(python))
            check_exported(suite, str(python))
            check_hostile(suite)
            check_uses(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
