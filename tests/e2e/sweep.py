#!/usr/bin/env python3
"""Runs the 40 models of sweep_models.py in process beside eager torch, and says what was captured.

Every graph's first results are compared with those of torch's own ops besides (--self-check).
For each: whether three calls under `penstock run` give what Python's give (max|a-b| / max|b| <= 1e-3), bypasses, graphs,
breaks and the share of its ops that entries execute, the ops left to torch, and beside it how many graphs TorchDynamo
makes (sweep_dynamo.json: what count_dynamo_graphs.py counted with the version of torch that stands in it).

Usage: sweep.py --bin DIR --python PYTHON [--wide] [--jobs N] [--state DIR] [--table FILE] [NAME…]
With --state a row that is there already is taken as it is: an interrupted sweep goes on. Fails on a crash, a bypass,
a wrong result and a share below 99%; where TorchDynamo has one graph and penstock has not (models of GAPS: not even
under torch.compile, which is what TorchDynamo's count is of). --wide has the some 400 models and programs of wide/:
there 95 of 100 must have a share of 99%, and those of LEFT may have more graphs than TorchDynamo, or more at every call.
--table writes a line for each.
Ends with status 77, a skipped test, where PYTHON lacks timm or transformers.
"""

import argparse
import concurrent.futures
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


# Of the wide sweep: models that are more graphs than TorchDynamo's one, and models that are recorded again in the third
# call.
LEFT = json.loads((HERE / "wide" / "left.json").read_text())


def row_of(tools, name, *how):
    began = time.monotonic()
    slug = name.replace("/", "-")
    answer, stream = tools.work / f"{slug}.answer", tools.work / f"{slug}.json"
    for old in (answer, stream):
        old.unlink(missing_ok=True)
    ours = tools.tool("penstock", "run", "-v", "--deterministic", "--self-check", f"--python={tools.python}", "--only=swept_*", "-o", stream, RUNNER, name, answer, *how)
    row = {"name": name, "status": ours.returncode,
           "said": [line for line in ours.stderr.decode(errors="replace").splitlines() if line.startswith("penstock:")]}
    if stream.exists():
        row |= captured(tools, stream)
    if ours.returncode != 0 or not answer.exists():
        plainly = tools.run(tools.python, RUNNER, name, answer)
        lacks = b"ModuleNotFoundError" in plainly.stderr
        verdict = "crash" if plainly.returncode == 0 else "skipped" if lacks else "eager torch fails"
        row |= {"verdict": verdict, "detail": text(ours)}
    else:
        record = json.loads(answer.read_text())
        right = record["tensors"] > 0 and record["finite"] and max(record["errors"]) <= 1e-3
        row |= {"verdict": "same" if right else "wrong", "error": max(record["errors"]), "finite": record["finite"]}
    return row | {"seconds": round(time.monotonic() - began, 1)}


def captured(tools, stream):
    """What capture made of the model: graphs, breaks with reasons, ops, and those that are left to torch."""
    summary = json.loads(tools.tool("report", "--summary", "--json", stream).stdout)["summary"]
    documents = [json.loads(line) for line in stream.read_text().splitlines()]
    graphs, by_call = [], []
    for document in documents:
        if document["penstock"] == "graph" and document["name"].startswith("swept_mark_"):
            by_call.append(len(graphs) - sum(by_call))
        elif document["penstock"] == "graph":
            graphs.append(document)
    breaks = [f"{d['code']} {d['reason']} ({d['location']['file']}:{d['location']['line']})" for d in documents if d["penstock"] == "break"]
    skips = [f"{d['code']} {d['reason']} ({d['name']})" for d in documents if d["penstock"] == "skip"]
    placed = tools.tool("partition", stdin=tools.tool("decompose", stream).stdout)
    marks = len(by_call)  # each a graph of one op, called once
    summary |= {"captured_ops": summary["captured_ops"] - marks, "total_ops": summary["total_ops"] - marks, "graphs": len(graphs)}
    return {key: summary[key] for key in ("graphs", "breaks", "captured_ops", "total_ops", "bypasses", "executed", "recompiles")} | {
        "by_call": by_call, "reasons": breaks, "skips": skips, "fallback": fallback_ops(placed)}


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
        if row["verdict"] in ("skipped", "eager torch fails"):
            print(f"{row['verdict']}: {row['name']}: {row['detail'].strip().splitlines()[-1]}")
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


