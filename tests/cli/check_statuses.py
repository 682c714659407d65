#!/usr/bin/env python3
"""Provokes every exit status that a tool's manual lists.

    check_statuses.py BUILD-ROOT SAMPLES PYTHON      PYTHON has torch

CASES has a row for each tool and each status in its table (tools/common/statuses.def, --describe=json); a row
that lacks, and one for a status that the table does not list, is a failure. The last line is `N passed, N failed`.
"""

import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from suite import TIMEOUT_SECONDS, Suite

PROGRAMS = {
    "ok.py": "print('ok')\n",
    "fails.py": "import sys\nsys.exit(3)\n",
    "once.py": "import torch\ndef f(x):\n    return x + 1\nf(torch.ones(3))\n",
    "breaks.py": "import torch\ndef f(x):\n    return x + 1 if (x * 2).sum() > 0 else x\nf(torch.ones(3))\n",
    "spectrum.py": "import torch\ndef f(x):\n    return torch.fft.fft(x).abs() + 1\nf(torch.ones(4))\n",
    "rows.py": "import torch\ndef f(x):\n    return x + 1\nf(torch.ones(3))\n",
    # Serves rows.pstk, and ends it by so many signals while a request waits.
    "serves.py": """
import http.client, json, signal, subprocess, sys, time
server = subprocess.Popen(["penstock", "serve", "--port=0", "--batch-delay=2000000", "rows.pstk"], stderr=subprocess.PIPE, text=True)
port = int(server.stderr.readline().rsplit(":", 1)[1])
connection = http.client.HTTPConnection("127.0.0.1", port)
connection.request("POST", "/v2/models/rows/infer", json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}]}))
other = http.client.HTTPConnection("127.0.0.1", port)
waiting = False
while not waiting:
    other.request("GET", "/metrics")
    waiting = 'waiting_requests{model="rows"} 1' in other.getresponse().read().decode()
for _ in range(int(sys.argv[1])):
    server.send_signal(signal.SIGTERM)
    time.sleep(0.3)
sys.exit(server.wait())
""",
    "repeats.py": "import torch\ndef f(x):\n    return x + 1\nfor _ in range(3):\n    f(torch.ones(3))\n",
}
STAGES = "penstock decompose | penstock partition | penstock fuse | penstock codegen"

