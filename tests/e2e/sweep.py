#!/usr/bin/env python3
"""Runs the 40 models of sweep_models.py in process beside eager torch, and says what was captured.

Every graph's first results are compared with those of torch's own ops besides (--self-check).
For each: whether three calls under `penstock run` give what Python's give (max|a-b| / max|b| <= 1e-3), bypasses, graphs,
breaks and the share of its ops that entries execute, the ops left to torch, and beside it how many graphs TorchDynamo
makes (sweep_dynamo.json: what count_dynamo_graphs.py counted with the version of torch that stands in it).

Usage: sweep.py --bin DIR --python PYTHON [--state DIR] [NAME…]
With --state a row that is there already is taken as it is: an interrupted sweep goes on. Fails on a crash, a bypass,
a wrong result and a share below 99%; where TorchDynamo has one graph and penstock has not (models of GAPS: not even
under torch.compile, which is what TorchDynamo's count is of).
Ends with status 77, a skipped test, where PYTHON lacks timm or transformers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sweep_models
from programs import Checks, Tools, text

HERE = Path(__file__).resolve().parent
RUNNER = HERE / "run_model.py"
DYNAMO = HERE / "sweep_dynamo.json"


# Models that are not one graph, and why. They must be one where the program asks torch.compile for it.
GAPS = {
    "transformers/DebertaV2Model": "outside of torch.compile it looks for padding among its ids (a number of a tensor) before its one graph begins",
}


def row_of(tools, name, *how):
    began = time.monotonic()
    slug = name.replace("/", "-")
    answer, stream = tools.work / f"{slug}.answer", tools.work / f"{slug}.json"
    for old in (answer, stream):
        old.unlink(missing_ok=True)
    ours = tools.tool("penstock", "run", "-v", "--deterministic", "--self-check", f"--python={tools.python}", "--only=swept_call", "-o", stream, RUNNER, name, answer, *how)
    row = {"name": name, "status": ours.returncode,
           "said": [line for line in ours.stderr.decode(errors="replace").splitlines() if line.startswith("penstock:")]}
    if stream.exists():
        row |= captured(tools, stream)
    if ours.returncode != 0 or not answer.exists():
        plainly = tools.run(tools.python, RUNNER, name, answer)
        row |= {"verdict": "crash" if plainly.returncode == 0 else "eager torch fails", "detail": text(ours)}
    else:
        record = json.loads(answer.read_text())
        right = record["tensors"] > 0 and record["finite"] and max(record["errors"]) <= 1e-3
        row |= {"verdict": "same" if right else "wrong", "error": max(record["errors"]), "finite": record["finite"]}
    return row | {"seconds": round(time.monotonic() - began, 1)}


def captured(tools, stream):
    """What capture made of the model: graphs, breaks with reasons, ops, and those that are left to torch."""
    summary = json.loads(tools.tool("report", "--summary", "--json", stream).stdout)["summary"]
    documents = [json.loads(line) for line in stream.read_text().splitlines()]
    breaks = [f"{d['code']} {d['reason']} ({d['location']['file']}:{d['location']['line']})" for d in documents if d["penstock"] == "break"]
    skips = [f"{d['code']} {d['reason']} ({d['name']})" for d in documents if d["penstock"] == "skip"]
    placed = tools.tool("partition", stdin=tools.tool("decompose", stream).stdout)
    return {key: summary[key] for key in ("graphs", "breaks", "captured_ops", "total_ops", "bypasses", "executed", "recompiles")} | {
        "reasons": breaks, "skips": skips, "fallback": fallback_ops(placed)}


def fallback_ops(placed):
    """The ops that partition left to torch, with what it said of them."""
    found = {}
    for line in placed.stdout.splitlines():
        document = json.loads(line)
        for region in document.get("regions", []):
            if region.get("kind") == "fallback":
                for node in region["nodes"]:
                    op = document["nodes"][node]["op"]
                    found[op] = found.get(op, 0) + 1
    if placed.returncode != 0:
        found["partition fails: " + placed.stderr.decode(errors="replace")[-500:]] = 1
    return found


def dynamo_graphs():
    """TorchDynamo's graph counts, by model."""
    return json.loads(DYNAMO.read_text())["graphs"] if DYNAMO.exists() else {}


