#!/usr/bin/env python3
"""Makes the page of `penstock report --html` from its sources: one C++ file with the texts that stand before, between and
behind the two places where reports are put.

    bundle-page.py OUTPUT PAGE.html PAGE.css SCRIPT.js...

The content policy of the page names the hashes of its one style and its one script: whatever a report holds, a browser
runs nothing else.
"""

import base64
import hashlib
import pathlib
import sys

DELIMITER = "embedded"
PLACES = ["@REPORT@", "@BEFORE@"]


def hash_of(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main() -> int:
    output, page, style, *scripts = map(pathlib.Path, sys.argv[1:])
    css = style.read_text()
    script = "\n".join(path.read_text() for path in scripts)
    for text in (css, script):
        if "</script" in text or "</style" in text or f'){DELIMITER}"' in text or any(place in text for place in PLACES):
            print("bundle-page.py: a source holds the end of its element, or a place of the page", file=sys.stderr)
            return 1
    # The script last: what was put in is searched for nothing more.
    html = page.read_text().replace("@SCRIPT_HASH@", hash_of(script)).replace("@STYLE_HASH@", hash_of(css))
    html = html.replace("@STYLE@", css).replace("@SCRIPT@", script)
    parts = []
    for place in PLACES:
        before, html = html.split(place)
        parts.append(before)
    parts.append(html)
    rows = ",\n".join(f'    R"{DELIMITER}({part}){DELIMITER}"' for part in parts)
    output.write_text('#include "tools/report/page.h"\n\nnamespace penstock::report {\n\n'
                      f"const char* const kPageParts[3] = {{\n{rows}}};\n\n}}  // namespace penstock::report\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
