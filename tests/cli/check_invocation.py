#!/usr/bin/env python3
"""Starts programs in the ways in which python itself takes them, and in ways that go wrong before they start.

    check_invocation.py BUILD-ROOT PYTHON      PYTHON has torch

The last line is `N passed, N failed`.
"""

import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

from suite import TIMEOUT_SECONDS, Suite

SHOW = """import sys
print(sys.argv, __name__, globals().get("__file__"), sys.path[:1])
f = sys.flags
print(f.optimize, f.isolated, f.no_user_site, f.dont_write_bytecode, f.ignore_environment, f.bytes_warning, f.safe_path)
print(sys.warnoptions, sys._xoptions, f.utf8_mode, f.dev_mode)
sys.exit(5)
"""
# Words behind `python` and behind `penstock run`; a first line of standard input, if it matters.
LIKE_PYTHON = [
    ["show"], ["show", "-o", "x", "--help"], ["./show"], ["show.py", "a"], ["folder", "a"], ["folder/", "-c"],
    ["archive.zip", "a"], ["archive"], ["shebang", "a"], ["-"], ["-", "a", "-b"], ["-O", "show"], ["-OO", "show.py"],
    ["-B", "-s", "show"], ["-Bs", "show"], ["-I", "show"], ["-E", "show"], ["-P", "show"], ["-bb", "show"], ["-u", "show"],
    ["-W", "error", "show"], ["-Werror", "-Wignore::UserWarning", "show"], ["-X", "utf8", "show"], ["-Xutf8", "show"],
    ["-X", "frozen_modules=off", "-O", "show", "-O"], ["-x", "first"], ["-O", "-m", "show"], ["-Om", "show", "a"],
    ["-c", SHOW], ["-OBc", SHOW, "a"], ["-O", "-"], ["-O", "archive.zip"], ["-X", "utf8", "folder"],
    ["compiled.pyc"], ["nowhere.py"], ["-O", "nowhere"], ["-W", "nonsense::", "show"],
]


