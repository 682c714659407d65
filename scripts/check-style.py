#!/usr/bin/env python3
"""Holds the measures of CONTRIBUTING.md: every C++ file lies as clang-format lays it, and no file, header, function
or class is larger than its limit.

usage: scripts/check-style.py [--fix | --largest]
  --fix      lays the files out instead of comparing them
  --largest  prints the five largest of each kind

In files that clang-format wrote, a function's first line and its closing brace stand alone at the start of a line, and
a member's declaration two columns to the right of its class. The last line is `N passed, N failed`, counting files.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["libcore", "formats", "embedding", "interchange", "tools", "tests"]
LIMITS = {"file": 600, "header": 200, "function": 60, "class": 40}  # lines; of a class: public functions

# By `FILE` or `FILE:FUNCTION`: why it may be larger. Ten rows at most.
LARGER = {
    "libcore/passes/decompose/decomposition.h:Decomposition": "a function per core op, the vocabulary of all rules",
    "libcore/python/bytecode.h": "the words for instructions and for code objects, which every room in the process uses",
    "libcore/python/frame.h:Frame": "all that is known of CPython's frames, by subject: slots, stack, place, links",
}
MOST_ROWS = 10

MEMBER = re.compile(r"[^=]*\(")
NO_MEMBER = re.compile(r"(//|#|friend\b|using\b|static_assert\b|return\b|if\b|for\b|switch\b|[:,}])")


def functions_of(lines: list[str]) -> list[tuple[str, int]]:
    """(name, lines) of every function that is defined at the outermost level. What ends in `};` is none."""
    found, begin = [], 0
    for number, line in enumerate(lines):
        if line == "}":
            head = re.search(r"([\w:~]+|operator\S+)\(", " ".join(lines[begin:number]))
            found.append((head[1] if head else "?", number - begin + 1))
        elif line and line[0] not in " }#/":
            begin = number
    return found


def classes_of(lines: list[str]) -> list[tuple[str, int]]:
    """(name, public functions) of every class."""
    found, open_classes = [], []
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        text = line[indent:]
        while open_classes and text.startswith("}") and indent <= open_classes[-1]["indent"]:
            last = open_classes.pop()
            found.append((last["name"], last["functions"]))
        if head := re.match(r"(class|struct) (\w+)[^;]*\{$", text):
            open_classes.append({"name": head[2], "indent": indent, "public": head[1] == "struct", "functions": 0})
        elif open_classes and indent == open_classes[-1]["indent"] + 1 and text.endswith(":"):
            open_classes[-1]["public"] = text == "public:"
        elif open_classes and indent == open_classes[-1]["indent"] + 2 and open_classes[-1]["public"]:
            open_classes[-1]["functions"] += bool(MEMBER.match(text) and not NO_MEMBER.match(text))
    return found


def measures_of(file: str, text: str) -> list[tuple[str, str, int]]:
    """(kind, what, size) of all that has a limit. Tests are held to their files' length alone."""
    lines = text.splitlines()
    if file.startswith("tests/"):
        return [("file", file, len(lines))]
    found = [("header" if file.endswith(".h") else "file", file, len(lines))]
    found += [("function", f"{file}:{name}", length) for name, length in functions_of(lines)]
    found += [("class", f"{file}:{name}", count) for name, count in classes_of(lines)]
    return found


def laid_out_otherwise(clang_format: str, files: list[str]) -> list[str]:
    """The files that clang-format would change."""
    result = subprocess.run([clang_format, "--dry-run", "--Werror", *files], cwd=ROOT, capture_output=True, text=True,
                            check=False)
    return sorted({match[1] for match in re.finditer(r"^(\S+?):\d+:\d+: (?:error|warning): code should be clang-formatted",
                                                     result.stderr, re.MULTILINE)})


def print_largest(measures: list[tuple[str, str, int]]) -> int:
    for kind in LIMITS:
        largest = sorted((size, what) for of_kind, what, size in measures if of_kind == kind)[-5:]
        sys.stdout.writelines(f"{kind:8} {size:4}  {what}\n" for size, what in reversed(largest))
    return 0


def main() -> int:
    files = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*")
                   if path.suffix in (".h", ".cpp"))
    measures = {file: measures_of(file, (ROOT / file).read_text(encoding="utf-8")) for file in files}
    if "--largest" in sys.argv[1:]:
        return print_largest([row for rows in measures.values() for row in rows])
    clang_format = shutil.which("clang-format")
    if clang_format is None:
        print("clang-format is not installed: scripts/setup installs it")
        return 1
    jobs = os.cpu_count() or 1
    parts = [part for part in (files[first::jobs * 4] for first in range(jobs * 4)) if part]
    if "--fix" in sys.argv[1:]:
        return max(subprocess.run([clang_format, "-i", *part], cwd=ROOT, check=False).returncode for part in parts)
    problems: dict[str, list[str]] = {}
    too_large = {what: (file, f"{what}: {kind} of {size}, {LIMITS[kind]} at most")
                 for file, rows in measures.items() for kind, what, size in rows if size > LIMITS[kind]}
    for what, (file, problem) in too_large.items():
        if what not in LARGER:
            problems.setdefault(file, []).append(problem)
    for what in LARGER:
        if what not in too_large:
            problems.setdefault("scripts/check-style.py", []).append(f"{what} is no exception any more")
    if len(LARGER) > MOST_ROWS:
        problems.setdefault("scripts/check-style.py", []).append(f"{len(LARGER)} exceptions, {MOST_ROWS} at most")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for part in pool.map(lambda part: laid_out_otherwise(clang_format, part), parts):
            for file in part:
                problems.setdefault(file, []).append(f"{file}: scripts/check-style.py --fix lays it out otherwise")
    for file in sorted(problems):
        sys.stdout.writelines(problem + "\n" for problem in problems[file])
    print(f"{len(files) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
