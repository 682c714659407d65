#!/usr/bin/env python3
"""Writes a C++ source that holds the content of text files, one behind the other, as a string constant.

    embed.py INPUT… OUTPUT HEADER NAMESPACE NAME     HEADER declares `extern const char NAME[]`
"""

import pathlib
import sys

DELIMITER = "embedded"


def main() -> int:
    *sources, output, header, namespace, name = sys.argv[1:]
    text = "\n\n".join(pathlib.Path(source).read_text() for source in sources)
    if f"){DELIMITER}\"" in text:
        print(f"embed.py: {' '.join(sources)} holds the delimiter of the string constant", file=sys.stderr)
        return 1
    pathlib.Path(output).write_text(
        f'#include "{header}"\n\nnamespace {namespace} {{\n\n'
        f'const char {name}[] = R"{DELIMITER}({text}){DELIMITER}";\n\n}}  // namespace {namespace}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