class InvocationSuite(Suite):
    def run(self, *words: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(words, cwd=self.work, env=self.world | variables, capture_output=True, text=True,
                              errors="replace", input=stdin, timeout=TIMEOUT_SECONDS)

    def shell(self, line: str) -> subprocess.CompletedProcess:
        return self.run("bash", "-c", line)

    def expect(self, name: str, done: subprocess.CompletedProcess, status: int, *says: str, stdout: str = "") -> None:
        good = done.returncode == status and all(word in done.stderr for word in says) and stdout in done.stdout
        self.check(name, good, done)


def prepare(suite: InvocationSuite, python: pathlib.Path) -> None:
    (suite.work / "show").write_text(SHOW)
    (suite.work / "show.py").write_text(SHOW)
    (suite.work / "first").write_text("this is no Python\n" + SHOW)
    (suite.work / "folder").mkdir()
    (suite.work / "folder" / "__main__.py").write_text(SHOW)
    for name in ("archive.zip", "archive"):
        with zipfile.ZipFile(suite.work / name, "w") as out:
            out.writestr("__main__.py", SHOW)
    shebang = suite.work / "shebang"
    shebang.write_bytes(b"#!/usr/bin/env python3\n" + (suite.work / "archive.zip").read_bytes())
    suite.command(str(python), "-c", "import py_compile; py_compile.compile('show.py', 'compiled.pyc')")
    suite.command("penstock", "capture", "-o", "documents", "-c", "pass")


def like_python(suite: InvocationSuite, python: pathlib.Path) -> None:
    """The same program, arguments, flags, output and status as python's; and capture runs it, too."""
    for words in LIKE_PYTHON:
        stdin = SHOW if "-" in words else ""
        plain, ran = suite.run(str(python), *words, stdin=stdin), suite.run("penstock", "run", *words, stdin=stdin)
        same = (plain.returncode, plain.stdout, plain.stderr) == (ran.returncode, ran.stdout, ran.stderr)
        shown = " ".join(word for word in words if word != SHOW)
        suite.check(f"run {shown}", same, f"{ran} against {plain}")
        captured = suite.run("penstock", "capture", "-o", "out.json", *words, stdin=stdin)
        suite.check(f"capture {shown}", captured.stdout == plain.stdout
                    and captured.returncode == (7 if plain.returncode else 0), f"{captured} against {plain}")
    timed = suite.run("penstock", "run", "-X", "importtime", "-c", "pass")
    suite.expect("run -X importtime", timed, 0, "import time:")
    suite.expect("run -i asks for more", suite.run("penstock", "run", "-i", "-c", "a = 6", stdin="print(a * 7)\n"), 0,
                 stdout="42\n")


def documents_or_program(suite: InvocationSuite) -> None:
    """Where the name does not tell, the first bytes do."""
    lines = (suite.work / "documents").read_text()
    nothing = ("penstock-run: error[PS0805]: the input holds no graph",)  # so it was read as documents
    suite.expect("documents without a suffix", suite.run("penstock", "run", "documents"), 1, *nothing)
    suite.expect("documents in standard input", suite.run("penstock", "run", "-", stdin=lines), 1, *nothing)
    suite.expect("documents in a file that is standard input", suite.shell("penstock run - < documents"), 1, *nothing)
    suite.expect("documents in a pipe", suite.shell("penstock run <(cat documents)"), 1, *nothing)
    suite.command("penstock", "convert", "--emit=cbor", "-o", "binary", "documents")
    suite.expect("documents in CBOR", suite.run("penstock", "run", "binary"), 1, *nothing)
    suite.expect("documents in CBOR in standard input", suite.shell("cat binary | penstock run -"), 1, *nothing)
    suite.command("penstock", "pack", "-o", "packed", "documents")
    suite.expect("a packed file", suite.run("penstock", "run", "packed"), 1, *nothing)
    suite.expect("a packed file in standard input", suite.shell("cat packed | penstock run"), 3, "name the file")
    suite.expect("a program in a pipe, behind --", suite.shell("penstock run -- <(echo 'print(6 * 7)')"), 0, stdout="42")
    suite.expect("a program in a file that is standard input", suite.shell("penstock run - < show"), 5, stdout="['-']")
    slow = "(printf p; sleep 0.3; printf 'rint(6 * 7)\\n') | penstock run -"
    suite.expect("a program that is written slowly", suite.shell(slow), 0, stdout="42")
    slow = "(head -c 1 documents; sleep 0.3; tail -c +2 documents) | penstock run -"
    suite.expect("documents that are written slowly", suite.shell(slow), 1, *nothing)
    (suite.work / "nothing").write_text("")
    suite.expect("an empty file", suite.run("penstock", "run", "nothing"), 3, "PS0209")
    (suite.work / "noise").write_bytes(bytes(range(255, -1, -1)))
    suite.expect("noise", suite.run("penstock", "run", "noise"), 3, "PS0201")
    suite.expect("a missing file", suite.run("penstock", "run", "nowhere"), 6, "PS0102")
    suite.expect("a folder without a program", suite.run("penstock", "run", "."), 6, "Is a directory")
    suite.expect("nothing behind --", suite.shell("penstock run -o out.json -- < documents"), 1, *nothing)
    suite.expect("nothing behind --, for capture", suite.run("penstock", "capture", "--"), 2, "needs a program")
    suite.expect("python's option without a program", suite.run("penstock", "run", "-O"), 2, "-O is an option of python's")
    suite.expect("python's option in one word with ours", suite.run("penstock", "run", "-qO", "show"), 2, "apart")
    suite.expect("capture of documents", suite.run("penstock", "capture", "documents"), 2, "holds documents")
    suite.expect("capture of a packed file", suite.run("penstock", "capture", "packed"), 2, "holds documents")
    controller, terminal = pty.openpty()
    process = subprocess.Popen(["penstock", "run", "-"], cwd=suite.work, env=suite.world, stdin=terminal,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.write(controller, b"print(6 * 7)\nexit()\n")
    said = process.communicate(timeout=TIMEOUT_SECONDS)[0]
    suite.check("a program typed at a terminal", b"42" in said and process.returncode == 0, said)


def options_behind_program(suite: InvocationSuite) -> None:
    """An option of ours that went to the program is told once, unless it is meant to."""
    told = "penstock-capture: warning[PS0116]: "
    for option in ("-o", "--output", "--emit=cbor", "--fullgraph", "--rules"):
        done = suite.run("penstock", "capture", "show", option, "x")
        name = option.partition("=")[0]
        suite.expect(f"capture PROGRAM {option}", done, 7, f"{told}{name} stands behind the program", f"'{option}', 'x'")
        suite.check(f"capture PROGRAM {option}: once", done.stderr.count("warning") == 1, done)
    for words in (["-q", "show", "-o", "x"], ["--", "show", "-o", "x"], ["-o", "out.json", "show", "-o", "x"],
                  ["show", "--", "-o"], ["show", "-v", "--time", "-n"]):
        done = suite.run("penstock", "capture", *words)
        suite.check(f"capture {' '.join(words)}: nothing is told", "PS0116" not in done.stderr and done.returncode == 7, done)
    done = suite.run("penstock", "run", "show", "-o", "x")
    suite.check("run PROGRAM -o: standard error is the program's", done.stderr == "" and done.returncode == 5, done)


def surroundings(suite: InvocationSuite) -> None:
    """Few descriptors, what is no Python, and a reader that leaves before the program starts."""
    (suite.work / "late.py").write_text("import time\ntime.sleep(0.2)\nopen('late', 'w').write('ran')\nprint('said')\n")
    for tool, words in (("run", "run"), ("capture", "capture -o few.json")):
        suite.expect(f"{tool} with 40 descriptors", suite.shell(f"ulimit -n 40; penstock {words} -c 'print(6 * 7)'"), 0,
                     stdout="42\n")
    suite.check("capture with 40 descriptors writes its documents", json.loads(
        (suite.work / "few.json").read_text().splitlines()[-1])["penstock"] == "end")
    few = "ulimit -n 6; penstock "
    suite.expect("run with 6 descriptors", suite.shell(few + "run -c 'print(6 * 7)'"), 0, "warning[PS0117]", "ulimit -n",
                 stdout="42\n")
    suite.expect("capture with 6 descriptors", suite.shell(few + "capture -c pass"), 6, "error[PS0117]", "ulimit -n")
    suite.expect("run --python=/bin/true", suite.run("penstock", "run", "--python=/bin/true", "late.py"), 0,
                 "warning[PS0114]: /bin/true ended", "Name a CPython with --python")
    suite.expect("capture --python=/bin/true", suite.run("penstock", "capture", "--python=/bin/true", "late.py"), 6,
                 "error[PS0114]: /bin/true ended", "Name a CPython with --python")
    done = suite.shell("penstock capture late.py | true; exit ${PIPESTATUS[0]}")
    suite.expect("capture PROGRAM | true ends as a closed pipe does", done, 141)
    suite.check("and the program has run to its end", (suite.work / "late").exists() and done.stderr == "said\n", done)
    child = "import subprocess; print(subprocess.run(['grep', 'Sig[BI]', '/proc/self/status'], text=True, capture_output=True).stdout)"
    plain, ran = suite.run(str(suite.python), "-c", child), suite.run("penstock", "capture", "-o", "out.json", "-c", child)
    suite.check("what the program starts has the signals that python's would", plain.stdout == ran.stdout, ran)


def folders(suite: InvocationSuite) -> None:
    """A store that is named from the folder in which the command was given stays there, wherever the program goes."""
    (suite.work / "goes.py").write_text("import os, torch\nos.mkdir('there')\nos.chdir('there')\n"
                                        "def f(x):\n    return x + 1\nf(torch.ones(3))\n")
    done = suite.run("penstock", "capture", "-o", "goes.json", "goes.py", PENSTOCK_STORE="near")
    suite.check("a program that changes its folder", done.returncode == 0 and not any((suite.work / "there").iterdir()), done)
    suite.expect("its tensors", suite.run("penstock", "verify", "goes.json", PENSTOCK_STORE="near"), 0)


def report_of_endings(suite: InvocationSuite) -> None:
    """report tells how a program ended that did not end well."""
    cases = {"import os; os.kill(os.getpid(), 15)": "the program was ended by signal 15 (SIGTERM)",
             "import os; os.kill(os.getpid(), 9)": "the program was ended by signal 9 (SIGKILL)",
             "import os; os._exit(3)": "the program ended with status 3", "pass": ""}
    for code, says in cases.items():
        suite.run("penstock", "capture", "-o", "ended.json", "-c", code)
        for option in ("--quiet", "--summary"):
            done = suite.run("penstock", "report", option, "ended.json")
            good = says in done.stdout if says else "the program" not in done.stdout
            suite.check(f"report {option} on {code}", good and done.returncode == 0, done)
    report = json.loads(suite.run("penstock", "report", "--json", "ended.json").stdout)
    suite.check("report --json has the signal", report["signal"] == 0 and report["exit_status"] == 0, report)


LONG = """
import torch
def f(x):
    for i in range(COUNT):
        x = x * (1 + i / 10000) + 0.5
    return x
print(f(torch.ones(4)).shape)
"""


def progress(suite: InvocationSuite) -> None:
    """A line for what takes long: on a terminal, gone before the program prints; nothing in a pipe."""
    def on_terminal(*options: str) -> str:
        controller, terminal = pty.openpty()
        world = suite.world | {"TERM": "xterm", "PENSTOCK_STORE": tempfile.mkdtemp(dir=suite.work)}
        process = subprocess.Popen(["penstock", "run", "--compile=now", *options, "long.py"], cwd=suite.work, env=world, stdin=subprocess.DEVNULL,
                                   stdout=terminal, stderr=terminal)
        os.close(terminal)
        text = b""
        with contextlib.suppress(OSError):
            while part := os.read(controller, 65536):
                text += part
        os.close(controller)
        process.wait(TIMEOUT_SECONDS)
        return text.decode()

    line = re.compile(r"\r\x1b\[Kpenstock: (recording|compiling) f \(\d+ s\)")
    # What takes a second differs from machine to machine: the first size that does, and twice as much of it.
    for count in (1000, 2000, 4000, 8000, 16000):
        (suite.work / "long.py").write_text(LONG.replace("COUNT", str(count)))
        if line.search(on_terminal()):
            break
    (suite.work / "long.py").write_text(LONG.replace("COUNT", str(2 * count)))
    shown = on_terminal()
    suite.check("progress on a terminal", bool(line.search(shown)), shown[-400:])
    suite.check("progress is gone when the program prints", shown.endswith("\r\x1b[Ktorch.Size([4])\r\n"), shown[-400:])
    for option in ("--quiet", "--progress=never"):
        shown = on_terminal(option)
        suite.check(f"no progress with {option}", shown == "torch.Size([4])\r\n", shown[-400:])
    piped = suite.run("penstock", "run", "--compile=now", "long.py", PENSTOCK_STORE=str(suite.work / "piped"))
    suite.check("no progress in a pipe", (piped.returncode, piped.stdout, piped.stderr) == (0, "torch.Size([4])\n", ""), piped)
    asked = suite.run("penstock", "run", "--compile=now", "--progress", "long.py", PENSTOCK_STORE=str(suite.work / "asked"))
    suite.check("--progress asks for it in a pipe", "penstock: " in asked.stderr and asked.stdout == "torch.Size([4])\n", asked)


def dispatcher(suite: InvocationSuite) -> None:
    for words, same in ((["help"], ["--help"]), (["version"], ["--version"]), (["help", "run"], ["run", "--help"]),
                        (["help", "explain"], ["--help"])):
        one, other = suite.run("penstock", *words), suite.run("penstock", *same)
        suite.check(f"penstock {' '.join(words)}", one.returncode == 0 and one.stdout == other.stdout != "", one)
    suite.expect("help on no tool", suite.run("penstock", "help", "capure"), 2, "penstock capture")
    suite.expect("help on too much", suite.run("penstock", "help", "run", "capture"), 2, "one tool")


# What is typed, what there is to choose from, and what the line becomes where that is one thing.
COMPLETIONS = (("penstock ver", "verify version", ""), ("penstock graphd", "graphdiff", "penstock graphdiff "),
               ("penstock help ru", "run", "penstock help run "), ("penstock cache rep", "repair", "penstock cache repair "),
               ("penstock capture --emit=cb", "cbor", "penstock capture --emit=cbor "), ("penstock run --py", "--python=", "penstock run --python="),
               ("penstock report --diagnostics=j", "json", "penstock report --diagnostics=json "), ("penstock --vers", "--version", "penstock --version "))


def completions(suite: InvocationSuite) -> None:
    """What the Tab key gives in each shell."""
    scripts = suite.build / "scripts"
    for line, words, _ in COMPLETIONS:
        typed = line.replace("=", " = ").split(" ")
        complete = (f"source {scripts}/penstock; COMP_WORDS=({' '.join(typed)}); COMP_CWORD={len(typed) - 1};"
                    ' compopt() { :; }; _penstock; echo "${COMPREPLY[@]}"')
        done = suite.shell(complete)
        suite.check(f"bash's completion of {line}", done.stdout.strip() == words and done.stderr == "", done)
    if shutil.which("fish") is None:
        print("skipped: fish is not installed")
    else:
        for line, words, _ in COMPLETIONS:
            done = suite.run("fish", "-c", f"source {scripts}/penstock.fish; complete -C '{line}'")
            given = [row.split("\t")[0].rsplit("=", 1) for row in done.stdout.splitlines()]
            found = [row[-1] if "=" in line else row[0] for row in given]
            suite.check(f"fish's completion of {line}", " ".join(sorted(found)) == words.rstrip("=") and done.stderr == "", done)
    if shutil.which("zsh") is None:
        print("skipped: zsh is not installed")
    else:
        for line, _, becomes in COMPLETIONS:
            shown = zsh_line(scripts, line) if becomes else ""
            suite.check(f"zsh's completion of {line}", shown == becomes, shown)


def zsh_line(scripts: pathlib.Path, line: str) -> str:
    """What stands on zsh's command line when Tab was pressed behind `line`."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(scripts), "LC_ALL": "C.UTF-8"})

    def read_until(mark: bytes) -> bytes:
        text, end = b"", time.monotonic() + 30
        while mark not in text and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                text += os.read(terminal, 65536)
        return text

    # Control-X prints the line; a key is read when the completion before it is done.
    os.write(terminal, (f"fpath=({scripts} $fpath); autoload -Uz compinit; compinit -u -D; "
                        "shown() { print -r -- \"<<$BUFFER>>\" }; zle -N shown; bindkey '^X' shown; print RE''ADY\n").encode())
    read_until(b"READY")
    os.write(terminal, line.encode() + b"\t\x18")
    found = re.search(rb"<<(.*?)>>", read_until(b">>"))
    os.write(terminal, b"\x15exit\n")
    os.close(terminal)
    os.waitpid(child, 0)
    return found[1].decode() if found else ""


def main() -> int:
    build, python = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="penstock-invocation-") as work:
        suite = InvocationSuite(build, python, pathlib.Path(work))
        suite.build, suite.python = build, python
        os.environ["PATH"] = suite.world["PATH"]
        prepare(suite, python)
        like_python(suite, python)
        documents_or_program(suite)
        options_behind_program(suite)
        surroundings(suite)
        folders(suite)
        report_of_endings(suite)
        progress(suite)
        dispatcher(suite)
        completions(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
