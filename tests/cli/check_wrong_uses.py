#!/usr/bin/env python3
"""What people get wrong, and what they are told: each wrong use ends with its status and names the right next step.

    check_wrong_uses.py BUILD-ROOT PYTHON        the last line is `N passed, N failed`
"""

import pathlib
import shutil
import sys
import tempfile

from suite import Suite

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# The command behind `penstock`, its status, and words of what it says. toy.py is a program; toy.json its graphs, core.json and
# placed.json what stages made of them; cut.json ends in the middle, other.json is some JSON.
USES = [
    ("", 2, "man penstock"),
    ("rnu toy.py", 2, "Did you mean `penstock run`?"),
    ("help fues", 2, "Did you mean `penstock fuse`?"),
    ("explain PS9999", 2, "penstock-diagnostics(7) lists them all"),
    ("capture", 2, "penstock capture program.py"),
    ("capture --explain-rule=torch.nothing", 2, "torch has no 'nothing'"),
    ("run nowhere.py", 2, "can't open file"),
    ("run -m nowhere_module", 1, "No module named nowhere_module"),
    ("run syntax.py", 1, "SyntaxError"),
    ("run --complie=now toy.py", 2, "Did you mean --compile?"),
    ("run --compile=never toy.py", 2, "auto|now"),
    ("run --threads=0 toy.py", 2, "at least 1"),
    ("capture toy.py --fullgraph", 0, "put it first"),
    ("run -o - toy.py", 2, "name a file for documents, -o FILE"),
    ("run --watch -o - toy.py", 2, "name a file for documents, -o FILE"),
    ("run --watch --watch-port=99999 toy.py", 2, "99999 is no port"),
    ("run --watch toy.json", 2, "penstock report --html=FILE"),
    ("run --python=/nowhere toy.py", 6, "--python"),
    ("run --strict --python=/usr/bin/python3 toy.py", 6, "Install torch into it"),
    ("run --rules=nowhere toy.py", 6, "cannot read the rule file nowhere"),
    ("run --fullgraph toy.py", 1, "Use torch.where"),
    ("run --check toy.py", 2, "--self-check"),
    ("run --bench toy.py", 2, "penstock capture"),
    ("run --outputs=x toy.py", 2, "penstock export"),
    ("run toy.json", 3, "decompose | partition | fuse | codegen"),
    ("fuse toy.json", 3, "decompose | partition"),
    ("codegen core.json", 3, "partition | fuse"),
    ("decompose core.json", 3, "leave it out of the pipe"),
    ("decompose --print-after=fold toy.json", 2, "--list-passes"),
    ("report other.json", 3, "penstock capture"),
    ("report cut.json", 3, "stops inside document 2"),
    ("report /dev/null", 3, "Look at the error of the stage before"),
    ("report nowhere.json", 6, "Check the path"),
    ("report --html=/nowhere/x.html toy.json", 6, "Name another place"),
    ("report --from-html=toy.json", 3, "penstock report --html=FILE"),
    ("graphdiff toy.json", 2, "two files"),
    ("reduce toy.json", 2, "a file and a command"),
    ("reduce toy.json true", 1, "Try the command on the stream by hand"),
    ("reduce syntax.py false", 2, "is no Python program"),
    ("replay toy.json", 3, "penstock reduce --repro=FILE"),
    ("replay --store=elsewhere fails.zip", 6, "penstock trust fails.zip"),
    ("pack toy.json", 2, "-o FILE"),
    ("convert --emit=xml toy.json", 2, "auto|json|cbor|text|dot|pt2|onnx|mlir"),
    ("cache lss", 2, "ls, verify, repair, prune, clear"),
    ("export toy.py", 2, "-o FILE"),
    ("export --dynamic-sizes=x:0 -o x.pstk toy.py", 2, "x:0=batch"),
    ("trust nowhere", 6, "Check the path"),
    ("serve", 2, "penstock serve MODEL.pstk"),
    ("serve toy.py", 3, "penstock export"),
    ("serve toy.json", 3, "penstock export"),
    ("serve --name=a/b toy.json", 2, "--name"),
    ("serve --port=99999 toy.json", 2, "99999 is no port"),
]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(folder))
        shutil.copy(SOURCE / "examples/toy.py", suite.work)
        (suite.work / "syntax.py").write_text("def f(:\n")
        (suite.work / "other.json").write_text('{"a": 1}\n')
        suite.command("penstock", "capture", "-o", "toy.json", "toy.py")
        suite.command("penstock", "decompose", "-o", "core.json", "toy.json")
        suite.command("penstock", "reduce", "--repro=fails.zip", "toy.json", "false")
        (suite.work / "cut.json").write_bytes((suite.work / "toy.json").read_bytes()[:300])
        for words, status, hint in USES:
            told = suite.command("penstock", *words.split(), status=status)
            suite.check(f"penstock {words}: says '{hint}'", hint in told, told)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return suite.failed > 0


if __name__ == "__main__":
    sys.exit(main())
