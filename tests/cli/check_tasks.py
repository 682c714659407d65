#!/usr/bin/env python3
"""The tasks of examples/tasks and examples/ci, and two pages of the manual, the tutorial and that on back ends: every command ends well and prints what stands below it.

    check_tasks.py BUILD-ROOT EXAMPLES PYTHON [--bless] [--only NAME]      PYTHON has torch and safetensors

A block that is fenced as `console` holds commands, `$ COMMAND` (goes on below behind a backslash), each with its output,
standard error too; `[status N]` is its last line where the status is another than 0. A block fenced as `python FILE`,
`sh FILE` or the like is written to FILE first. In outputs `…` stands for anything in a line, a line `…` for any lines.
In a page of the manual blocks have no kind: one that begins with `$ ` holds commands, another one is put into *FILE* where
the line above ends with that name and a colon. --bless writes what is printed where nothing stands. All blocks of a file share a folder, in which the examples lie.
The last line is `N passed, N failed`.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_SECONDS = 300
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


BARE_FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_of(file: pathlib.Path) -> list[tuple[str, str, str]]:
    """(kind, file or nothing, content) in order."""
    text = file.read_text()
    if file.suffix != ".scd":
        return FENCE.findall(text)
    found = []
    for block in BARE_FENCE.finditer(text):
        name = re.search(r"\*([\w./-]+)\*:\n\n$", text[:block.start()])
        found.append(("console", "", block[1]) if block[1].startswith("$ ") else ("file", name[1] if name else "", block[1]))
    return found


def commands_of(block: str) -> list[tuple[str, str]]:
    """(command, expected output) in order."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found and found[-1][0].endswith("\\\n") and not found[-1][1]:
            found[-1] = (found[-1][0] + line, "")
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def matches(expected: str, printed: str) -> bool:
    rows = [".*" if line == "…" else re.escape(line).replace("…", "[^\n]*") for line in expected.rstrip("\n").split("\n")]
    pattern = "\n".join(rows).replace("\n.*", "(?:\n.*)?").replace(".*\n", "(?:.*\n)?")
    return re.fullmatch(pattern, printed.rstrip("\n"), re.DOTALL) is not None


class Tasks:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.passed = self.failed = 0

    def run(self, command: str, folder: pathlib.Path) -> str:
        python = self.options.python
        world = {"HOME": str(folder), "PATH": f"{folder / 'bin'}:{self.options.build / 'bin'}:{python.parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                 "VIRTUAL_ENV": str(python.parent.parent), "PENSTOCK_STORE": str(folder / "store"), "COLUMNS": "100", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=world, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL)
        return done.stdout + (f"[status {done.returncode}]\n" if done.returncode else "")

    def check(self, file: pathlib.Path) -> None:
        text = file.read_text()
        with tempfile.TemporaryDirectory() as folder_name:
            folder = pathlib.Path(folder_name)
            shutil.copytree(self.options.examples, folder / "examples")
            for kind, name, block in blocks_of(file):
                if name:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_text(block)
                    (folder / name).chmod(0o755)
                if kind != "console":
                    continue
                for command, expected in commands_of(block):
                    printed = self.run(command, folder)
                    if self.options.bless and not expected and printed:
                        text = text.replace(f"$ {command}", f"$ {command}{printed}", 1)
                        continue
                    good = matches(expected, printed)
                    self.passed += good
                    self.failed += not good
                    if not good:
                        print(f"FAILED {file.name}: $ {command}expected:\n{expected}printed:\n{printed}")
        if self.options.bless:
            file.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("build", "examples", "python"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.build, options.examples, options.python = (pathlib.Path(os.path.abspath(path)) for path in (options.build, options.examples, options.python))
    tasks = Tasks(options)
    for file in sorted([*options.examples.glob("tasks/*.md"), *options.examples.glob("ci/*.md"),
                        *(options.examples.parent / f"man/penstock-{page}.7.scd" for page in ("backend", "tutorial"))]):
        if options.only in file.name:
            tasks.check(file)
    print(f"{tasks.passed} passed, {tasks.failed} failed")
    return tasks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