# (tool, status, command): what must end with the status. Files are made in prepare().
CASES = [
    ("", 0, "penstock explain PS0103"),
    ("", 1, "penstock graphdiff core.json other.json"),
    ("", 2, "penstock capure"),
    ("", 3, "penstock verify </dev/null"),
    ("", 4, "penstock codegen --cpu=pentium4 loops.json"),
    ("", 5, "penstock run --strict --store=broken repeats.py"),
    ("", 6, "penstock explain all >/dev/full"),
    ("", 7, "penstock capture fails.py"),
    ("capture", 0, "penstock capture ok.py"),
    ("capture", 1, "penstock capture --fullgraph breaks.py"),
    ("capture", 2, "penstock capture"),
    ("capture", 6, "penstock capture --python=/nowhere ok.py"),
    ("capture", 7, "penstock capture fails.py"),
    ("decompose", 0, "penstock decompose torch.json"),
    ("decompose", 2, "penstock decompose --nonsense"),
    ("decompose", 3, "penstock decompose core.json"),
    ("decompose", 4, "penstock decompose unsupported.json"),
    ("decompose", 6, "penstock decompose nowhere.json"),
    ("partition", 0, "penstock partition core.json"),
    ("partition", 2, "penstock partition --nonsense"),
    ("partition", 3, "penstock partition torch.json"),
    ("partition", 6, "penstock partition core.json >/dev/full"),
    ("fuse", 0, "penstock fuse placed.json"),
    ("fuse", 2, "penstock fuse placed.json placed.json"),
    ("fuse", 3, "head -c 300 placed.json | penstock fuse"),
    ("fuse", 6, "penstock fuse -o nowhere/out.json placed.json"),
    ("codegen", 0, "penstock codegen loops.json"),
    ("codegen", 2, "penstock codegen --threads=many loops.json"),
    ("codegen", 3, "penstock codegen torch.json"),
    ("codegen", 4, "penstock codegen --cpu=pentium4 loops.json"),
    ("codegen", 6, "penstock codegen --store=/dev/null/store loops.json"),
    ("export", 0, "penstock export -o ok.pstk once.py"),
    ("export", 1, "penstock export -o no.pstk breaks.py"),
    ("export", 2, "penstock export --dynamic-sizes=x -o no.pstk ok.py"),
    ("export", 4, "penstock export -o no.pstk spectrum.py"),
    ("export", 6, "penstock export --python=/nowhere -o no.pstk ok.py"),
    ("export", 7, "penstock export -o no.pstk fails.py"),
    ("serve", 0, "$VIRTUAL_ENV/bin/python serves.py 1"),
    ("serve", 1, "$VIRTUAL_ENV/bin/python serves.py 2"),
    ("serve", 2, "penstock serve"),
    ("serve", 3, "penstock serve core.json"),
    ("serve", 4, "penstock serve spectrum.json"),
    ("serve", 6, "penstock serve nowhere.pstk"),
    ("run", 0, "penstock run --inputs=inputs.safetensors made.json"),
    ("run", 1, "penstock run made.json"),
    ("run", 2, "penstock run --inputs=small.safetensors made.json"),
    ("run", 3, "penstock run core.json"),
    ("run", 4, "penstock run spectrum.json"),
    ("run", 5, "penstock run --strict --store=broken repeats.py"),
    ("run", 6, "penstock run nowhere.json"),
    ("report", 0, "penstock report torch.json"),
    ("report", 2, "penstock report --nonsense"),
    ("report", 3, "head -n 2 torch.json | penstock report"),
    ("report", 6, "penstock report torch.json >/dev/full"),
    ("graphdiff", 0, "penstock graphdiff core.json core.json"),
    ("graphdiff", 1, "penstock graphdiff core.json other.json"),
    ("graphdiff", 2, "penstock graphdiff core.json"),
    ("graphdiff", 3, "penstock graphdiff core.json ok.py"),
    ("graphdiff", 6, "penstock graphdiff core.json nowhere.json"),
    ("verify", 0, "penstock verify torch.json"),
    ("verify", 2, "penstock verify -o out.json"),
    ("verify", 3, "penstock verify ok.py"),
    ("verify", 6, "penstock verify tensors.json"),
    ("convert", 0, "penstock convert --emit=cbor core.json"),
    ("convert", 2, "penstock convert --emit=pdf core.json"),
    ("convert", 3, "penstock convert inputs.safetensors"),
    ("convert", 4, "penstock convert --target-version=99.0 core.json"),
    ("convert", 6, "penstock convert ."),
    ("reduce", 0, "penstock reduce core.json false"),
    ("reduce", 1, "penstock reduce core.json true"),
    ("reduce", 2, "penstock reduce core.json"),
    ("reduce", 3, "penstock reduce inputs.safetensors false"),
    ("reduce", 6, "penstock reduce core.json no-such-command"),
    ("replay", 0, "penstock replay mended.zip"),
    ("replay", 1, "penstock replay fails.zip"),
    ("replay", 2, "penstock replay"),
    ("replay", 3, "penstock replay core.json"),
    ("replay", 6, "penstock replay --store=elsewhere fails.zip"),
    ("pack", 0, "penstock pack -o packed.zip core.json"),
    ("pack", 2, "penstock pack core.json"),
    ("pack", 3, "penstock pack -o packed.zip ok.py"),
    ("pack", 6, "penstock pack -o packed.zip tensors.json"),
    ("doctor", 0, "penstock doctor"),
    ("doctor", 1, "penstock doctor --python=/nowhere"),
    ("doctor", 2, "penstock doctor --nonsense"),
    ("doctor", 6, "penstock doctor >/dev/full"),
    ("trust", 0, "penstock trust made.json"),
    ("trust", 2, "penstock trust --nonsense"),
    ("trust", 3, "penstock trust ok.py"),
    ("trust", 6, "penstock trust nowhere.json"),
    ("cache", 0, "penstock cache ls"),
    ("cache", 2, "penstock cache empty"),
    ("cache", 3, "penstock cache verify --store=damaged"),
    ("cache", 6, "penstock cache ls --store=ok.py"),
]