def judge_wide(checks, rows, dynamo):
    """What holds of all the models together, and of those that TorchDynamo has in one graph."""
    ran = [row for row in rows if row["verdict"] not in ("skipped", "eager torch fails")]
    for row in ran:
        name = row["name"]
        checks.that(f"{name}: right result", row["verdict"] == "same", row.get("detail", row.get("error", "")))
        checks.that(f"{name}: no bypass", row.get("bypasses") == 0, str(row.get("said")))
        more = dynamo.get(name) == 1 and row.get("graphs") != 1
        checks.that(f"{name}: one graph as TorchDynamo, or in LEFT", not more or name in LEFT["graphs"], "\n".join(row.get("reasons", [])))
        grows = len(row.get("by_call", [])) == 3 and row["by_call"][2] > 0
        checks.that(f"{name}: nothing is recorded in the third call, or in LEFT", not grows or name in LEFT["grows"], str(row.get("by_call")))
    full = sum(share(row) >= 99 for row in ran)
    checks.that("99% of the ops in 95 of 100 models", full >= 0.95 * len(ran), f"{full} of {len(ran)}")


def table_of(rows, dynamo):
    lines = [f"{'model':44} {'result':8} {'graphs, by call':>16} {'Dynamo':>6} {'share':>7} {'bypasses':>8}"]
    for row in sorted(rows, key=lambda row: row["name"]):
        peer = dynamo.get(row["name"], "-")
        calls = "+".join(map(str, row.get("by_call", [])))
        lines.append(f"{row['name']:44} {row['verdict'][:8]:8} {calls:>16} {peer if isinstance(peer, int) or peer == '-' else 'fails':>6} "
                     f"{share(row):6.1f}% {row.get('bypasses', '-'):>8}")
    return "\n".join(lines) + "\n"


def judge_compiled(checks, row):
    """A model with a gap, asked for through torch.compile as TorchDynamo is."""
    name, compiled = row["name"], row["compiled"]
    checks.that(f"{name}, compiled: right result", compiled["verdict"] == "same", compiled.get("detail", compiled.get("error", "")))
    checks.that(f"{name}, compiled: one graph of all its ops", compiled.get("graphs") == 1 and compiled.get("breaks") == 0 and share(compiled) >= 99,
                "\n".join(compiled.get("reasons", [])))


def wide_names(python):
    """The names, asked of the Python that has torch."""
    asked = "import json, wide.lists; print(json.dumps(wide.lists.names()))"
    ran = subprocess.run([python, "-c", asked], cwd=HERE, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout.splitlines()[-1])


def kept_row(tools, state, name):
    """The model's row, from the folder where it is there already."""
    file = state / (name.replace("/", "-") + ".row.json")
    if not file.exists():
        row = row_of(tools, name)
        if name in GAPS:
            row["compiled"] = row_of(tools, name, "--compiled")
        file.write_text(json.dumps(row) + "\n")
        print(f"{name}: {row['verdict']}, graphs {row.get('by_call')}, {share(row):.1f}%", flush=True)
    return json.loads(file.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder with the tools by their plain names")
    parser.add_argument("--python", required=True, help="a Python that has torch")
    parser.add_argument("--state", help="folder that keeps finished rows")
    parser.add_argument("--wide", action="store_true", help="the models of wide/ instead of the 40")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="models at a time")
    parser.add_argument("--table", metavar="FILE", help="writes a line for each model")
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    options = parser.parse_args()
    for library in ("timm", "transformers"):
        if subprocess.run([options.python, "-c", f"import {library}"], capture_output=True, check=False).returncode != 0:
            print(f"skipped: {options.python} has no {library}")
            return 77
    listed = wide_names(options.python) if options.wide else sweep_models.NAMES
    names, checks, dynamo = options.names or listed, Checks(), dynamo_graphs()
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(options.bin, options.python, work)
        tools.environment["OMP_NUM_THREADS"] = "1"
        state = Path(options.state or work)
        state.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            rows = list(pool.map(lambda name: kept_row(tools, state, name), names))
    if options.wide:
        judge_wide(checks, rows, dynamo)
    else:
        for row in rows:
            judge(checks, row, dynamo)
    if options.table:
        Path(options.table).write_text(table_of(rows, dynamo))
    show(rows, dynamo)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
