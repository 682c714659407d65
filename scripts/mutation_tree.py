"""The trees in which scripts/mutate plants faults, and what it found there."""

import hashlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAULTS = pathlib.Path("tests") / "mutations"
SKIPPED = 77


class Refused(Exception):
    """The table, the tree or a suite is not fit to say anything about a fault."""


def digest(*parts: str | bytes) -> str:
    """Of parts, not of their concatenation: each is hashed with its length."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()[:32]


def tests_of(build: pathlib.Path) -> dict[str, dict]:
    """The tests of a build tree, by suite and name."""
    rows = json.loads((build / "meson-info" / "intro-tests.json").read_text())
    return {f"{suite.split(':')[-1]}/{row['name']}": row for row in rows for suite in row["suite"]}


def sources() -> list[str]:
    """The files of the checkout as it stands, those not yet added among them."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(command).decode().split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


def sources_key(names: list[str]) -> str:
    """Of everything that a suite's answer may depend on: a further fault, or a manual, leaves answers valid."""
    asked = [name for name in names if pathlib.Path(name).parent != FAULTS and not name.endswith(".md")
             and not name.startswith("scripts/mutat")]
    return digest(*(part for name in asked for part in (name, (ROOT / name).read_bytes())))


class Tree:
    """A copy of the sources and a build tree, in which one fault at a time is planted."""

    def __init__(self, folder: pathlib.Path, names: list[str], python: str, processes: int):
        self.folder, self.source, self.build = folder, folder / "source", folder / "source" / "build"
        self.processes = processes
        ready = folder / "ready"
        if fresh := not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
        # A file that is put back is newer than what was made with the fault in it; one that is new here keeps its time,
        # by which the copied objects are valid.
        for name in names:
            self._put(name, keep_time=fresh)
        for path in self._gone(names):
            path.unlink()
        if fresh:
            self._set_up(python)
            ready.touch()
        # The tests that there are may be others by now.
        subprocess.run(["ninja", "-C", str(self.build), "build.ninja"], stdout=subprocess.DEVNULL, check=True)
        self.log = folder / "log.txt"
        self.tests = tests_of(self.build)
        targets = json.loads((self.build / "meson-info" / "intro-targets.json").read_text())
        self.outputs = {target["id"]: [os.path.relpath(name, self.build) for name in target["filename"]] for target in targets}
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"), CCACHE_BASEDIR=str(self.source))
        self.environment.pop("PENSTOCK_STORE", None)

    def _put(self, name: str, keep_time: bool) -> None:
        here, there = ROOT / name, self.source / name
        if there.is_file() and there.read_bytes() == here.read_bytes():
            return
        there.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copy2 if keep_time else shutil.copy)(here, there)

    def _gone(self, names: list[str]) -> list[pathlib.Path]:
        """Files that an earlier state of the checkout had."""
        known = set(names)
        return [path for path in self.source.rglob("*") if path.is_file() and self.build not in path.parents
                and "__pycache__" not in path.parts and str(path.relative_to(self.source)) not in known]

    def _set_up(self, python: str) -> None:
        compiler = subprocess.check_output([ROOT / "scripts" / "compiler"], text=True).strip()
        seed = ROOT / os.environ.get("PENSTOCK_BUILD", "build")
        command = ["meson", "setup", "build", f"-Dpython={python}"]
        if (seed / "build.ninja").exists():
            subprocess.run(["cp", "-a", seed, self.build], check=True)
            command.insert(2, "--reconfigure")
        subprocess.run(command, cwd=self.source, env=dict(os.environ, CXX=compiler), stdout=subprocess.DEVNULL, check=True)

    def plant(self, fault) -> None:
        path = self.source / fault.file
        path.write_text(path.read_text(encoding="utf-8").replace(fault.text, fault.becomes), encoding="utf-8")

    def remove(self, fault) -> None:
        self._put(fault.file, keep_time=False)

    def make(self, suite: str) -> bool:
        """Builds what a suite runs."""
        test = self.tests[shlex.split(suite)[0]]
        outputs = [name for target in test["depends"] for name in self.outputs[target]]
        command = ["ninja", "-C", str(self.build), "-j", str(self.processes), *outputs]
        with open(self.log, "wb") as log:
            return subprocess.run(command, env=self.environment, stdout=log, stderr=log).returncode == 0

    def passes(self, suite: str) -> bool:
        """Runs a suite with an empty cache: what a faulty compiler made must not be found by the next one."""
        name, *arguments = shlex.split(suite)
        test = self.tests[name]
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        # A fault may leave nothing to wait for: a suite that takes too long has noticed it.
        with open(self.log, "wb") as log:
            process = subprocess.Popen([*test["cmd"], *arguments], env=self.environment | test["env"], cwd=self.build,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            try:
                status = process.wait(timeout=test["timeout"] or None)
            except subprocess.TimeoutExpired:
                status = -1
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        if status == SKIPPED:
            raise Refused(f"{suite} was skipped")
        return status == 0

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-1500:]


class Results:
    """What was found, on disk after every answer."""

    def __init__(self, path: pathlib.Path, sources_key: str):
        self.path, self.sources, self.lock = path, sources_key, threading.Lock()
        self.known = json.loads(path.read_text()) if path.exists() else {}

    def get(self, key: str) -> dict | None:
        return self.known.get(f"{self.sources}/{key}")

    def put(self, key: str, **row) -> dict:
        with self.lock:
            self.known[f"{self.sources}/{key}"] = row
            part = self.path.with_suffix(".part")
            part.write_text(json.dumps(self.known, indent=1) + "\n")
            part.replace(self.path)
        return row
