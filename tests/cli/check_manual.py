#!/usr/bin/env python3
"""Checks the manual: pages lint, name every option, and their EXAMPLES run.

    check_manual.py MAN-DIRECTORY BUILD-ROOT

An example is a line `$ COMMAND` of a page's EXAMPLES; it must end with status 0 in a directory that
holds the examples/ of the source tree. Examples of a tool that this build does not have are left
out. The last line is `N passed, N failed`.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TIMEOUT_SECONDS = 120


def lint(page: pathlib.Path) -> str:
    """What mandoc warns of, but for the paragraph macros that scdoc always writes around headings."""
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines(keepends=True)
    return "".join(line for line in lines if "skipping paragraph macro" not in line)


def missing_options(page: pathlib.Path, program: pathlib.Path) -> str:
    facts = json.loads(subprocess.check_output([program, "--describe=json"]))
    text = subprocess.check_output(["mandoc", "-T", "utf8", page], text=True)
    text = re.sub(r".\x08", "", text)  # bold and underlined letters are overstruck
    lost = [name for option in facts["options"] for name in option["names"] if name not in text]
    return f"options that the page lacks: {' '.join(lost)}\n" if lost else ""


def examples(source: pathlib.Path) -> list[str]:
    _, _, section = source.read_text().partition("# EXAMPLES")
    return re.findall(r"^\$ (.*)$", section, re.MULTILINE)


def run_example(command: str, build: pathlib.Path) -> str:
    python = pathlib.Path(os.environ.get("PENSTOCK_TEST_PYTHON", SOURCE / ".venv/bin/python"))
    with tempfile.TemporaryDirectory(prefix="penstock-manual-") as home:
        work = pathlib.Path(home) / "work"
        work.mkdir()
        shutil.copytree(SOURCE / "examples", work / "examples")
        path = f"{build / 'bin'}:{build / 'tools'}:{python.parent}:/usr/bin:/bin"
        world = {"HOME": home, "PATH": path, "LC_ALL": "C.UTF-8", "TERM": "dumb",
                 "VIRTUAL_ENV": str(python.parent.parent), "PENSTOCK_COMPILE": "now", "PENSTOCK_STORE": f"{home}/store"}
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=work, env=world,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT_SECONDS)
        return "" if done.returncode == 0 else f"status {done.returncode}\n{done.stderr}"


def main() -> int:
    pages, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    results: list[tuple[str, str]] = []
    for page in sorted(pages.glob("*.[157]")):
        results.append((f"lint {page.name}", lint(page)))
        program = build / "tools" / page.stem
        if page.suffix != ".1":
            continue
        results.append((f"options of {page.name}", missing_options(page, program)))
        for command in examples(SOURCE / "man" / f"{page.name}.scd"):
            tools = re.findall(r"penstock (\w+)", command)
            if all(tool in ("explain", "help", "shell", "version") or (build / "tools" / f"penstock-{tool}").exists()
                   for tool in tools):
                results.append((f"{page.name}: {command}", run_example(command, build)))
    for name, problem in results:
        if problem:
            print(f"FAILED {name}\n{problem}", end="")
    failed = sum(bool(problem) for _, problem in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
