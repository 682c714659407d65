#!/usr/bin/env python3
"""Makes the JSON Schemas and the manual page of the document format from formats/schema/fields.py.

    format_docs.py schemas [--check]    writes (or compares) formats/schema/*.schema.json
    format_docs.py page TEMPLATE        prints a page of section 5: fills @DOCUMENTS@, @GRAPH@, @RECORDS@,
                                        @ARGUMENTS@, @GUARDS@, @SAMPLE level@ and @ACTIONS@
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "formats/schema"))
import fields  # noqa: E402


def guard_kinds():
    text = (ROOT / "libcore/ir/guards.def").read_text()
    return re.findall(r'^PS_GUARD\((\w+),\s*\d+,\s*"([^"]*)"\)', text, re.M)


def rule_actions():
    """(word, meaning) of those that stand in files of users."""
    text = (ROOT / "libcore/ir/call_actions.def").read_text()
    rows = re.findall(r'^PS_CALL_ACTION\(\w+, "(\w+)", \w+, (\w+), "([^"]*)"\)', text, re.M)
    return [(word, meaning) for word, argument, meaning in rows if argument != "handler"]


# --- JSON Schemas

BASIC = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "flag": {"type": "boolean"},
    "number": {"type": "number"},
    "any": {},
    "size": {"type": ["integer", "string"]},
    "id": {"type": "string", "pattern": r"^\d+/\d+(_\d+)?$"},
    "hash": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "value_name": {"type": ["string", "integer"]},
    "float": {"oneOf": [{"type": "number"},
                        {"type": "object", "properties": {"f": {"enum": ["nan", "inf", "-inf"]}},
                         "required": ["f"], "additionalProperties": False}]},
    "plain": {"oneOf": [{"$ref": "#/$defs/scalar"},
                        {"type": "array", "items": {"$ref": "#/$defs/scalar"}}]},
}
SCALAR = {"type": ["null", "boolean", "number", "string"]}


def schema_of(type_name, level=None):
    if type_name.startswith("["):
        return {"type": "array", "items": schema_of(type_name[1:-1])}
    if type_name in BASIC:
        return BASIC[type_name]
    if type_name == "@level":
        return {"const": level}
    if type_name == "@guards":
        return {"enum": [name for name, _ in guard_kinds()]}
    if type_name in fields.RECORDS or type_name in fields.UNIONS or "argument" in type_name:
        return {"$ref": f"#/$defs/{type_name}"}
    words = type_name.split("|")
    return {"const": words[0]} if len(words) == 1 else {"enum": words}


def record_schema(rows, level=None):
    return {
        "type": "object",
        "properties": {name.rstrip("?"): schema_of(kind, level) for name, kind, _ in rows},
        "required": [name for name, _, _ in rows if not name.endswith("?")],
        "additionalProperties": False,
    }


def argument_schema(with_name):
    forms = []
    for key, kind, _ in fields.ARGUMENT_FORMS:
        properties = {key: schema_of(kind)}
        if with_name:
            properties["name"] = {"type": "string"}
        forms.append({"type": "object", "properties": properties, "required": [key],
                      "additionalProperties": False})
    return {"oneOf": forms}


def definitions():
    out = {name: record_schema(rows) for name, (_, rows) in fields.RECORDS.items()}
    for name, members in fields.UNIONS.items():
        out[name] = {"oneOf": [{"$ref": f"#/$defs/{member}"} for member in members]}
    out["argument"] = argument_schema(False)
    out["named_argument"] = argument_schema(True)
    out["scalar"] = SCALAR
    return out


def reachable(schema, all_definitions):
    """The definitions that `schema` uses, directly or not."""
    needed, todo = {}, [schema]
    while todo:
        for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(todo.pop())):
            if name not in needed:
                needed[name] = all_definitions[name]
                todo.append(all_definitions[name])
    return dict(sorted(needed.items()))


def document_schema(kind, title, rows, level=None):
    envelope = [("penstock", kind, ""), ("version", "[integer]", ""), ("requires?", "[text]", ""),
                ("meta?", "any", "")]
    body = record_schema(envelope + rows, level)
    body["properties"]["penstock"] = {"const": kind}
    body["properties"]["version"] = {"const": list(fields.VERSION)}
    body["properties"]["meta"] = {"type": "object"}
    name = level or kind
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"penstock {kind}" + (f" of level {level}" if level else ""),
            "description": title}
    return name, head | body | {"$defs": reachable(body, definitions())}


def schemas():
    out = {}
    for kind, (title, rows) in fields.DOCUMENTS.items():
        name, schema = document_schema(kind, title, rows)
        out[name] = schema
    for level, rows in fields.LEVELS.items():
        name, schema = document_schema("graph", f"A graph of level {level}.",
                                       fields.INTERFACE + rows, level)
        out[f"graph-{name}"] = schema
    return {f"{name}.schema.json": json.dumps(schema, indent=1) + "\n"
            for name, schema in out.items()}


def write_schemas(check):
    folder = ROOT / "formats/schema"
    made = schemas()
    stale = {path.name for path in folder.glob("*.schema.json")} - set(made)
    for name, text in made.items():
        path = folder / name
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.add(name)
    for name in sorted(stale):
        print(f"formats/schema/{name} is not what fields.py says: run scripts/format_docs.py schemas")
    return 1 if stale and check else 0


# --- the manual page

def escape(text):
    """Characters that scdoc would take for markup."""
    return re.sub(r"([*_\\#~<>\[\]|])", r"\\\1", text)


def shown_type(kind):
    if kind.startswith("["):
        return "list of " + shown_type(kind[1:-1])
    names = {"@level": "text", "@guards": "text", "id": "text", "hash": "text", "size": "size",
             "named_argument": "argument", "value_name": "text or number", "plain": "any", "float": "number"}
    if kind in names:
        return names[kind]
    return kind if re.fullmatch(r"\w+", kind) else "text"


def rows_text(rows):
    out = []
    for name, kind, meaning in rows:
        words = f": {', '.join(kind.split('|'))}" if "|" in kind else ""
        optional = ", optional" if name.endswith("?") else ""
        out.append(f"*{escape(name.rstrip('?'))}* ({escape(shown_type(kind))}{optional})")
        out.append(f"\t{escape(meaning[:1].upper() + meaning[1:] + words)}.\n")
    return "\n".join(out)


def documents_text():
    return "\n".join(f"## {kind}\n\n{escape(title)}\n\n{rows_text(rows)}"
                     for kind, (title, rows) in fields.DOCUMENTS.items())


def records_text():
    return "\n".join(f"## {escape(name)}\n\n{escape(title)}\n\n{rows_text(rows)}"
                     for name, (title, rows) in fields.RECORDS.items())


def graph_text():
    parts = [rows_text(fields.INTERFACE)]
    parts += [f"At level *{level}*, moreover:\n\n{rows_text(rows)}"
              for level, rows in fields.LEVELS.items()]
    return "\n".join(parts)


def sample_text(level):
    return "```\n" + (ROOT / f"formats/samples/{level}.json").read_text() + "```"


def page(template):
    text = pathlib.Path(template).read_text()
    text = text.replace("@DOCUMENTS@", documents_text()).replace("@GRAPH@", graph_text())
    text = text.replace("@RECORDS@", records_text())
    text = text.replace("@ARGUMENTS@", rows_text(fields.ARGUMENT_FORMS))
    text = text.replace("@ACTIONS@", "\n".join(f"*{escape(word)}*\n\t{escape(meaning[0].upper() + meaning[1:])}.\n"
                                               for word, meaning in rule_actions()))
    text = text.replace("@GUARDS@", "\n".join(f"*{escape(name)}*\n\t{escape(meaning)}\n"
                                              for name, meaning in guard_kinds()))
    print(re.sub(r"@SAMPLE (\w+)@", lambda found: sample_text(found[1]), text), end="")
    return 0


def main(words):
    if words[:1] == ["schemas"]:
        return write_schemas("--check" in words)
    if words[:1] == ["page"] and len(words) == 2:
        return page(words[1])
    print(__doc__, end="", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
