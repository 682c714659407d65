"""A process of a bench that answers a line of JSON to each line that it reads."""

import json
import os
import subprocess
import tempfile


class Unsound(Exception):
    """A figure that must not be shown: the run did not do what the row says."""


class Side:
    """One process, and what it said: `start` before any question, `end` when it was asked to end."""

    def __init__(self, name, command, environment):
        self.name = name
        self.errors = tempfile.TemporaryFile("w+")
        # Inductor takes no compiler with arguments ("ccache g++").
        plain = {name: value for name, value in os.environ.items() if name != "CXX"}
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            text=True, env=dict(plain, **environment))
        self.start = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise Unsound(f"{self.name}: status {self.process.returncode}\n{self.said()}")
        return json.loads(line)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.answer()

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def finish(self):
        self.end = self.ask("end")
        self.process.stdin.close()
        self.process.wait()
