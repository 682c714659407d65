"""The functions of graph_programs.py print under capture and in process what they print in plain Python,
and have the graphs and breaks that the program's table says.

    check_graphs.py CAPTURE RUN
"""
import collections
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "graph_programs.py")


def table():
    spec = importlib.util.spec_from_file_location("graph_programs", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.EXPECTED, module.FIRST_OPS


def counts_of(documents):
    """By function: graphs, and breaks behind them."""
    names = {document["id"]: document["name"] for document in documents if document["penstock"] == "graph"}
    graphs = collections.Counter(names.values())
    breaks = collections.Counter(names[document["after"]] for document in documents if document["penstock"] == "break")
    return {name: (count, breaks[name]) for name, count in graphs.items()}


def first_ops_of(documents):
    found = collections.defaultdict(list)
    for document in documents:
        if document["penstock"] == "graph":
            found[document["name"]].append(document["nodes"][0]["op"])
    return found


def main():
    capture, run = sys.argv[1:3]
    plain = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=120)
    expected, expected_first = table()
    passed = failed = 0

    def that(right, *told):
        nonlocal passed, failed
        passed += bool(right)
        failed += not right
        if not right:
            print(*told, sep="\n")

    with tempfile.TemporaryDirectory() as folder:
        for name, command, status in (("capture", [capture, "--no-tensors"], 7), ("in process", [run, "--deterministic"], 3)):
            documents = os.path.join(folder, name + ".json")
            done = subprocess.run([*command, "--python", sys.executable, "-o", documents, PROGRAM], capture_output=True,
                                  text=True, timeout=300, env=dict(os.environ, PENSTOCK_STORE=folder))
            that(done.returncode == status and plain.returncode == 3, f"{name}: status {done.returncode}", done.stderr)
            lines = done.stdout.splitlines()
            for at, line in enumerate(plain.stdout.splitlines()):
                got = lines[at] if at < len(lines) else None
                that(got == line, f"{name}: expected {line}", f"  got {got}")
            with open(documents, encoding="utf-8") as file:
                read = [json.loads(line) for line in file]
            counts, first = counts_of(read), first_ops_of(read)
            for function, wanted in expected_first.items():
                that(first[function] == wanted, f"{name}: the graphs of {function} begin with {first[function]}, not {wanted}")
            for function, wanted in expected.items():
                got = counts.get(function, (0, 0))
                that(got == wanted, f"{name}: {function} has {got[0]} graphs and {got[1]} breaks, not {wanted}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
