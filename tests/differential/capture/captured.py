"""Runs a program under capture and reads what it wrote."""
import json
import os
import subprocess
import sys


def capture(tool, program, *options, seed="0"):
    """The documents, what the program printed, and the exit status."""
    environment = dict(os.environ, PYTHONHASHSEED=seed)
    done = subprocess.run([tool, "--python", sys.executable, "--emit=json", *options, program],
                          capture_output=True, text=True, env=environment)
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    return documents, done.stdout, done.stderr, done.returncode


def plain(program, *arguments):
    done = subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True)
    return done.stdout


def ops(graph):
    """"add" for aten.add.Tensor, of every node of a graph document."""
    return [node["op"].split(".")[1] for node in graph["nodes"]]
