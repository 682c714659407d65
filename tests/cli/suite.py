"""What the tests of the command line share that run commands in a folder and a store of their own."""
import pathlib
import subprocess

TIMEOUT_SECONDS = 120


class Suite:
    def __init__(self, build: pathlib.Path, python: pathlib.Path, work: pathlib.Path):
        self.work = work
        self.store = work / "store"
        self.world = {"HOME": str(work), "PATH": f"{build / 'bin'}:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                      "PENSTOCK_COMPILE": "now", "PENSTOCK_STORE": str(self.store), "VIRTUAL_ENV": str(python.parent.parent)}
        self.passed = self.failed = 0

    def check(self, name: str, good: object, why: object = "") -> None:
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAILED {name}: {why}")

    def command(self, *words: str, status: int = 0, **variables: str) -> str:
        """All that it says; its status is a case."""
        done = subprocess.run(words, cwd=self.work, env=self.world | variables, capture_output=True, text=True,
                              timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL)
        self.check(" ".join(words), done.returncode == status, f"status {done.returncode}: {done.stderr}")
        return done.stdout + done.stderr
