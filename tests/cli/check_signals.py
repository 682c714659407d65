#!/usr/bin/env python3
"""Sends signals to programs under run and capture: each arrives exactly once, as under plain Python.

    check_signals.py BUILD-ROOT PYTHON

To the process alone, to its group, from a terminal; stopping and continuing; killing. The last line is
`N passed, N failed`.
"""

import fcntl
import json
import os
import pathlib
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

COUNTING = """
import json, os, signal, sys
counts = {}
def count(number, frame):
    name = signal.Signals(number).name
    counts[name] = counts.get(name, 0) + 1
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), count)
print(os.getpid(), flush=True)
while True:
    line = sys.stdin.readline().strip()
    if not line:
        break
    if line == "parent":
        os.kill(os.getppid(), signal.SIGUSR2)
    counts, told = {}, counts  # a signal that comes now counts for the next time
    print(json.dumps(told), flush=True)
"""
SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT", "SIGALRM", "SIGTSTP", "SIGRTMIN"]
SETTLE_SECONDS = 0.1  # in which a signal that is passed on would come a second time
PATIENCE_SECONDS = 20


class Program:
    """A program that counts its signals, in a group of its own."""

    def __init__(self, command: list[str], work: pathlib.Path, environment: dict[str, str], **how):
        self.process = subprocess.Popen([*command, str(work / "counting.py"), *how.pop("handled", SIGNALS)], cwd=work,
                                        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL,
                                        **({"process_group": 0} | how))
        self.pid = int(self.process.stdout.readline())

    def counts(self, request: str = "count") -> dict[str, int]:
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> int:
        self.process.stdin.close()
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def state(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def reaches(pid: int, states: str) -> bool:
    for _ in range(int(PATIENCE_SECONDS / 0.02)):
        if state(pid) in states.split():
            return True
        time.sleep(0.02)
    return False


class Suite:
    def __init__(self, build: pathlib.Path, python: str, work: pathlib.Path):
        self.work, self.passed, self.failed = work, 0, 0
        self.programs: list[Program] = []
        self.world = {"HOME": str(work), "PATH": f"{pathlib.Path(python).parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                      "PENSTOCK_COMPILE": "now", "PENSTOCK_STORE": str(work / "store")}
        tools = build / "tools"
        self.commands = {
            "plain": [python],
            "run": [str(tools / "penstock-run")],  # the program takes its place
            "run --compile=auto": [str(tools / "penstock-run"), "--compile=auto"],
            "run -o": [str(tools / "penstock-run"), "-o", str(work / "run.json")],
            "capture -o": [str(tools / "penstock-capture"), "--no-tensors", "-o", str(work / "capture.json")],
        }

    def check(self, name: str, found: object, expected: object) -> None:
        if found == expected:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}: {found}, not {expected}", flush=True)

    def run(self, part, name: str) -> None:
        signal.alarm(3 * PATIENCE_SECONDS)
        try:
            part(self, name)
        except TimeoutError:
            self.check(f"{name}: {part.__name__}", "no answer", "an answer")
        finally:
            signal.alarm(0)
            for program in self.programs:
                program.kill()
            self.programs.clear()

    def start(self, name: str, **how) -> Program:
        self.programs.append(Program(self.commands[name], self.work, self.world, **how))
        return self.programs[-1]


def counted(suite: Suite, name: str) -> None:
    """Every signal, to the process alone and to its group, handled."""
    for session, names in (({"process_group": 0}, SIGNALS),
                           ({"start_new_session": True, "process_group": None}, SIGNALS[:2])):
        program = suite.start(name, **session)
        for signal_name in names:
            number = getattr(signal, signal_name)
            for target, send in (("the process", os.kill), ("the group", os.killpg)):
                send(program.process.pid, number)
                time.sleep(SETTLE_SECONDS)
                suite.check(f"{name}: {signal_name} to {target}, {session}", program.counts(), {signal_name: 1})
        suite.check(f"{name}: ends", program.end(), 0)


def in_a_row(suite: Suite, name: str) -> None:
    """Signals that follow each other closely, from both sides."""
    program = suite.start(name)
    for _ in range(5):
        os.kill(program.process.pid, signal.SIGUSR1)
        os.killpg(program.process.pid, signal.SIGUSR2)
        os.kill(program.process.pid, signal.SIGHUP)
        os.killpg(program.process.pid, signal.SIGTERM)
        time.sleep(SETTLE_SECONDS)
        suite.check(f"{name}: four in a row", program.counts(), dict.fromkeys(["SIGUSR1", "SIGUSR2", "SIGHUP", "SIGTERM"], 1))
    program.end()


def stopped(suite: Suite, name: str) -> None:
    """Unhandled SIGTSTP stops both processes; whoever is continued, both go on, and SIGCONT is handled once."""
    for target, send in (("the process", os.kill), ("the group", os.killpg)):
        program = suite.start(name, handled=["SIGCONT"])
        send(program.process.pid, signal.SIGTSTP)
        both = reaches(program.pid, "T") and reaches(program.process.pid, "T")
        suite.check(f"{name}: SIGTSTP to {target} stops", both, True)
        send(program.process.pid, signal.SIGCONT)
        time.sleep(SETTLE_SECONDS)
        suite.check(f"{name}: SIGCONT to {target}", program.counts(), {"SIGCONT": 1})
        suite.check(f"{name}: {target} goes on", program.end(), 0)
    program = suite.start(name)
    os.kill(program.pid, signal.SIGSTOP)
    suite.check(f"{name}: its program is stopped", reaches(program.process.pid, "T"), True)
    os.kill(program.pid, signal.SIGCONT)
    suite.check(f"{name}: its program goes on", reaches(program.process.pid, "S R D"), True)
    os.killpg(program.process.pid, signal.SIGSTOP)
    suite.check(f"{name}: the group is stopped", reaches(program.process.pid, "T"), True)
    os.kill(program.process.pid, signal.SIGCONT)
    time.sleep(SETTLE_SECONDS)
    program.counts()
    os.killpg(program.process.pid, signal.SIGUSR1)
    time.sleep(SETTLE_SECONDS)
    suite.check(f"{name}: a signal to the group behind that", program.counts(), {"SIGUSR1": 1})
    program.end()


def ended(suite: Suite, name: str) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL):
        for target, send in (("the process", os.kill), ("the group", os.killpg)):
            program = suite.start(name, handled=[])
            send(program.process.pid, number)
            try:
                program.process.wait(timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            suite.check(f"{name}: {number.name} to {target} ends it", reaches(program.pid, "gone Z"), True)


def told(suite: Suite, name: str) -> None:
    """What the program sends to its parent reaches whoever started it."""
    got = []
    before = signal.signal(signal.SIGUSR2, lambda number, frame: got.append(number))
    program = suite.start(name)
    program.counts("parent")
    time.sleep(SETTLE_SECONDS)
    suite.check(f"{name}: a signal to the parent", (got, program.counts()), ([signal.SIGUSR2], {}))
    signal.signal(signal.SIGUSR2, before)
    program.end()


def terminal(suite: Suite, name: str) -> None:
    """Ctrl-C and a change of the window, as a terminal sends them."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(suite.work)
        command = [*suite.commands[name], "counting.py", *SIGNALS]
        os.execve(command[0], command, suite.world)
    with os.fdopen(master, "r+b", buffering=0) as ends:
        lines = Lines(ends)
        lines.next()
        for signal_name in ("SIGINT", "SIGWINCH"):
            if signal_name == "SIGINT":
                ends.write(b"\x03")
            else:
                fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
            time.sleep(SETTLE_SECONDS)
            ends.write(b"count\n")
            suite.check(f"{name}: {signal_name} of a terminal", lines.next("{"), json.dumps({signal_name: 1}))
        ends.write(b"\n")
        os.waitpid(pid, 0)


class Lines:
    """The lines that a terminal shows."""

    def __init__(self, ends):
        self.ends, self.text = ends, b""

    def next(self, start: str = "") -> str:
        while True:
            while b"\n" not in self.text:
                self.text += self.ends.read(4096)
            line, self.text = self.text.split(b"\n", 1)
            shown = line.decode().strip()
            if shown[:1].isdigit() and not start or start and shown.startswith(start):
                return shown


def give_up(number: int, frame: object) -> None:
    raise TimeoutError


def main() -> int:
    signal.signal(signal.SIGALRM, give_up)
    # Whoever started the tests may ignore some (nohup does), which programs would inherit.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)
    build, python = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "counting.py").write_text(COUNTING)
        suite = Suite(build, python, work)
        for name in suite.commands:
            for part in (counted, in_a_row, stopped, ended, told, terminal):
                suite.run(part, name)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 0 if suite.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
