#!/usr/bin/env python3
"""Holds every committed document stream against the JSON Schemas of formats/schema.

Validates the samples, the frozen streams of tests/compat, and the JSON inputs of golden tests, each
against the schemas of its version; checks that the newest schemas are what fields.py says, and that no
schema of a released version has changed (tests/compat/vX.Y/schemas.sum). The last line printed is `N passed, N failed`.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMAS = ROOT / "formats/schema"


def documents(text):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        document, at = decoder.raw_decode(text, at)
        yield document


def schemas_of(version):
    """Where the schemas of a version are: those of older ones stand beside their frozen streams."""
    older = ROOT / "tests/compat" / version / "schema"
    return older if older.exists() else SCHEMAS


def validator(document):
    kind = document.get("penstock")
    name = f"graph-{document.get('level')}" if kind == "graph" else kind
    folder = schemas_of("v" + ".".join(map(str, document.get("version", []))))
    schema = json.loads((folder / f"{name}.schema.json").read_text())
    return jsonschema.Draft202012Validator(schema)


def golden_inputs():
    """Sections `=== file NAME.json` of golden tests, but for those that must fail."""
    for path in sorted((ROOT / "tests/golden").rglob("*.golden")):
        if path.name.startswith("bad-"):
            continue
        name, lines = None, []
        for line in path.read_text().splitlines() + ["=== end"]:
            if not line.startswith("=== "):
                lines.append(line)
                continue
            if name and name.endswith(".json"):
                yield f"{path.relative_to(ROOT)}: {name}", "\n".join(lines)
            words = line.split()
            name, lines = (words[2] if words[1] == "file" else None), []


def streams():
    for folder in ("formats/samples", "tests/compat"):
        for path in sorted((ROOT / folder).rglob("*.json")):
            if path.parent.name == "schema":
                continue
            yield str(path.relative_to(ROOT)), path.read_text()
    yield from golden_inputs()


def frozen_sums():
    """The schemas of a released version never change: a change needs a new version."""
    for path in sorted((ROOT / "tests/compat").glob("v*/schemas.sum")):
        for line in path.read_text().splitlines():
            digest, name = line.split()
            schema = schemas_of(path.parent.name) / name
            text = schema.read_bytes() if schema.exists() else b""
            yield (f"{path.relative_to(ROOT)}: {name}",
                   hashlib.sha256(text).hexdigest() == digest)


def main():
    passed = failed = 0

    def check(what, good, why=""):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print(f"{what}: {why}")

    made = subprocess.run([sys.executable, ROOT / "scripts/format_docs.py", "schemas", "--check"],
                          capture_output=True, text=True, check=False)
    check("schemas", made.returncode == 0, made.stdout)
    for name, text in streams():
        for number, document in enumerate(documents(text), 1):
            errors = list(validator(document).iter_errors(document))
            place = f"{name}, document {number}"
            check(place, not errors, errors and f"{errors[0].json_path}: {errors[0].message[:300]}")
    for what, good in frozen_sums():
        check(what, good, "changed without a new format version")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