def share(row):
    return 100 * row["captured_ops"] / row["total_ops"] if row.get("total_ops") else 0.0


def show(rows, dynamo):
    print(f"{'model':36} {'result':8} {'error':>9} {'graphs':>6} {'Dynamo':>6} {'breaks':>6} {'ops':>6} {'share':>7} {'bypass':>6} {'fallback':>8} {'s':>6}")
    for row in rows:
        peer = dynamo.get(row["name"], "-")
        print(f"{row['name']:36} {row['verdict'][:8]:8} {row.get('error', -1):9.1e} {row.get('graphs', '-'):>6} {peer if isinstance(peer, int) else 'fails':>6} "
              f"{row.get('breaks', '-'):>6} {row.get('total_ops', '-'):>6} {share(row):6.1f}% {row.get('bypasses', '-'):>6} "
              f"{sum(row.get('fallback', {}).values()):>8} {row.get('seconds', 0):>6}")
    for row in rows:
        for op, count in row.get("fallback", {}).items():
            print(f"fallback  {row['name']}: {op} ({count})")
        for reason in row.get("reasons", []) + row.get("skips", []) + row.get("said", []):
            print(f"reason    {row['name']}: {reason}")


def judge(checks, row, dynamo):
    name = row["name"]
    checks.that(f"{name}: right result", row["verdict"] == "same", row.get("detail", row.get("error", "")))
    checks.that(f"{name}: no bypass", row.get("bypasses") == 0, str(row.get("said")))
    checks.that(f"{name}: 99% of its ops captured", share(row) >= 99, f"{row.get('captured_ops')} of {row.get('total_ops')}")
    if name in GAPS:
        judge_compiled(checks, row)
    elif dynamo.get(name) == 1:
        checks.that(f"{name}: one graph, as TorchDynamo", row.get("graphs") == 1 and row.get("breaks") == 0, "\n".join(row.get("reasons", [])))


def judge_compiled(checks, row):
    """A model with a gap, asked for through torch.compile as TorchDynamo is."""
    name, compiled = row["name"], row["compiled"]
    checks.that(f"{name}, compiled: right result", compiled["verdict"] == "same", compiled.get("detail", compiled.get("error", "")))
    checks.that(f"{name}, compiled: one graph of all its ops", compiled.get("graphs") == 1 and compiled.get("breaks") == 0 and share(compiled) >= 99,
                "\n".join(compiled.get("reasons", [])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder with the tools by their plain names")
    parser.add_argument("--python", required=True, help="a Python that has torch")
    parser.add_argument("--state", help="folder that keeps finished rows")
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    options = parser.parse_args()
    for library in ("timm", "transformers"):
        if subprocess.run([options.python, "-c", f"import {library}"], capture_output=True, check=False).returncode != 0:
            print(f"skipped: {options.python} has no {library}")
            return 77
    names = options.names or sweep_models.NAMES
    checks, rows, dynamo = Checks(), [], dynamo_graphs()
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(options.bin, options.python, work)
        tools.environment["OMP_NUM_THREADS"] = "1"
        state = Path(options.state or work)
        state.mkdir(parents=True, exist_ok=True)
        for name in names:
            file = state / (name.replace("/", "-") + ".row.json")
            if not file.exists():
                row = row_of(tools, name)
                if name in GAPS:
                    row["compiled"] = row_of(tools, name, "--compiled")
                file.write_text(json.dumps(row) + "\n")
            rows.append(json.loads(file.read_text()))
            judge(checks, rows[-1], dynamo)
    show(rows, dynamo)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
