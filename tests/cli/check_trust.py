#!/usr/bin/env python3
"""Machine code that was made elsewhere runs only when it is trusted, and damage is found before it runs.

    check_trust.py BUILD-ROOT PYTHON

Packs a model's kernels in one store and reads the pack with another, as on another machine.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
import torch
def f(x, y): return torch.relu(x @ y + 1).sum(1)
def g(x): return (x.sigmoid() * 3).softmax(0)
with torch.no_grad():
    f(torch.ones(20, 30), torch.ones(30, 40)); g(torch.ones(7, 5))
"""


class Trust:
    def __init__(self, build, python, folder):
        self.folder, self.passed, self.failed = pathlib.Path(folder), 0, 0
        self.environment = os.environ | {
            "PATH": f"{build}/bin:{os.environ['PATH']}", "VIRTUAL_ENV": str(pathlib.Path(python).parents[1]),
            "NO_COLOR": "1", "PENSTOCK_COMPILE": "now", "PENSTOCK_STORE": f"{folder}/home"}

    def check(self, what, good, why=""):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"{what}: {why}")

    def shell(self, command, store="home"):
        return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, capture_output=True, text=True,
                              env=self.environment | {"PENSTOCK_STORE": f"{self.folder}/{store}"}, check=False)

    def expect(self, what, command, status, text="", store="home"):
        done = self.shell(command, store)
        self.check(what, done.returncode == status and text in done.stderr,
                   f"status {done.returncode}, expected {status} and '{text}': {done.stderr[-600:]}")

    def edited(self, name, edit):
        """A copy of the kernels' stream with edited records of graphs."""
        lines = (self.folder / "k.json").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        edit([record for record in records if record["penstock"] == "graph"])
        (self.folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
        return name

    def run(self):
        (self.folder / "p.py").write_text(PROGRAM)
        made = self.shell("capture p.py | decompose | partition | fuse >l.json && codegen l.json >k.json && "
                          "pack -o k.zip k.json && pack -o l.zip l.json")
        self.check("the model is compiled and packed", made.returncode == 0, made.stderr)
        # The store as another user would have copied it.
        self.shell("cp -r home home-copy && rm -rf home-copy/trusted")
        self.expect("what this store made runs", "run --check k.json", 0)
        self.expect("and packed", "run --check k.zip", 0)
        self.made_elsewhere()
        self.damaged()

    def made_elsewhere(self):
        self.expect("a pack of another machine is refused", "run --check k.zip", 6, "PS0809", store="away")
        self.expect("with the reason", "run k.zip", 6, "made elsewhere", store="away")
        self.expect("every other tool reads it", "verify k.zip && report k.zip && convert k.zip && graphdiff k.zip k.zip", 0,
                    store="away")
        self.expect("refused after it was read", "verify k.zip; run k.zip", 6, "PS0809", store="away")
        self.expect("what is no code asks for nothing", "run --interpret --check l.zip", 0, store="away")
        self.expect("making the code here is trust", "codegen l.zip | run --check", 0, store="made-here")
        self.expect("--trust runs it", "run --check --trust k.zip", 0, store="away")
        self.expect("once", "run --check k.zip", 6, "PS0809", store="away")
        self.expect("penstock trust allows it", "penstock trust k.zip && run --check k.zip", 0, store="away")
        self.expect("and remembers", "run --check k.zip", 0, store="away")
        self.expect("also as documents", "convert k.zip -o again.json && run --check again.json", 0, store="away")
        self.expect("trust in one store is none in another", "run k.zip", 6, "PS0809", store="third")
        self.expect("trust of what holds no code says so", "trust l.zip", 0, "no machine code", store="away")

    def damaged(self):
        def change(records, key, value):
            records[0][key] = value

        def exchange(records):
            first, second = ([blob for blob in record["blobs"] if blob["use"] == "code"][0] for record in records[:2])
            first["hash"], second["hash"] = second["hash"], first["hash"]

        def exchange_all(records):
            exchange(records)
            first, second = records[0]["code"][0], records[1]["code"][0]
            first["hash"], second["hash"] = second["hash"], first["hash"]

        def older(records, seal=None):
            for record in records:
                record["version"] = [1, 0]
                record.pop("seal")
                for code in record["code"]:
                    code.pop("hash")

        def older_edited(records):
            older(records)
            records[0]["buffers"][-1]["name"] = "another"

        for name, edit in {
                "no seal": lambda records: records[0].pop("seal"), "another seal": lambda r: change(r, "seal", "0" * 32),
                "a longer arena": lambda r: change(r, "arena_bytes", 1 << 20), "other buffers": lambda r: r[0]["buffers"].pop(),
                "inputs that are not said to be written": lambda r: change(r, "mutations", [{"input": 0, "output": 0}]),
                "exchanged code": exchange, "exchanged code and hashes": exchange_all,
                "other steps": lambda r: r[0]["steps"].reverse() if len(r[0]["steps"]) > 1 else r[0]["steps"].pop()}.items():
            file = self.edited("edited.json", edit)
            for tool in ("verify", "run --trust", "convert"):
                self.expect(f"{name}: {tool}", f"{tool} {file}", 3)
        file = self.edited("older.json", older)
        self.expect("1.0 without a seal is read", f"verify {file} && report {file} && convert {file} -o newer.json", 0)
        self.expect("1.0 without a seal is refused by run alone", f"run {file}", 6, "PS0809", store="home-copy")
        self.expect("1.0 without a seal runs when it is trusted", f"run --check --trust {file}", 0)
        self.expect("converting gives no seal", "run newer.json", 6, "has no seal", store="home-copy")
        file = self.edited("older-edited.json", older_edited)
        self.expect("1.0 that was edited is refused by run", f"run {file}", 6, "PS0809")
        blob = next(path for path in (self.folder / "home/blobs").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF")
        bytes_ = bytearray(blob.read_bytes())
        bytes_[-1] ^= 1
        blob.write_bytes(bytes_)
        self.expect("damaged code is not run", "run --trust k.json", 3, "PS0207")


def main():
    build, python = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        trust = Trust(build, python, folder)
        trust.run()
    print(f"{trust.passed} passed, {trust.failed} failed")
    return 1 if trust.failed else 0


if __name__ == "__main__":
    sys.exit(main())
