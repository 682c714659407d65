#!/usr/bin/env python3
"""Writes shell completions from what the programs say about themselves.

    completions.py bash|zsh|fish PROGRAM…     PROGRAM is penstock or penstock-NAME
"""

import json
import subprocess
import sys

BUILT_IN = {"shell": "start a shell in which the tools have their plain names",
            "explain": "explain a diagnostic",
            "help": "print the options of a tool",
            "version": "print the version"}


def describe(program: str) -> dict:
    return json.loads(subprocess.check_output([program, "--describe=json"]))


def words(tool: dict) -> list[str]:
    """Every spelling of every option; those with choices once per choice."""
    out = []
    for option in tool["options"]:
        for name in option["names"]:
            if name.startswith("--") and "choices" in option:
                out += [f"{name}={choice}" for choice in option["choices"]]
            elif name.startswith("--") and "value" in option:
                out.append(f"{name}=")
            else:
                out.append(name)
    return out


def actions(tool: dict) -> str:
    """The words of which a tool takes one, where its synopsis lists them."""
    return tool["synopsis"].replace("|", " ") if "|" in tool["synopsis"] and " " not in tool["synopsis"] else ""


def bash(tools: list[dict]) -> str:
    names = [tool["tool"] for tool in tools if tool["tool"]] + list(BUILT_IN)
    cases = "".join(f"    {tool['tool']}) options='{' '.join(words(tool))}' ;;\n"
                    for tool in tools if tool["tool"])
    taken = "".join(f"    {tool['tool']}) COMPREPLY=($(compgen -W '{actions(tool)}' -- \"$word\")) ;;\n"
                    for tool in tools if actions(tool))
    own = " ".join(words(next(tool for tool in tools if not tool["tool"])))
    return f"""# bash completion for penstock; generated, see scripts/completions.py
_penstock_options() {{
  local options
  case "$1" in
{cases}    *) options='{own}' ;;
  esac
  local word="${{COMP_WORDS[COMP_CWORD]}}"
  if [[ $word == = ]]; then word="${{COMP_WORDS[COMP_CWORD-1]}}="
  elif [[ ${{COMP_WORDS[COMP_CWORD-1]}} == = ]]; then word="${{COMP_WORDS[COMP_CWORD-2]}}=$word"; fi
  COMPREPLY=($(compgen -W "$options" -- "$word"))
  [[ $word == *=* ]] && COMPREPLY=("${{COMPREPLY[@]#*=}}")
  [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
}}
_penstock() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}"
  if [[ ${{COMP_WORDS[0]##*/}} == penstock-* ]]; then
    _penstock_options "${{COMP_WORDS[0]##*/penstock-}}"
  elif [[ $COMP_CWORD -eq 1 && $word != -* ]]; then
    COMPREPLY=($(compgen -W "{' '.join(names)}" -- "$word"))
  elif [[ $COMP_CWORD -eq 2 && ${{COMP_WORDS[1]}} == help ]]; then
    COMPREPLY=($(compgen -W "{' '.join(names)}" -- "$word"))
  elif [[ $word == -* || $word == = || ${{COMP_WORDS[COMP_CWORD-1]}} == = ]]; then
    _penstock_options "${{COMP_WORDS[1]}}"
  else
    case "${{COMP_WORDS[1]}}" in
{taken}    esac
  fi
}}
complete -o default -F _penstock penstock {' '.join(tool['program'] for tool in tools if tool['tool'])}
"""


def quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]")


def zsh_option(option: dict) -> list[str]:
    rows = []
    for name in option["names"]:
        value = ""
        if "choices" in option:
            value = f":value:({' '.join(option['choices'])})"
        elif "value" in option:
            value = f":{option['value'].lower()}:_files"
        sign = "=" if value and name.startswith("--") else ""
        rows.append(f"'{name}{sign}[{quoted(option['help'])}]{value}'")
    return rows


def zsh(tools: list[dict]) -> str:
    names = {tool["tool"]: tool["summary"] for tool in tools if tool["tool"]} | BUILT_IN
    listing = "\n".join(f"    '{name}:{quoted(text)}'" for name, text in names.items())
    cases = "    help) _describe tool tools ;;\n"
    for tool in sorted(tools, key=lambda tool: not tool["tool"]):  # the pattern that matches all stands last
        rows = " \\\n        ".join(row for option in tool["options"] for row in zsh_option(option))
        pattern = tool["tool"] or "*"
        words = f"'1:action:({actions(tool)})'" if actions(tool) else "'*:file:_files'"
        cases += f"    {pattern})\n      _arguments \\\n        {rows} {words} ;;\n"
    return f"""#compdef penstock
# zsh completion for penstock; generated, see scripts/completions.py
_penstock() {{
  local -a tools=(
{listing}
  )
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe tool tools
    return
  fi
  local tool=$words[2]
  (( CURRENT > 2 )) && {{ shift words; (( CURRENT-- )); }}
  case $tool in
{cases}  esac
}}
_penstock "$@"
"""


def fish(tools: list[dict]) -> str:
    names = {tool["tool"]: tool["summary"] for tool in tools if tool["tool"]} | BUILT_IN
    clean = lambda text: text.replace("\\", "\\\\").replace("'", "\\'")
    out = ["# fish completion for penstock; generated, see scripts/completions.py"]
    out += [f"complete -c penstock -n __fish_use_subcommand -f -a {name} -d '{clean(text)}'"
            for name, text in names.items()]
    out.append(f"complete -c penstock -n '__fish_seen_subcommand_from help' -f -a '{' '.join(names)}'")
    for tool in tools:
        where = f"__fish_seen_subcommand_from {tool['tool']}" if tool["tool"] else "__fish_use_subcommand"
        if actions(tool):
            out.append(f"complete -c penstock -n '{where}' -f -a '{actions(tool)}'")
        for option in tool["options"]:
            row = f"complete -c penstock -n '{where}'"
            for name in option["names"]:
                row += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
            if "choices" in option:
                row += f" -x -a '{' '.join(option['choices'])}'"
            elif "value" in option:
                row += " -r"
            out.append(row + f" -d '{clean(option['help'])}'")
    return "\n".join(out) + "\n"


def main() -> None:
    tools = [describe(program) for program in sys.argv[2:]]
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[sys.argv[1]](tools))


if __name__ == "__main__":
    main()