def unsupported_graph(stream: str) -> str:
    """The sample with one op more, which adds to all elements of a tensor by way of one of them."""
    documents = [json.loads(line) for line in stream.splitlines()]
    graph = next(document for document in documents if document["penstock"] == "graph")
    kind = {"dtype": "float32", "sizes": [4, 10], "strides": [0, 1]}
    source = graph["inputs"][0]["name"]
    graph["nodes"] += [
        {"op": "aten.expand.default", "args": [{"name": "self", "value": source}, {"name": "size", "list": [{"const": 4}, {"const": 10}]}],
         "results": [{"name": "wide", "type": kind}]},
        {"op": "aten.add_.Tensor", "args": [{"name": "self", "value": "wide"}, {"name": "other", "const": 1}],
         "results": [{"name": "added", "type": kind}]}]
    return "".join(json.dumps(document) + "\n" for document in documents)


def safetensors(names: str, count: int) -> bytes:
    size = 4 * count
    header = {name: {"dtype": "F32", "shape": [count], "data_offsets": [size * i, size * (i + 1)]}
              for i, name in enumerate(names)}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(size * len(names))


def prepare(suite: Suite, samples: pathlib.Path) -> None:
    for name, text in PROGRAMS.items():
        (suite.work / name).write_text(text)
    for file in samples.glob("*.json"):
        suite.command("penstock", "convert", "--no-tensors", "--emit=json", "-o", file.name, str(file))
    suite.command("penstock", "convert", "--emit=json", "-o", "tensors.json", str(samples / "torch.json"))
    core = (suite.work / "core.json").read_text()
    (suite.work / "other.json").write_text(core.replace("prim.abs", "prim.neg"))
    (suite.work / "unsupported.json").write_text(unsupported_graph((suite.work / "torch.json").read_text()))
    suite.command("penstock", "reduce", "--repro=fails.zip", "core.json", "false")
    (suite.work / "flag").touch()
    suite.command("penstock", "reduce", "--repro=mended.zip", "core.json", "test", "!", "-e", "flag")
    (suite.work / "flag").unlink()
    (suite.work / "inputs.safetensors").write_bytes(safetensors("ab", 10))
    (suite.work / "small.safetensors").write_bytes(safetensors("ab", 3))
    suite.command("penstock", "codegen", "-o", "made.json", "loops.json")
    suite.command("bash", "-c", f"penstock capture spectrum.py | {STAGES} > spectrum.json")
    suite.command("penstock", "export", "--dynamic-sizes=x:0=n", "-o", "rows.pstk", "rows.py")
    (suite.work / "broken").mkdir()
    for name in ("blobs", "kernels"):
        (suite.work / "broken" / name).write_text("no folder")
    shutil.copytree(suite.store, suite.work / "damaged")
    blob = next(file for file in (suite.work / "damaged" / "blobs").rglob("*") if file.is_file())
    blob.write_bytes(blob.read_bytes()[:-1])


def check(suite: Suite, tool: str, status: int, command: str) -> None:
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=suite.work, env=suite.world,
                          capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          timeout=TIMEOUT_SECONDS)
    told = done.stderr if status in (0, 1, 7) else done.stderr or "nothing was said"
    good = done.returncode == status and (status in (0, 1, 7) or "error[PS" in done.stderr)
    suite.check(f"{tool or 'penstock'} {status}: {command}", good, f"status {done.returncode}: {told}")


def main() -> int:
    build, samples, python = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="penstock-statuses-") as work:
        suite = Suite(build, python, pathlib.Path(work))
        prepare(suite, samples)
        for tool, status, command in CASES:
            check(suite, tool, status, command)
        for program in sorted((build / "tools").glob("penstock*")):
            if program.is_dir():
                continue
            facts = json.loads(subprocess.check_output([program, "--describe=json"]))
            listed = {row["status"] for row in facts["exit_codes"]}
            provoked = {status for tool, status, _ in CASES if tool == facts["tool"]}
            suite.check(f"{program.name}: the manual lists what is provoked here", listed == provoked,
                        f"listed {sorted(listed)}, provoked {sorted(provoked)}")
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
