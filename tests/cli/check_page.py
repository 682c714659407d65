#!/usr/bin/env python3
"""`penstock report --html` and `--json`: what a page holds comes back, what is hostile stays text, the schema holds, and
two runs stand in one page; `penstock graphdiff --html`: rows of both streams, with the lines of Python that made them. What a browser makes of it is check_browser.py's.

    check_page.py BUILD-ROOT SCHEMA PYTHON      PYTHON has torch

The last line is `N passed, N failed`.
"""

import json
import pathlib
import re
import sys
import tempfile

import page_documents
from suite import Suite


def island(page: str) -> str:
    return re.search(r'<script type="application/json" id="penstock-report">(.*?)</script>', page, re.DOTALL)[1]


def check_round_trip(suite: Suite, name: str) -> str:
    """The page of stream `name`."""
    suite.command("penstock", "report", "--html", f"{name}.html", f"{name}.json")
    page = (suite.work / f"{name}.html").read_text()
    suite.command("penstock", "report", "--from-html", f"{name}.html", "-o", f"{name}.back")
    back = (suite.work / f"{name}.back").read_text()
    suite.check(f"{name}: JSON", json.loads(back)["penstock"] == "report", back[:80])
    # The times of the passes are measured anew by every run.
    suite.command("penstock", "report", "--json", f"{name}.json", "-o", f"{name}.direct")
    without_times = [re.sub(r'"nanoseconds":\d+', "", text) for text in (back, (suite.work / f"{name}.direct").read_text())]
    suite.check(f"{name}: what the page gives back is what --json prints", without_times[0] == without_times[1])
    suite.check(f"{name}: byte for byte", json.dumps(json.loads(island(page)), sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
                == back or json.loads(island(page)) == json.loads(back))
    suite.check(f"{name}: no tag in the data", "<" not in island(page))
    suite.check(f"{name}: nothing from elsewhere", not re.search(r'(?:src|href)\s*=\s*"(?!#)|@import|url\(', page.replace(island(page), "")))
    return page


def check_schema(suite: Suite, schema: pathlib.Path, names: list[str]) -> None:
    try:
        import jsonschema
    except ImportError:
        suite.check("python3-jsonschema is installed", False)
        return
    rules = json.loads(schema.read_text())
    for name in names:
        problems = list(jsonschema.Draft202012Validator(rules).iter_errors(json.loads((suite.work / f"{name}.direct").read_text())))
        suite.check(f"{name}: schema", not problems, problems[:2])


def check_difference(suite: Suite) -> None:
    """Streams of the program as it was and as it is now, the file edited in place and under another name."""
    edited = page_documents.PROGRAM.replace("functional.gelu", "functional.relu")
    suite.check("the program is edited", edited != page_documents.PROGRAM)
    (suite.work / "other.py").write_text(edited)
    (suite.work / "edited.py").write_text(page_documents.PROGRAM)
    for name, output in (("other.py", "other.json"), ("edited.py", "older.json")):
        suite.command("penstock", "capture", "--no-tensors", "-o", output, name)
    (suite.work / "edited.py").write_text(edited)
    suite.command("penstock", "capture", "--no-tensors", "-o", "newer.json", "edited.py")

    def page(before: str, after: str, status: int) -> dict:
        suite.command("penstock", "graphdiff", "--html=difference.html", before, after, status=status)
        text = (suite.work / "difference.html").read_text()
        data = re.search(r'<script type="application/json" id="penstock-difference">(.*?)</script>', text, re.DOTALL)[1]
        suite.check(f"{before}, {after}: no tag in the data", "<" not in data)
        suite.check(f"{before}, {after}: nothing from elsewhere", not re.search(r'(?:src|href)\s*=\s*"(?!#)|@import|url\(', text.replace(data, "")))
        return json.loads(data)

    suite.check("the same streams", page("newer.json", "newer.json", 0)["graphs"] == [])
    data = page("older.json", "other.json", 1)
    rows = data["graphs"][0]["rows"]
    changed = [row for row in rows if row["op"] and row["kind"] == "changed"]
    suite.check("an op in the place of another is one change", changed and all(
        row["facts"] == [{"what": "op", "before": "aten.gelu.default", "after": "aten.relu.default"}] for row in changed), changed)
    suite.check("no op is told to be new or gone", not [row for row in rows if row["op"] and row["kind"] in ("added", "removed")])
    line = edited.splitlines().index(next(line for line in edited.splitlines() if "functional.relu" in line)) + 1
    suite.check("its line of Python", changed and all((row["after_at"][0]["file"], row["after_at"][0]["line"]) == ("other.py", line) for row in changed),
                changed[:1])

    def lines(side: str, file: str) -> str:
        return "".join(row["text"] for source in data[side]["sources"] if source["file"] == file for row in source["lines"])

    suite.check("the lines of both", "gelu" not in lines("after", "other.py") and "relu" in lines("after", "other.py")
                and "functional.relu" in lines("before", "edited.py"), data["before"]["sources"])
    data = page("older.json", "newer.json", 1)
    suite.check("a file that was edited since shows no line for before", not lines("before", "edited.py") and "relu" in lines("after", "edited.py"),
                data["before"]["sources"])
    page("older.json", "hostile.json", 1)
    suite.command("penstock", "graphdiff", "--html=/nowhere/page.html", "older.json", "newer.json", status=6)


def main() -> int:
    build, schema, python = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        suite = Suite(build, python, pathlib.Path(work))
        (suite.work / "program.py").write_text(page_documents.PROGRAM)
        suite.command("penstock", "run", "-o", "run.json", "program.py")
        (suite.work / "hostile.json").write_text(page_documents.hostile((suite.work / "run.json").read_text()))
        check_round_trip(suite, "run")
        page = check_round_trip(suite, "hostile")
        for name in page_documents.HOSTILE:
            suite.check(f"hostile name {name!r} is kept", json.dumps(name)[1:-1].replace("<", "\\u003c") in island(page)
                        or name.replace("<", "\\u003c").replace('"', '\\"') in island(page))
        check_schema(suite, schema, ["run", "hostile"])

        report = json.loads((suite.work / "run.direct").read_text())
        suite.check("the break's cost is measured", any(row["kind"] == "break" and row["cost_ns"] > 0 for row in report["advice"]), report["advice"])
        suite.check("a timeline", {"root", "entry", "record", "compile"} <= {span["kind"] for span in report["timeline"]},
                    {span["kind"] for span in report["timeline"]})
        kernels = [step for graph in report["graphs"] for step in graph["steps"]]
        suite.check("kernels with their loops", any("for i0 in" in step["text"] for step in kernels))

        suite.command("penstock", "report", "--assembly", "--json", "run.json", "-o", "assembly.json")
        steps = [step for graph in json.loads((suite.work / "assembly.json").read_text())["graphs"] for step in graph["steps"]]
        suite.check("machine code", any("vmov" in step["assembly"] for step in steps if step["place"] == "compiled"))

        suite.command("penstock", "report", "--html=two.html", "--against=run.html", "hostile.json")
        two = (suite.work / "two.html").read_text()
        suite.check("two runs in a page", two.count('"penstock":"report"') == 2)
        suite.command("penstock", "report", "--from-html", "run.json", status=3)
        suite.command("penstock", "report", "--html", "/nowhere/page.html", "run.json", status=6)
        check_difference(suite)
        print(f"{suite.passed} passed, {suite.failed} failed")
        return suite.failed != 0


if __name__ == "__main__":
    sys.exit(main())
