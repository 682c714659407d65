#!/usr/bin/env python3
"""Gives the tools files that are read once (named pipes, whatever their writers' timing), packed files that claim or
come to too much, and stores with damaged files.

    check_files.py BUILD-ROOT SAMPLES PYTHON      PYTHON has torch

The last line is `N passed, N failed`.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

from suite import TIMEOUT_SECONDS, Suite

MOST_KILOBYTES = 100_000  # of memory, for a tool that refuses a packed file
NET = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
with torch.no_grad():
    net(torch.ones(3, 4))
"""
SIZES = """
import torch
weight = torch.ones(1)
def f(x):
    return x * weight + 1
x = torch.ones(5)
torch._dynamo.mark_dynamic(x, 0)
f(x)
"""
# Asks something of elements, which no guard can tell.
ASSERTS = """
import torch
def positive(x):
    assert (x > 0).all()
    return x * 2
with torch.no_grad():
    positive(torch.ones(4))
"""
ROWS = """
import torch
table = torch.arange(10.).view(5, 2)
def f(i):
    return torch.nn.functional.embedding(i, table) + 1
f(torch.tensor([1, 2]))
"""
STAGES = "penstock decompose | penstock partition | penstock fuse | penstock codegen"
# What reads FILE: the file that it is given, and the words of its command line.
READERS = [
    ("torch.json", "penstock decompose FILE"), ("core.json", "penstock partition FILE"),
    ("placed.json", "penstock fuse FILE"), ("loops.json", "penstock codegen FILE"),
    ("made.json", "penstock run --inputs=ab.safetensors --emit=text FILE"),
    ("ab.safetensors", "penstock run --inputs=FILE --emit=text made.json"),
    ("torch.json", "penstock report FILE"), ("core.json", "penstock graphdiff core.json FILE"),
    ("core.json", "penstock graphdiff FILE other.json"), ("torch.json", "penstock verify FILE"),
    ("torch.json", "penstock convert FILE"), ("core.cbor", "penstock convert --emit=json FILE"),
    ("torch.json", "penstock pack -o out.zip FILE; cat out.zip"),
    ("core.json", "penstock reduce FILE sh -c '! grep -q prim.abs'"),
]


class FilesSuite(Suite):
    def output(self, command: str, **how) -> tuple[int, bytes, bytes]:
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.work, env=self.world,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS, **how)
        return done.returncode, done.stdout, done.stderr

    def expect(self, name: str, command: str, status: int, says: str = "") -> None:
        got, _, error = self.output(command)
        text = error.decode(errors="replace")
        self.check(name, got == status and says in text, f"{command}: status {got}, {text}")

    def blobs(self) -> list[pathlib.Path]:
        return [file for file in (self.store / "blobs").rglob("*") if file.is_file()]


def safetensors(tensors: dict[str, int]) -> bytes:
    header, at = {}, 0
    for name, count in tensors.items():
        header[name] = {"dtype": "F32", "shape": [count], "data_offsets": [at, at + 4 * count]}
        at += 4 * count
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(at)


def feed(path: pathlib.Path, pieces: list[bytes], pause: float) -> None:
    with open(path, "wb", buffering=0) as pipe:
        for piece in pieces:
            pipe.write(piece)
            time.sleep(pause)


def pieces_of(data: bytes) -> dict[str, list[bytes]]:
    """The writers: at once, the first document alone, byte by byte to begin with."""
    first = data.find(b"\n") + 1
    return {"at once": [data], "a document at first": [data[:first], data[first:]],
            "slowly at first": [data[:1], data[1:2], data[2:4], data[4:]]}


def pipes(suite: FilesSuite, samples: pathlib.Path) -> None:
    for file in samples.glob("*.json"):
        suite.command("penstock", "convert", "--no-tensors", "--emit=json", "-o", file.name, str(file))
    suite.command("penstock", "convert", "-o", "core.cbor", "core.json")
    (suite.work / "other.json").write_text((suite.work / "core.json").read_text().replace("prim.abs", "prim.neg"))
    (suite.work / "ab.safetensors").write_bytes(safetensors({"a": 10, "b": 10}))
    suite.command("penstock", "codegen", "-o", "made.json", "loops.json")
    pipe = suite.work / "pipe"
    for file, command in READERS:
        plain = suite.output(command.replace("FILE", file))
        shell = suite.output(command.replace("FILE", f"<(cat {file})"))
        suite.check(f"{command} with <()", shell[:2] == plain[:2], f"{shell} against {plain}")
        for timing, pieces in pieces_of((suite.work / file).read_bytes()).items():
            os.mkfifo(pipe)
            writer = threading.Thread(target=feed, args=(pipe, pieces, 0.05), daemon=True)
            writer.start()
            named = suite.output(command.replace("FILE", "pipe"))
            writer.join(TIMEOUT_SECONDS)
            pipe.unlink()
            suite.check(f"{command} with a pipe written {timing}", named[:2] == plain[:2], f"{named} against {plain}")
    rules = "<(echo 'break *')"
    suite.expect("--rules with <()", f"penstock capture --rules {rules} --explain-rule math.sqrt net.py", 0)
    said = suite.output(f"penstock capture --rules {rules} --explain-rule math.sqrt net.py")[1].decode()
    suite.check("the rules of a pipe hold", "break *" in said, said)


