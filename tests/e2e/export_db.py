#!/usr/bin/env python3
"""Runs the labelled modules of the torch wheel (torch/_export/db/examples) in process, beside plain Python.

For each: whether three calls of `penstock run` give and leave behind what Python's do (values, exceptions, changed
arguments and attributes), graphs, breaks, bypasses, and whether torch.compile(fullgraph=True) makes one graph of it.
All cases share a process; where it dies, the case that it died in is a crash and the rest goes on in a new one.

Usage: export_db.py --bin DIR --python PYTHON [--json FILE] [NAME…]
Fails on another result, a bypass or a crash, and where TorchDynamo has one graph and penstock has not.
"""

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path

from programs import Checks, Tools, text

RUNNER = Path(__file__).resolve().parent / "run_examples.py"

# What TorchDynamo has in one graph and breaks here.
BREAKS = set()


def answers_of(file):
    lines = file.read_text().splitlines() if file.exists() else []
    return {answer["name"]: answer for answer in map(json.loads, lines)}


def run_ours(tools, names):
    """By case: (answer or None where the process died, its documents)."""
    results, left = {}, list(names)
    while left:
        answers, stream = tools.work / "ours.jsonl", tools.work / "ours.json"
        for file in (answers, stream):
            file.unlink(missing_ok=True)
        done = tools.tool("penstock", "run", "-v", "--deterministic", "--self-check", f"--python={tools.python}", "--only=case_*", "-o", stream,
                          RUNNER, answers, *left)
        documents = [json.loads(line) for line in stream.read_text().splitlines()] if stream.exists() else []
        by_case = documents_by_case(documents)
        finished = answers_of(answers)
        for name in left:
            if name in finished:
                results[name] = finished[name], by_case.get(name, []), done
        rest = [name for name in left if name not in finished]
        if rest:
            results[rest[0]] = None, by_case.get(rest[0], []), done
        left = rest[1:]
    return results


def documents_by_case(documents):
    """Graphs, breaks and skips, by the root that they belong to."""
    found, roots = {}, {}
    for document in documents:
        after = document.get("after")
        name = roots.get(after) if after else None
        if name is None:
            name = case_of(document)
        if document["penstock"] == "graph" and name is not None:
            roots[document["id"]] = name
        if name is not None:
            found.setdefault(name, []).append(document)
    return found


def case_of(document):
    """The case that a document names: by its root function, or by the example's file."""
    frames = [frame for call in document.get("calls", []) if isinstance(call, dict) for frame in call.get("stack", [])]
    places = [document, *document.get("frames", []), *frames]
    for place in places:
        if str(place.get("name", "")).startswith("case_"):
            return place["name"].removeprefix("case_")
        file = (place.get("location") or {}).get("file", "")
        if "/db/examples/" in file:
            return Path(file).stem
    return None


def is_close(ours, plain):
    """The same, but for the last bits of floats."""
    if isinstance(plain, float) and isinstance(ours, float):
        return ours == plain or math.isclose(ours, plain, rel_tol=1e-5, abs_tol=1e-6) or (ours != ours and plain != plain)
    if isinstance(plain, (list, dict)) and type(ours) is type(plain) and len(ours) == len(plain):
        keys = plain if isinstance(plain, dict) else range(len(plain))
        return (not isinstance(plain, dict) or ours.keys() == plain.keys()) and all(is_close(ours[k], plain[k]) for k in keys)
    return ours == plain


def row_of(name, plain, ours):
    answer, documents, done = ours
    kinds = [document["penstock"] for document in documents]
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if "penstock:" in line and f"case_{name}" in line]
    return {
        "name": name,
        "same": answer is not None and is_close(answer["calls"], plain["calls"]),
        "crash": answer is None,
        "graphs": kinds.count("graph"),
        "breaks": kinds.count("break"),
        "recompiles": kinds.count("recompile"),
        "bypasses": sum(d["penstock"] == "skip" and d.get("code", "").startswith("PS05") for d in documents) + len(said),
        "ops": sum(len(d["nodes"]) for d in documents if d["penstock"] == "graph"),
        "dynamo": plain.get("dynamo"),
        "reasons": [f"{d.get('code')}: {d.get('reason')}" for d in documents if d["penstock"] in ("break", "skip")],
    }


def table(rows):
    columns = ("name", "same", "crash", "graphs", "breaks", "recompiles", "bypasses", "ops", "dynamo")
    cells = [columns] + [tuple(str(row[column]) for column in columns) for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder with the tools by their plain names")
    parser.add_argument("--python", required=True, help="a Python that has torch")
    parser.add_argument("--json", help="where the rows go")
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    options = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(options.bin, options.python, work)
        file = tools.work / "plain.jsonl"
        plainly = tools.run(tools.python, RUNNER, file, "--peer", *options.names)
        plain = answers_of(file)
        if not checks.that("plain Python runs them", plainly.returncode == 0 and plain, text(plainly)):
            return 1
        ours = run_ours(tools, sorted(plain))
        rows = [row_of(name, plain[name], ours[name]) for name in sorted(plain)]
        for row in rows:
            name, why = row["name"], "\n".join(row["reasons"])
            checks.that(f"{name}: runs to its end", not row["crash"], text(ours[name][2]))
            checks.that(f"{name}: gives what plain Python gives", row["crash"] or row["same"], differences(plain[name], ours[name][0]))
            checks.that(f"{name}: no bypass", row["bypasses"] == 0, why)
            if row["dynamo"] == 1:
                one = row["graphs"] == 1 and row["breaks"] == 0
                checks.that(f"{name}: one graph, as TorchDynamo, or known to break", one != (name in BREAKS), why)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


def differences(plain, ours):
    pairs = zip(plain["calls"], ours["calls"] if ours else [])
    return "\n".join(f"plain: {str(a)[:600]}\nours:  {str(b)[:600]}" for a, b in pairs if a != b)


if __name__ == "__main__":
    sys.exit(main())
