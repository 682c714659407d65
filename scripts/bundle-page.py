#!/usr/bin/env python3
"""Makes a page of penstock from its sources: one C++ file with the texts that stand before, between and behind the places
where a tool puts data. A place is a word like @REPORT@ in PAGE.html.

    bundle-page.py OUTPUT HEADER NAMESPACE PAGE.html PAGE.css SCRIPT.js...

HEADER declares `extern const char* const kPageParts[N]` in NAMESPACE, N one more than the places.

The content policy of the page names the hashes of its one style and its one script: whatever its data hold, a browser
runs nothing else.
"""

import base64
import hashlib
import pathlib
import re
import sys

DELIMITER = "embedded"
PLACE = re.compile("@[A-Z]+@")


def hash_of(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main() -> int:
    output, header, namespace, page, style, *scripts = sys.argv[1:]
    css = pathlib.Path(style).read_text()
    script = "\n".join(pathlib.Path(path).read_text() for path in scripts)
    for text in (css, script):
        if "</script" in text or "</style" in text or f'){DELIMITER}"' in text or PLACE.search(text):
            print("bundle-page.py: a source holds the end of its element, or a place of the page", file=sys.stderr)
            return 1
    html = pathlib.Path(page).read_text().replace("@SCRIPT_HASH@", hash_of(script)).replace("@STYLE_HASH@", hash_of(css))
    html = html.replace("@STYLE@", css).replace("@SCRIPT@", script)
    rows = ",\n".join(f'    R"{DELIMITER}({part}){DELIMITER}"' for part in PLACE.split(html))
    pathlib.Path(output).write_text(f'#include "{header}"\n\nnamespace {namespace} {{\n\n'
                                    f"const char* const kPageParts[] = {{\n{rows}}};\n\n}}  // namespace {namespace}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
