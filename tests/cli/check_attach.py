#!/usr/bin/env python3
"""penstock in a Python that runs already (packaging/python): what is called behind start() is compiled, gives what plain
Python gives, and is reported; what cannot be done is an error with the way out.

    check_attach.py BUILD-ROOT PYTHON        the last line is `N passed, N failed`
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

from suite import TIMEOUT_SECONDS, Suite

SOURCE = pathlib.Path(__file__).resolve().parents[2]

FUNCTION = """
    import sys, threading, time, torch
    def f(x):
        return torch.relu(x * 2 - 1).sum()
    def g(x):
        if x.sum() < 0:
            return x - 1
        return torch.relu(x * 3)
    x = torch.arange(12.0)
"""


class Attached(Suite):
    def python(self, text: str, status: int = 0, under: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess:
        program = self.work / "program.py"
        program.write_text(textwrap.dedent(FUNCTION) + textwrap.dedent(text))
        world = self.world | {"PYTHONPATH": str(SOURCE / "packaging/python")} | variables
        done = subprocess.run([*(under or (f"{self.world['VIRTUAL_ENV']}/bin/python",)), str(program)], cwd=self.work, env=world,
                              capture_output=True, text=True, timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL)
        self.check(f"status of {text.strip().splitlines()[-1]}", done.returncode == status, f"{done.returncode}: {done.stdout}{done.stderr}")
        return done


def compiles(suite: Attached) -> None:
    done = suite.python("""
        plain = float(f(x))
        import penstock
        penstock.start("--compile=now")
        assert float(f(x)) == float(f(x)) == plain
        print(penstock.report("summary"))
        penstock.stop()
        g(x)
        first = penstock.report("json")
        penstock.start()
        for n in range(2): assert g(x).equal(torch.relu(x * 3))
        print(first, end="")
        print(penstock.report("json"), end="")
    """)
    lines = done.stdout.splitlines()
    first, second = (json.loads(line) for line in lines[-2:])
    suite.check("the calls of f ran as a graph", "100.0%" in done.stdout, done.stdout)
    suite.check("behind stop() nothing is recorded", {graph["name"] for graph in first["graphs"]} == {"f"}, first["graphs"])
    suite.check("behind start() it is", {graph["name"] for graph in second["graphs"]} == {"f", "g"}, second["graphs"])
    suite.check("the break of g is told, once", len(second["breaks"]) == 1, second["breaks"])


def counts_since_mark(suite: Attached) -> None:
    done = suite.python("""
        import penstock
        session = penstock.start("--compile=now")
        for n in range(6): f(x); g(x)
        session.ask("mark")
        for n in range(3): f(x)
        print(penstock.report("json", since=True), end="")
        session.ask("mark")
        g(x)
        print(penstock.report("json", since=True), end="")
        print(penstock.report("json"), end="")
    """)
    third, fourth, whole = (json.loads(line) for line in done.stdout.splitlines())
    names = [{graph["name"] for graph in report["graphs"]} for report in (third, fourth, whole)]
    suite.check("graphs stand in the part that calls them", names == [{"f"}, {"g"}, {"f", "g"}], names)
    ops = [report["summary"]["total_ops"] for report in (third, fourth, whole)]
    suite.check("ops are counted in their part", ops == [3 * 4, 5, 9 * 4 + 7 * 5], ops)
    suite.check("a break stands in the part that runs into it", [len(report["breaks"]) for report in (third, fourth)] == [0, 1], done.stdout)


def keeps_files(suite: Attached) -> None:
    suite.python("""
        import penstock
        penstock.start("--compile=now", "-o", "run.json", "--emit=cbor")
        f(x)
    """)
    told = suite.command(str(suite.world["PATH"].split(":")[0] + "/penstock"), "report", "--summary", "run.json")
    suite.check("-o has the documents, in the encoding that --emit names",
                "100.0%" in told and (suite.work / "run.json").read_bytes()[:1] not in b"{", told)


def refuses(suite: Attached) -> None:
    done = suite.python("""
        import penstock
        def error(function, *words):
            try: function(*words)
            except penstock.PenstockError as error: print(error)
            else: print("no error")
        error(penstock.report)
        error(penstock.start, "--complie=now")
        error(penstock.start, "--rules=nowhere.rules")
        penstock.start("--compile=now")
        error(penstock.start, "--compile=auto")
        error(penstock.report, "pdf")
        f(x)
    """)
    lines = done.stdout
    for name, words in {"a report of nothing": "call penstock.start() first", "a misspelt option": "--compile",
                        "a file that is not there": "nowhere.rules", "other options": "other options (--compile=now)",
                        "an unknown form": "text, summary, html, json"}.items():
        suite.check(f"{name} is an error that says what would do", words in lines, lines)
    suite.check("each is an error", "no error" not in lines, lines)
    done = suite.python("""
        import penstock
        try: penstock.start()
        except penstock.PenstockError as error: print(error)
    """, under=("penstock", "run"))
    suite.check("under penstock run there is nothing to start", "`penstock run` started this Python" in done.stdout, done.stdout)
    done = suite.python("""
        import penstock
        try: penstock.start()
        except penstock.PenstockError as error: print(error)
        print(float(f(x)))
    """, PENSTOCK_PARTS="/nowhere", PATH="/usr/bin:/bin")
    suite.check("without the program it says where it is looked for", "neither in this package nor on PATH" in done.stdout, done.stdout)


def refuses_pythons(suite: Attached) -> None:
    """A Python that torch is not in is refused by the extension; the process goes on."""
    program = suite.work / "bare.py"
    program.write_text("import penstock\ntry: penstock.start()\nexcept penstock.PenstockError as error: print(error)\nprint('on')\n")
    bare = suite.command("/usr/bin/python3", "-S", str(program), PYTHONPATH=str(SOURCE / "packaging/python"))
    suite.check("no torch is an error with its code and hint", "PS0113" in bare and "Install torch" in bare and bare.endswith("on\n"), bare)


def ends_in_order(suite: Attached) -> None:
    """Threads that are in compiled code when Python ends, and children."""
    for attempt in range(3):
        suite.python("""
            import penstock
            penstock.start("--compile=now")
            def spin():
                while True:
                    time.sleep(0.001)
                    f(x)
            for n in range(4): threading.Thread(target=spin, daemon=True).start()
            time.sleep(0.3)
        """)
    done = suite.python("""
        import os, penstock
        penstock.start("--compile=now")
        f(x)
        child = os.fork()
        if child == 0:
            assert float(f(x)) == 121.0
            try: penstock.report()
            except penstock.PenstockError as error: print(error, flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(len(penstock.report("json")) > 100)
    """)
    suite.check("a child says that it has no report", "forked child" in done.stdout and done.stdout.endswith("True\n"), done.stdout)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        suite = Attached(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(folder))
        for part in (compiles, counts_since_mark, keeps_files, refuses, refuses_pythons, ends_in_order):
            part(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return suite.failed > 0


if __name__ == "__main__":
    sys.exit(main())
