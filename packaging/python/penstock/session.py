"""Compiles what a Python that runs already calls from now on.

`penstock run --attach` is started beside it: it reads the options, keeps what is recorded, and draws reports. The
extension is loaded into this process by a few lines of ctypes; it is the one that `penstock run` loads before a program.
"""

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path


class PenstockError(RuntimeError):
    """penstock cannot do what it was asked for; the text says why, and what would help."""


def find_program() -> str:
    """The program `penstock` of this package, or of the prefix that the package lies in; of PATH, where it is used from its source."""
    here = Path(__file__).resolve()
    own = [folder / "bin" / "penstock" for folder in (here.parent, *here.parents[4:5])]
    found = next((str(program) for program in own if program.exists()), None) or shutil.which("penstock")
    if found is None:
        raise PenstockError("the program penstock is neither in this package nor on PATH: install penstock again, or put "
                            "the folder that has it on PATH")
    return found


def runs_under_penstock() -> bool:
    """Whether `penstock run` started this process: its stub is found by everybody then."""
    return hasattr(ctypes.CDLL(None), "penstock_attach")


class Session:
    """The one of a process: there is no second start, and options hold until the process ends."""

    def __init__(self, options: list[str], name: str):
        if runs_under_penstock():
            raise PenstockError("`penstock run` started this Python: all of it is compiled as it is. Its report is made of "
                                "what `penstock run -o FILE` writes")
        self.options = list(options)
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.messages = tempfile.TemporaryFile()
        self.socket, theirs = socket.socketpair()
        with theirs:
            # A session of its own: what interrupts a notebook's kernel does not end it.
            self.server = subprocess.Popen(
                [find_program(), "run", *options, f"--attach={theirs.fileno()}", "--", name], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.messages, start_new_session=True)
        self.answers = self.socket.makefile("rb")
        self._load(*self._receive())
        self.on = True

    def _receive(self) -> tuple[str, list[int]]:
        """The folder of the extensions, and the descriptors for this Python's."""
        first, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, 3)
        if not first:
            self.server.wait()
            self.messages.seek(0)
            raise PenstockError(self.messages.read().decode(errors="replace").strip() or "penstock run --attach ended")
        return json.loads(first)["parts"], descriptors

    def _load(self, parts: str, descriptors: list[int]) -> None:
        try:
            self.stub = ctypes.PyDLL(os.path.join(parts, "penstock_preload.so"))
            if self.stub.penstock_attach(*descriptors, os.fsencode(parts)) != 0:
                self.ask("refusal")
        except OSError as error:
            raise PenstockError(f"penstock cannot be loaded into this Python: {error}") from None
        major, minor = sys.version_info[:2]
        self.extension = ctypes.PyDLL(os.path.join(parts, f"_penstock{major}{minor}.so"))

    def switch(self, on: bool) -> None:
        self.extension.penstock_switch(int(on))
        self.on = on

    def ask(self, what: str, **facts) -> str:
        if os.getpid() != self.owner:
            raise PenstockError("a forked child has no report of its own: ask the process that called penstock.start()")
        with self.lock:
            try:
                self.socket.sendall(json.dumps({"ask": what} | facts).encode() + b"\n")
                answer = json.loads(self.answers.readline() or "{}")
                content = self.answers.read(answer.get("bytes", 0))
            except OSError:
                answer = {}
        if "error" in answer:
            raise PenstockError(f"{answer['error']}. {answer['hint']}")
        if "bytes" not in answer:
            raise PenstockError("the process that draws reports (penstock run --attach) has ended: restart this Python to start "
                                "it again; what is compiled goes on")
        return content.decode()


_session: Session | None = None


def start(*options: str, name: str | None = None) -> Session:
    """Compiles functions that are called from now on, on all threads; what runs now goes on as it does.

    Takes the options of `penstock run` (penstock-run(1)). They hold until the process ends.
    """
    global _session
    if _session is None:
        _session = Session(list(options), name or (os.path.basename(sys.argv[0]) if sys.argv[0] else "python"))
    elif options and list(options) != _session.options:
        had = " ".join(_session.options) or "none"
        raise PenstockError(f"penstock runs in this process with other options ({had}), which hold until it ends: start a new "
                            f"one (in a notebook, restart the kernel) for {' '.join(options)}")
    _session.switch(True)
    return _session


def stop() -> None:
    """Calls that begin from now on are plain Python's. What was compiled is kept for the next start()."""
    if _session is not None:
        _session.switch(False)


def report(form: str = "text", *, since: bool = False, width: int = 100) -> str:
    """What became of the calls so far, as "text", "summary", "html" (a page) or "json"."""
    forms = ("text", "summary", "html", "json")
    if form not in forms:
        raise PenstockError(f"there is no report as '{form}': {', '.join(forms)} are known")
    if _session is None:
        raise PenstockError("nothing was compiled: call penstock.start() first (in a notebook, begin a cell with %%penstock)")
    return _session.ask("report", **{"as": form}, since=since, width=width)