def archive(path: pathlib.Path, entries: list[tuple[str, int]]) -> None:
    """A compressed archive; each entry a document's start and so many letters."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, size in entries:
            with out.open(name, "w", force_zip64=True) as entry:
                entry.write(b'{"penstock":"program","name":"')
                for _ in range(size >> 20):
                    entry.write(b"a" * (1 << 20))


def refuses(suite: FilesSuite, name: str, file: str, says: str) -> None:
    """Every tool refuses the file, without taking memory for what is in it."""
    for tool in ("verify", "report", "convert", "decompose", "run", "pack -o out.zip"):
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(["penstock", *tool.split(), file], cwd=suite.work, env=suite.world,
                                       stdout=subprocess.DEVNULL, stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read().decode(errors="replace")
        good = process.returncode == 3 and says in text and usage.ru_maxrss < MOST_KILOBYTES
        suite.check(f"{tool}: {name}", good, f"status {process.returncode}, {usage.ru_maxrss} KB, {text}")


def packs(suite: FilesSuite) -> None:
    suite.command("penstock", "pack", "-o", "good.zip", "core.json")
    with zipfile.ZipFile(suite.work / "good.zip") as pack, \
            zipfile.ZipFile(suite.work / "again.zip", "w", zipfile.ZIP_DEFLATED) as again:
        for name in pack.namelist():
            again.writestr(name, pack.read(name))
    suite.command("penstock", "graphdiff", "again.zip", "core.json")
    archive(suite.work / "bomb.zip", [("documents.json", 512 << 20)])
    refuses(suite, "documents that come to 1000 times the archive", "bomb.zip", "PS0208")
    archive(suite.work / "blob.zip", [("blobs/" + "0" * 32, 512 << 20), ("documents.json", 0)])
    refuses(suite, "a blob that comes to 1000 times the archive", "blob.zip", "PS0208")
    archive(suite.work / "many.zip", [(f"blobs/{at:032x}", 12 << 20) for at in range(40)] + [("documents.json", 0)])
    refuses(suite, "the first blob of many that is not what its name says", "many.zip", "PS0207")
    archive(suite.work / "liar.zip", [("documents.json", 64 << 20)])
    bytes_of = bytearray((suite.work / "liar.zip").read_bytes())
    told = struct.pack("<Q", (64 << 20) + 30)
    at = bytes_of.find(told)
    while at >= 0:
        bytes_of[at:at + 8] = struct.pack("<Q", 1000)
        at = bytes_of.find(told)
    (suite.work / "liar.zip").write_bytes(bytes_of.replace(told[:4], struct.pack("<I", 1000)))
    refuses(suite, "an entry that is longer than it says", "liar.zip", "PS020")
    with zipfile.ZipFile(suite.work / "entries.zip", "w") as out:
        for at in range(100_001):
            out.writestr(f"{at}", "")
        out.writestr("documents.json", "")
    refuses(suite, "too many entries", "entries.zip", "PS0208")


def flip(file: pathlib.Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def damage(suite: FilesSuite) -> None:
    """One bit of every tensor is flipped: who reads them says so, and who writes them writes them again."""
    (suite.work / "net.py").write_text(NET)
    suite.command("bash", "-c", f"penstock capture -o net.json net.py && cat net.json | {STAGES} >kernels.net.json")
    suite.command("penstock", "pack", "-o", "net.zip", "kernels.net.json")
    run = "penstock run --check kernels.net.json"
    suite.expect("whole: run", run, 0)

    def damaged(who: str) -> None:
        for file in suite.blobs():
            flip(file)
        suite.expect(f"damaged, before {who}: verify", "penstock verify net.json", 3, "PS0207")
        suite.expect(f"damaged, before {who}: pack", "penstock pack -o never.zip net.json", 3, "PS0207")
        suite.expect(f"damaged, before {who}: run", run, 3, "PS0207")
        suite.expect(f"damaged, before {who}: cache verify", "penstock cache verify", 3, "penstock cache repair")

    damaged("capture")
    suite.check("nothing is packed of damaged tensors", not (suite.work / "never.zip").exists())
    suite.command("penstock", "capture", "-o", "again.json", "net.py")
    suite.expect("capture writes damaged tensors again", "penstock verify net.json again.json", 0)
    suite.expect("codegen makes damaged code again", f"cat again.json | {STAGES} | penstock run --check", 0)
    damaged("the packed file is read")
    suite.expect("a packed file brings what is damaged", "penstock run --check net.zip", 0)
    suite.expect("for good", run, 0)
    damaged("repair")
    bad = suite.blobs()
    flip(bad[0])  # whole again
    suite.expect("repair", "penstock cache repair", 0, f"removed {len(bad) - 1} files")
    suite.check("repair leaves what is whole", suite.blobs() == bad[:1], suite.blobs())
    suite.expect("after repair: cache verify", "penstock cache verify", 0)
    suite.expect("after repair: run", run, 6, "PS0206")
    suite.expect("after repair, the packed file: run", "penstock run --check net.zip", 0)
    suite.expect("a packed file's blobs go where --store says", "penstock verify --store=apart net.zip", 0)
    suite.expect("and are there", "penstock pack --store=apart -o again.zip net.zip && cmp again.zip net.zip", 0)
    told = suite.command("penstock", "explain", "all")
    suite.check("no hint is to clear the store", "cache clear" not in told)


def given_inputs(suite: FilesSuite) -> None:
    """--inputs overrides what it names, and only that."""
    documents = [json.loads(line) for line in (suite.work / "kernels.net.json").read_text().splitlines()]
    graph = next(document for document in documents if document["penstock"] == "graph")
    name = next(value["name"] for value in graph["inputs"] if value["kind"] == "user")
    header = {name: {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}

    def tensors(file: str, header: dict, data: bytes) -> None:
        text = json.dumps(header).encode()
        (suite.work / file).write_bytes(struct.pack("<Q", len(text)) + text + data)

    tensors("same.st", header, struct.pack("<12f", *[1] * 12))
    tensors("other.st", header, struct.pack("<12f", *[2] * 12))
    tensors("typo.st", header | {"no_such_input": {"dtype": "F32", "shape": [0], "data_offsets": [48, 48]}}, bytes(48))
    for file, levels in (("kernels.net.json", ""), ("net.zip", ""), ("net.json", "--interpret")):
        suite.expect(f"{file}: the recorded input, given", f"penstock run --check --inputs=same.st {levels} {file}", 0)
        suite.expect(f"{file}: another input", f"penstock run --check --inputs=other.st {levels} {file}", 1, "PS0804")
        suite.expect(f"{file}: a name that no graph has", f"penstock run --inputs=typo.st {levels} {file}", 2,
                     "no_such_input")
    suite.expect("what is no safetensors file", "penstock run --inputs=net.py net.zip", 3, "takes a safetensors file")
    suite.expect("a place for the outputs that cannot be", "penstock run --outputs=. net.zip", 6, "Is a directory")

    (suite.work / "sizes.py").write_text(SIZES)
    suite.command("bash", "-c", f"penstock capture -o sizes.json sizes.py && cat sizes.json | {STAGES} >sizes.kernels.json")
    tensors("longer.st", {"x": {"dtype": "F32", "shape": [7], "data_offsets": [0, 28]}}, bytes(28))
    for words in ("--interpret sizes.json", "sizes.kernels.json"):
        suite.expect(f"{words}: an input of another size, which is a symbol", f"penstock run --inputs=longer.st {words}", 0)

    (suite.work / "rows.py").write_text(ROWS)
    suite.command("bash", "-c", f"penstock capture -o rows.json rows.py && cat rows.json | penstock decompose |"
                  " penstock partition | penstock fuse >rows.loops.json && penstock codegen -o rows.kernels.json rows.loops.json")
    for name, value in (("inside.st", 4), ("outside.st", 5)):
        tensors(name, {"i": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]}}, struct.pack("<2q", 0, value))
    for words in ("--interpret rows.json", "--interpret rows.loops.json", "rows.kernels.json"):
        suite.expect(f"{words}: an index in range", f"penstock run --inputs=inside.st {words}", 0)
        suite.expect(f"{words}: an index out of range", f"penstock run --inputs=outside.st {words}", 3, "PS0808")

    (suite.work / "asserts.py").write_text(ASSERTS)
    suite.command("bash", "-c", f"penstock capture asserts.py | tee asserts.json | {STAGES} >asserts.kernels.json"
                  " && penstock decompose <asserts.json >asserts.core.json")
    for name, value in (("positive.st", 1.0), ("negative.st", -1.0)):
        tensors(name, {"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, struct.pack("<4f", 1, 1, 1, value))
    for words in ("--interpret asserts.core.json", "asserts.kernels.json"):
        suite.expect(f"{words}: an assertion that holds", f"penstock run --inputs=positive.st {words}", 0)
        suite.expect(f"{words}: one that does not", f"penstock run --inputs=negative.st {words}", 3, "asks of these elements does not hold")


def main() -> int:
    build, samples, python = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="penstock-files-") as work:
        suite = FilesSuite(build, python, pathlib.Path(work))
        os.environ["PATH"] = suite.world["PATH"]
        pipes(suite, samples)
        packs(suite)
        damage(suite)
        given_inputs(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
