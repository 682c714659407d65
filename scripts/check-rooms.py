#!/usr/bin/env python3
"""Holds the arrows between the rooms: reads every #include and compares it with the tables below.

A room may include itself, the rooms that its row names, and what those may include. The tables are
the one machine-readable form of the design's room table. Files that CONTRIBUTING.md names have to be
there, and a pass has the name of its function and its file. The last line is `N passed, N failed`,
counting rooms, that page and the passes.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# room: the rooms that it may include directly (and through them, theirs). A folder in a room may have a row of its own.
ARROWS = {
    "support": [],
    "diag": ["support"],
    "shape": ["diag"],
    "ir": ["shape"],
    "ops": ["ir"],
    "passes": ["ops"],
    "autodiff": ["passes"],
    "partition": ["ops"],
    "fusion": ["partition"],
    "cut": ["passes", "fusion"],
    "bundle": ["ir"],
    "codegen": ["fusion", "bundle"],
    "runtime": ["bundle"],
    "store": ["support", "diag"],
    "pipeline": ["autodiff", "cut", "partition", "fusion", "bundle", "codegen", "runtime", "store"],
    "heap": ["support"],
    "python": ["ir"],
    "torch": ["python", "ops"],
    "policy": ["torch"],
    "record": ["policy", "heap", "autodiff"],
    "guards": ["torch"],
    "capture": ["record", "guards"],
    "jit/gate": ["torch", "pipeline"],
    "jit/restore": ["capture", "runtime"],
    "jit/executors": ["jit/gate", "jit/restore"],
    "jit/backends": ["jit/executors"],
    "jit": ["jit/backends", "heap"],
}

# the folders beside libcore: those above each, of which it may include nothing
ABOVE = {"formats": ("embedding", "interchange", "tools"), "embedding": ("interchange", "tools"), "interchange": ("tools",)}

# the rooms that live in the program's process
IN_PROCESS = [f"libcore/{room}/" for room in ("python", "torch", "policy", "record", "guards", "capture", "jit")]

# a header outside the tree (a prefix): the folders whose files may include it
OUTSIDE = {
    "Python.h": [*IN_PROCESS, "tools/extension/"],
    "internal/pycore": ["libcore/python/"],
    "llvm/": ["libcore/codegen/"],
    "llvm-c/": ["libcore/codegen/"],
    "lld/": ["libcore/codegen/"],
    "dnnl": ["libcore/runtime/library/"],
    "oneapi/dnnl": ["libcore/runtime/library/"],
    "nlohmann/": ["formats/", "interchange/", "tools/"],
    "CLI/": ["tools/"],
    "boost/": ["libcore/partition/", "libcore/ir/", "tools/live/", "tools/serve/"],
}

# which minor version of Python it is, only these files may ask
OF_VERSIONS = "libcore/python/versions/"
VERSION = re.compile(r"\bPY_(?:VERSION_HEX|MINOR_VERSION|MAJOR_VERSION|MICRO_VERSION)\b")

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
SOURCES = {".h", ".cpp", ".c", ".def", ".inc"}


def room_of(path: pathlib.Path) -> str:
    """The room of a file of libcore, a folder with a row of its own before the room around it; else the topmost folder."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "libcore":
        return parts[0]
    inner = "/".join(parts[1:3])
    return inner if inner in ARROWS else parts[1]


def reachable(room: str) -> set[str]:
    """The rooms that `room` may include, itself among them."""
    found: set[str] = set()
    waiting = [room]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += ARROWS[name]
    return found


def misplaced(file: str, quote: str, header: str, allowed: set[str] | None) -> str:
    """Why `file` may not include `header`, or an empty string."""
    for prefix, folders in OUTSIDE.items():
        if header.startswith(prefix) and not any(file.startswith(folder) for folder in folders):
            return f"{prefix} is only for {', '.join(folders)}"
    if quote == "<" or allowed is None:
        return ""
    first = header.split("/")[0]
    room = room_of(ROOT / "libcore" / header)
    if first in ("formats", "embedding", "interchange", "tools", "tests"):
        return f"libcore includes nothing of {first}/"
    if "/" not in header:
        return f'write it as "ROOM/{header}"'
    if room not in ARROWS:
        return f"{first} is no room"
    return "" if room in allowed else f"{room_of(ROOT / file)} may not include {room}"


def problems_of(path: pathlib.Path) -> list[str]:
    file = path.relative_to(ROOT).as_posix()
    parts = file.split("/")
    allowed = None
    if parts[0] == "libcore":
        if parts[1] not in ARROWS:
            return [f"{file}: {parts[1]} is no room of the table"]
        allowed = reachable(room_of(path))
    found = []
    text = path.read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        reason = misplaced(file, match[1], match[2], allowed)
        above = ABOVE.get(parts[0], ())
        if match[2].split("/")[0] in above:
            reason = f"{parts[0]} includes nothing of {match[2].split('/')[0]}/"
        if reason:
            line = text.count("\n", 0, match.start(2)) + 1
            found.append(f"{file}:{line}: {match[2]}: {reason}")
    if not file.startswith(OF_VERSIONS):
        for match in VERSION.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{file}:{line}: {match[0]}: only {OF_VERSIONS} asks which Python it is")
    return found


def lost_names() -> list[str]:
    """The files that CONTRIBUTING.md names in backquotes, below the tree or libcore, and that are not there."""
    found = []
    for number, line in enumerate((ROOT / "CONTRIBUTING.md").read_text().splitlines(), 1):
        for name in re.findall(r"`([a-z][\w./*-]+\.(?:h|cpp|py|def|rules|toml))`", line):
            general = re.search("[A-Z]{3}", name)  # FAMILY.def stands for any
            if not general and not any(ROOT.glob(name)) and not any(ROOT.glob("libcore/" + name)):
                found.append(f"CONTRIBUTING.md:{number}: there is no {name}")
    return found


def lost_passes() -> list[str]:
    """Passes in a stage's table that have no file and function of their name. One that runs again says so."""
    found = []
    for stage in ("passes/decompose.cpp", "fusion/fuse.cpp"):
        path = ROOT / "libcore" / stage
        text = path.read_text()
        for row in re.finditer(r'\{\{"([a-z-]+)",\s*"[^"]*"\},\s*(\w+)', text):
            function = row[1].removesuffix("-again").replace("-", "_")
            files = [path.parent / f"{function}.cpp", ROOT / f"libcore/autodiff/{function}.cpp"]
            called = row[2] == function or f"{function}(" in text  # by a function of the stage
            if not called or not any(file.exists() and f" {function}(" in file.read_text() for file in files):
                found.append(f"libcore/{stage}: pass {row[1]} is not {function}() of {function}.cpp")
    return found


def main() -> int:
    problems: dict[str, list[str]] = {}
    for folder in ("libcore", "formats", "embedding", "interchange", "tools"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SOURCES:
                problems.setdefault(room_of(path), []).extend(problems_of(path))
    problems["CONTRIBUTING.md"] = lost_names()
    problems["passes"] = lost_passes()
    for found in problems.values():
        sys.stdout.writelines(problem + "\n" for problem in found)
    failed = sum(bool(found) for found in problems.values())
    print(f"{len(problems) - failed} passed, {failed} failed")
    return 1 if failed or not problems else 0


if __name__ == "__main__":
    sys.exit(main())
