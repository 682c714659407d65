#!/usr/bin/env python3
"""Writes the generated parts of the manual.

    describe2scd.py page PROGRAM PAGE.scd    PAGE with its markers replaced by what
                                             `PROGRAM --describe=json` says
    describe2scd.py diagnostics PENSTOCK     the whole page penstock-diagnostics(7)

Markers stand alone on a line: @OPTIONS@, @PASSES@, @EXIT_STATUS@, @ENVIRONMENT@.
"""

import json
import subprocess
import sys


def escaped(text: str) -> str:
    """Text in which scdoc sees no markup."""
    out = "".join("\\" + letter if letter in "\\*_#" else letter for letter in text)
    return "\\" + out if out.startswith("-") else out  # which would be an item of a list


def options(facts: dict) -> str:
    out = []
    shared = ["Output", "Passes", "Messages", "About"]
    groups = list(dict.fromkeys(option["group"] for option in facts["options"]))
    groups.sort(key=lambda group: (group in shared, group == "Python"))
    for group in groups:
        out.append(f"## {escaped(group)}\n")
        for option in facts["options"]:
            if option["group"] != group:
                continue
            names = ", ".join(f"*{escaped(name)}*" for name in option["names"])
            if "choices" in option:
                choices = "|".join(escaped(word) for word in option["choices"])
                names += f"[={choices}]" if option.get("optional") else f"={choices}"
            elif "value" in option:
                names += f"=_{escaped(option['value'])}_"
            out.append(f"{names}\n\t{escaped(option['help'])}\n")
    return "\n".join(out)


def table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(f"*{escaped(name)}*\n\t{escaped(text)}\n" for name, text in rows)


def exit_status(facts: dict) -> str:
    rows = table([(str(row["status"]), row["meaning"]) for row in facts["exit_codes"]])
    general = "" if not facts["tool"] else " Of a status that is not listed *penstock*(1) says what it means."
    return (f"{rows}\nOf several errors the first decides. A tool whose reader has left ends with 141, silently, as "
            f"SIGPIPE would end it.{general}\n")


def page(program: str, source: str) -> str:
    facts = json.loads(subprocess.check_output([program, "--describe=json"]))
    parts = {
        "@OPTIONS@": options(facts),
        "@PASSES@": table([(row["name"], row["summary"] + ".") for row in facts["passes"]]),
        "@EXIT_STATUS@": exit_status(facts),
        "@ENVIRONMENT@": table([(row["name"], row["meaning"]) for row in facts["environment"]]),
    }
    with open(source, encoding="utf-8") as file:
        return "".join(parts.get(line.strip(), line) for line in file)


def diagnostics(program: str) -> str:
    lines = subprocess.check_output([program, "--diagnostics=json", "explain", "all"], text=True)
    out = ["penstock-diagnostics(7) \"penstock\" \"penstock manual\"\n",
           "# NAME\n", "penstock-diagnostics - every diagnostic that penstock can print\n",
           "# DESCRIPTION\n",
           "Each diagnostic has a code that never changes its meaning. *penstock explain* _CODE_ "
           "prints one of them. The exit status is the one with which a tool ends when this is its "
           "first error; a diagnostic without one never ends a tool.\n",
           "# DIAGNOSTICS\n"]
    for line in lines.splitlines():
        row = json.loads(line)
        status = f" Exit status {row['exit']}." if row["exit"] else ""
        out.append(f"*{row['code']}* {escaped(row['title'])}\n\t{escaped(row['explanation'])} "
                   f"{escaped(row['hint'])}{status}\n")
    out.append("# SEE ALSO\n\n*penstock*(1), *penstock*(7)\n")
    return "\n".join(out)


def main() -> None:
    if sys.argv[1] == "page":
        sys.stdout.write(page(sys.argv[2], sys.argv[3]))
    else:
        sys.stdout.write(diagnostics(sys.argv[2]))


if __name__ == "__main__":
    main()
