#!/usr/bin/env python3
"""Installs penstock where no build tree is near, and uses it there as a user would.

    check_installed.py prefix BUILD-ROOT PYTHON     `meson install`, its prefix moved afterwards
    check_installed.py wheel BUILD-ROOT PYTHON      a wheel made by scripts/package, in a new environment with PYTHON's torch

PYTHON has torch, and the version that the build is for. The last line is `N passed, N failed`.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from suite import Suite

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PIPE = "capture toy.py | decompose | partition | fuse | codegen | run --check --emit=text"


def install_prefix(build: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """The folder with the programs of an installation that was moved behind its making."""
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", work / "made"], check=True, capture_output=True)
    placed = work / "moved"
    prefix = next(path.parent.parent for path in (work / "made").rglob("bin/penstock"))
    shutil.move(prefix, placed)
    shutil.rmtree(work / "made")
    return placed / "bin"


def install_wheel(python: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """The folder with the commands of a new environment that has the wheel, and sees PYTHON's torch."""
    subprocess.run([SOURCE / "scripts/package", "wheel", "--python", python], check=True, capture_output=True)
    subprocess.run([python, "-m", "venv", work / "environment"], check=True)
    inside = work / "environment/bin/python"
    tag = subprocess.run([inside, "-c", "import sys; print('cp{}{}'.format(*sys.version_info))"], capture_output=True, text=True).stdout.strip()
    wheel = next((SOURCE / "dist").glob(f"penstock-*-{tag}-none-*.whl"))
    subprocess.run([inside, "-m", "pip", "install", "-q", "--no-index", wheel], check=True)
    places = subprocess.run([python, "-c", "import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))"],
                            capture_output=True, text=True, check=True).stdout
    next((work / "environment/lib").glob("python3.*/site-packages")).joinpath("torch.pth").write_text(places)
    return work / "environment/bin"


def use(suite: Suite, programs: pathlib.Path, manuals: pathlib.Path) -> None:
    penstock = str(programs / "penstock")
    shutil.copy(SOURCE / "examples/toy.py", suite.work)
    suite.check("doctor is content", "Programs are compiled here." in suite.command(penstock, "doctor"))
    suite.check("the version is told", suite.command(penstock, "--version").startswith("penstock "))
    program = suite.work / "program.py"
    program.write_text("import torch\ndef f(x):\n    return (x * 2).relu().sum()\n"
                       "print([float(f(torch.arange(float(n)))) for n in range(3, 12)])\n")
    told = suite.command(penstock, "run", "-o", "documents", str(program))
    suite.check("a program gives its result", told == f"{[float(n * (n - 1)) for n in range(3, 12)]}\n", told)
    share = suite.command(penstock, "report", "--summary", "documents")
    suite.check("it was compiled", re.search(r"100\.0%.* 0\.0% ", share) is not None, share)
    told = suite.command(penstock, "run", "--backend=nonesuch", str(program))
    suite.check("the back ends are there", "onnxruntime" in told, told)
    attached = suite.work / "attached.py"
    attached.write_text("import penstock, torch\npenstock.start('--compile=now')\ndef f(x):\n    return (x * 2).relu().sum()\n"
                        "f(torch.ones(3))\nprint(float(f(torch.ones(3))), penstock.report('summary'))\n")
    package = next((programs.parent / "share/penstock").glob("python"), None) if (programs.parent / "share/penstock").exists() else None
    inside = str(programs / "python") if package is None else f"{suite.world['VIRTUAL_ENV']}/bin/python"
    told = suite.command(inside, str(attached), **({} if package is None else {"PYTHONPATH": str(package)}))
    suite.check("a Python that runs already is compiled", told.startswith("6.0 ") and "100.0%" in told, told)
    shutil.copy(SOURCE / "examples/mlp.py", suite.work)
    suite.command(penstock, "export", "--dynamic-sizes=input:0=rows", "-o", "mlp.pstk", "mlp.py")
    told = suite.command(inside, "-c", "import penstock; print(penstock.load('mlp.pstk'))", **({} if package is None else {"PYTHONPATH": str(package)}))
    suite.check("an exported model is loaded", "(input: float32[rows, 16]) -> (result: float32[rows, 4])" in told, told)
    piped = subprocess.run([penstock, "shell"], input=PIPE + "\n", cwd=suite.work, text=True, capture_output=True,
                           env=suite.world | {"SHELL": "/bin/sh"})
    suite.check("the tools have their plain names in the shell", piped.stdout.count(": same, error") == 3, piped)
    for page in ("man1/penstock.1", "man3/libpenstock.3", "man1/penstock-doctor.1", "man5/penstock-graph.5", "man7/penstock-diagnostics.7"):
        suite.check(f"{page} is there", (manuals / page).is_file(), sorted(manuals.rglob("*")))


def use_library(suite: Suite, prefix: pathlib.Path) -> None:
    """Another program, compiled against the installed format library."""
    described = next(prefix.rglob("pkgconfig/penstock-formats.pc")).parent
    source = SOURCE / "examples/format/count_ops.cpp"
    suite.command("sh", "-c", f"c++ {source} $(pkg-config --cflags --libs penstock-formats) -o count_ops", PKG_CONFIG_PATH=str(described))
    counted = suite.command("sh", "-c", f"{prefix}/bin/penstock capture toy.py | {prefix}/bin/penstock decompose | ./count_ops")
    suite.check("the library reads documents", re.search(r"^ +1  prim\.abs", counted, re.MULTILINE) is not None, counted)


def main() -> int:
    kind = sys.argv[1]
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[2:])
    with tempfile.TemporaryDirectory() as work:
        suite = Suite(build, python, pathlib.Path(work))
        if kind == "wheel":
            programs = install_wheel(python, suite.work)
            suite.world["VIRTUAL_ENV"] = str(programs.parent)
        else:
            programs = install_prefix(build, suite.work)
        suite.world["PATH"] = "/usr/bin:/bin"
        use(suite, programs, programs.parent / "share/man")
        if kind == "prefix":
            use_library(suite, programs.parent)
        print(f"{suite.passed} passed, {suite.failed} failed")
        return suite.failed != 0


if __name__ == "__main__":
    sys.exit(main())
