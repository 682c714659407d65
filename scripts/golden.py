#!/usr/bin/env python3
"""Runs golden tests: one text file holds the input files, the commands, and what they must print.

    Any text: what the test shows.
    === file NAME           an input file (the lines up to the next `===` line)
    === run                 a bash command line, run with pipefail in a directory of its own
    === status N            the exit status it must have (left out: 0)
    === stdout              what it must print, exactly (left out: nothing)
    === stderr contains     with `contains`: every line must stand somewhere in the output

A file may have several runs, each followed by its own expectations; they share the directory. Files
called bad-* must end with a status other than 0. In commands and expectations, $SOURCE is the source
tree. --bless rewrites the exact expectations and statuses to what the commands print now.
The last line printed is `N passed, N failed`.
"""

import argparse
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "=== "
NO_NEWLINE = "\\ no newline at the end"
TIMEOUT_SECONDS = 120


@dataclasses.dataclass
class Section:
    words: list[str]  # ["stderr", "contains"]; [] for the description
    body: str


@dataclasses.dataclass
class Outcome:
    path: pathlib.Path
    problems: list[str]
    blessed: str


def parse(text: str) -> list[Section]:
    sections = [Section([], "")]
    for line in text.splitlines(keepends=True):
        if line.startswith(MARK):
            sections.append(Section(line[len(MARK):].split(), ""))
        else:
            sections[-1].body += line
    return sections


def encoded(output: str) -> str:
    """Output as it stands in a golden file, where every line ends."""
    return output if not output or output.endswith("\n") else f"{output}\n{NO_NEWLINE}\n"


def environment(home: str, build: pathlib.Path, python: pathlib.Path) -> dict[str, str]:
    """A world without the user's settings: the tools and the Python with torch first on PATH."""
    path = [str(build / "bin"), str(build / "tools"), str(python.parent), "/usr/bin", "/bin"]
    return {"HOME": home, "PATH": os.pathsep.join(path), "VIRTUAL_ENV": str(python.parent.parent),
            "LC_ALL": "C.UTF-8", "COLUMNS": "80", "TERM": "dumb", "SOURCE": str(ROOT),
            "PENSTOCK_COMPILE": "now", "PENSTOCK_STORE": f"{home}/store", "XDG_CACHE_HOME": f"{home}/cache"}


def execute(command: str, directory: str, world: dict[str, str]) -> dict[str, str]:
    """What the command printed and its status, with the source tree's name taken out."""
    try:
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=directory, env=world,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"status": "timeout", "stdout": "", "stderr": f"more than {TIMEOUT_SECONDS} s\n"}
    out = {"status": str(done.returncode)}
    for name, raw in (("stdout", done.stdout), ("stderr", done.stderr)):
        out[name] = encoded(raw.decode(errors="backslashreplace").replace(str(ROOT), "$SOURCE"))
    return out


def differences(name: str, expected: str, actual: str) -> str:
    return "".join(difflib.unified_diff(expected.splitlines(keepends=True),
                                        actual.splitlines(keepends=True),
                                        f"expected {name}", f"actual {name}"))


def judge(section: Section, actual: dict[str, str]) -> str:
    """The problem with one expectation, or an empty string."""
    name = section.words[0]
    if name == "status":
        expected = section.words[1]
        return "" if expected == actual["status"] else f"status {actual['status']}, expected {expected}\n"
    if section.words[1:] == ["contains"]:
        lost = [line for line in section.body.splitlines() if line and line not in actual[name]]
        return "".join(f"{name} lacks: {line}\n" for line in lost) + (actual[name] if lost else "")
    return differences(name, section.body, actual[name])


def check_run(run: Section, expectations: list[Section], actual: dict[str, str]) -> tuple[list[str], str]:
    """The problems of one run, and its sections as --bless would write them."""
    named = {section.words[0] for section in expectations}
    defaults = [Section(["status", "0"], "")] if "status" not in named else []
    defaults += [Section([name], "") for name in ("stdout", "stderr") if name not in named]
    problems = [problem for section in expectations + defaults if (problem := judge(section, actual))]
    kept = [s for s in expectations if s.words[1:] == ["contains"]]
    text = f"{MARK}run\n{run.body}"
    if actual["status"] != "0":
        text += f"{MARK}status {actual['status']}\n"
    for name in ("stdout", "stderr"):
        fuzzy = [s for s in kept if s.words[0] == name]
        if fuzzy:
            text += "".join(f"{MARK}{name} contains\n{s.body}" for s in fuzzy)
        elif actual[name]:
            text += f"{MARK}{name}\n{actual[name]}"
    return problems, text


def run_file(path: pathlib.Path, build: pathlib.Path, python: pathlib.Path) -> Outcome:
    sections = parse(path.read_text())
    problems: list[str] = []
    text = sections[0].body
    runs = 0
    last = "0"
    with tempfile.TemporaryDirectory(prefix="penstock-golden-") as home:
        directory = pathlib.Path(home) / "work"
        directory.mkdir()
        world = environment(home, build, python)
        at = 1
        while at < len(sections):
            section = sections[at]
            at += 1
            if section.words[:1] == ["file"]:
                target = directory / section.words[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(section.body)
                text += f"{MARK}{' '.join(section.words)}\n{section.body}"
                continue
            if section.words != ["run"]:
                problems.append(f"unexpected section: {' '.join(section.words)}\n")
                break
            end = at
            while end < len(sections) and sections[end].words[0] in ("status", "stdout", "stderr"):
                end += 1
            actual = execute(section.body, str(directory), world)
            found, blessed = check_run(section, sections[at:end], actual)
            problems += found
            text += blessed
            runs, last, at = runs + 1, actual["status"], end
    if runs == 0:
        problems.append("no run section\n")
    if path.name.startswith("bad-") and last == "0":
        problems.append("a bad-* test ended with status 0\n")
    return Outcome(path, problems, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bless", action="store_true", help="accept what is printed now")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / ".venv/bin/python",
                        help="the Python, with torch, that the commands see")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("paths", nargs="*", type=pathlib.Path, default=[ROOT / "tests/golden"])
    options = parser.parse_args()
    files = sorted(file for path in options.paths
                   for file in ([path] if path.is_file() else path.rglob("*.golden")))
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        work = lambda file: run_file(file, options.build.absolute(), options.python.absolute())
        for outcome in pool.map(work, files):
            hopeless = any("bad-*" in problem or "section" in problem for problem in outcome.problems)
            if outcome.problems and options.bless and not hopeless:
                outcome.path.write_text(outcome.blessed)
                print(f"blessed {outcome.path}")
            elif outcome.problems:
                failed += 1
                print(f"FAILED {outcome.path}")
                sys.stdout.writelines(outcome.problems)
                continue
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
