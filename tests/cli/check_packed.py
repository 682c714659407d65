#!/usr/bin/env python3
"""Runs one model's documents over and over: packed weights are written once, mapped from then on, and
never used when they are damaged or another library's.

    check_packed.py BUILD-ROOT PYTHON

The last line is `N passed, N failed`.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

from suite import Suite

PROGRAM = """
import torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 32, 3, padding=1, bias=False).to(memory_format=torch.channels_last)
        self.norm = torch.nn.BatchNorm2d(32)
        self.second = torch.nn.Conv2d(32, 96, 3, stride=2)
        self.head = torch.nn.Linear(96, 100)
    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        return self.head(torch.relu(self.second(x)).mean((2, 3)))
net = Net().eval()
with torch.no_grad():
    print(net(torch.randn(2, 3, 30, 30)).shape)
"""


class PackedSuite(Suite):
    def shell(self, command: str, status: int = 0, **variables: str) -> str:
        return self.command("bash", "-o", "pipefail", "-c", command, status=status, **variables)

    def run(self, name: str, before: str = "", same_bits: bool = True, **variables: str) -> tuple[int, int]:
        """How many packed weights a run found and kept; its results must be what they were."""
        told = self.shell(f"{before} penstock run --check --stats --outputs out.safetensors kernels.json", **variables)
        counts = {line.rsplit(None, 1)[0]: int(line.rsplit(None, 1)[1])
                  for line in told.splitlines() if line.startswith("packed weights")}
        outputs = (self.work / "out.safetensors").read_bytes()
        if not hasattr(self, "outputs"):
            self.outputs = outputs
        self.check(f"{name}: the results are the same", outputs == self.outputs or not same_bits)
        return counts.get("packed weights found", -1), counts.get("packed weights kept", -1)

    def expect(self, name: str, found: int, kept: int, **how) -> None:
        counts = self.run(name, **how)
        self.check(name, counts == (found, kept), f"found and kept {counts}, expected {(found, kept)}")

    def packed(self) -> list[pathlib.Path]:
        return sorted(file for file in (self.store / "packed").rglob("*") if file.is_file())

    def blob_of_largest_input(self) -> pathlib.Path:
        """The second convolution's weight: read through its packed copy only."""
        documents = [json.loads(line) for line in (self.work / "kernels.json").read_text().splitlines()]
        graph = next(document for document in documents if document["penstock"] == "graph")
        files = [self.store / "blobs" / blob["hash"][:2] / blob["hash"] for blob in graph["blobs"]
                 if blob["use"] == "input" and graph["inputs"][blob["index"]]["kind"] == "parameter"]
        return max(files, key=lambda file: file.stat().st_size)

    def kibibytes_of_code(self) -> int:
        """What the loader needs of the largest file: it maps code from memory that counts as a file."""
        documents = [json.loads(line) for line in (self.work / "kernels.json").read_text().splitlines()]
        hashes = [blob["hash"] for document in documents for blob in document.get("blobs", []) if blob["use"] == "code"]
        return -(-max((self.store / "blobs" / name[:2] / name).stat().st_size for name in hashes) // 1024)


def damage(file: pathlib.Path) -> None:
    with file.open("r+b") as bytes_of:
        bytes_of.seek(file.stat().st_size // 2)
        byte = bytes_of.read(1)
        bytes_of.seek(-1, os.SEEK_CUR)
        bytes_of.write(bytes([byte[0] ^ 1]))


def checks(suite: PackedSuite) -> None:
    (suite.work / "net.py").write_text(PROGRAM)
    suite.shell("penstock capture net.py 2>/dev/null | penstock decompose | penstock partition | penstock fuse"
                " | penstock codegen > kernels.json")
    count = suite.run("the first run")[1]
    suite.check("the first run packs", count >= 3, count)
    suite.check("and keeps what it packed", len(suite.packed()) == count, suite.packed())
    suite.expect("the second run maps them", count, 0)
    suite.check("cache ls lists them", suite.shell("penstock cache ls").count(" packed ") == count)

    damage(suite.packed()[0])
    os.truncate(suite.packed()[1], 100)
    suite.expect("a damaged and a short one are packed again", count - 2, 2)
    suite.expect("and are whole then", count, 0)
    suite.expect("another instruction set has its own", 0, count, same_bits=False, ONEDNN_MAX_CPU_ISA="SSE41")
    suite.expect("and leaves the others alone", count, 0)

    weight = suite.blob_of_largest_input()
    damage(weight)
    suite.expect("a weight that is not read may be damaged", count, 0)
    shutil.rmtree(suite.store / "packed")
    told = suite.shell("penstock run --check kernels.json", status=3)
    suite.check("one that is read may not", "PS0207" in told, told)
    damage(weight)

    suite.shell("rm -rf store/packed && touch store/packed")
    suite.expect("a store that takes none", 0, 0)
    suite.shell("rm store/packed")
    suite.expect("and the next run keeps them", 0, count)

    # What a full store takes is what fits: the limit on files stands for the disk's end, in the midst of a write.
    room = suite.kibibytes_of_code() + 1
    fitting = sum(file.stat().st_size <= room * 1024 for file in suite.packed())
    suite.check("some packed weights do not fit", fitting < count, fitting)
    shutil.rmtree(suite.store / "packed")
    kept = suite.run("a full store", before=f"ulimit -f {room};")[1]
    suite.check("a full store keeps what fits at most", 0 <= kept <= fitting, kept)
    suite.check("and nothing unfinished", len(suite.packed()) == kept, suite.packed())
    suite.expect("the next run keeps the rest", kept, count - kept)
    suite.expect("and all are whole", count, 0)
    suite.shell("penstock cache clear")
    suite.check("cache clear removes them", not suite.packed(), suite.packed())


def main() -> int:
    build, python = (pathlib.Path(word) for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="penstock-packed-") as work:
        suite = PackedSuite(build, python, pathlib.Path(work))
        checks(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
