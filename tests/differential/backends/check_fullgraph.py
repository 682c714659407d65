"""torch.compile(fullgraph=True) raises where it does with TorchDynamo, but for what fullgraph_table.py says.

Usage: check_fullgraph.py PENSTOCK_RUN [--dynamo]
Runs fullgraph.py by penstock; with --dynamo also by plain Python, to see whether the table still holds for torch.
"""

import os
import re
import subprocess
import sys
import tempfile

from fullgraph_table import ACCEPTED, BLOCKS, OURS_ACCEPTS, REFUSED

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PENSTOCK_TEST_PYTHON", sys.executable)


def answers(*command):
    with tempfile.TemporaryDirectory() as store:
        environment = dict(os.environ, PENSTOCK_COMPILE="now", PENSTOCK_STORE=store, OMP_NUM_THREADS="1")
        done = subprocess.run([*command, os.path.join(HERE, "fullgraph.py")], capture_output=True, text=True,
                              env=environment, timeout=3000, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: status {done.returncode}: {done.stderr[-2000:]}")
    lines = re.findall(r"^([A-Za-z. ]+): (.*)$", done.stdout, re.MULTILINE)
    return {name: answer for answer, name in lines}


def compare(who, got, refused):
    wrong = 0
    for name in [*ACCEPTED, *REFUSED, *OURS_ACCEPTS]:
        expected = "refuses" if name in refused else "accepts"
        if got.get(name) != expected:
            wrong += 1
            print(f"{who} {got.get(name)}, where it {expected}: {name}")
    return wrong


def main():
    tool = sys.argv[1]
    missing = set(BLOCKS) - {*ACCEPTED, *REFUSED, *OURS_ACCEPTS}
    wrong = compare("penstock", answers(tool, "--python=" + PYTHON, "-o", os.devnull), set(REFUSED)) + len(missing)
    if "--dynamo" in sys.argv:
        wrong += compare("TorchDynamo", answers(PYTHON), {*REFUSED, *OURS_ACCEPTS})
    total = len(ACCEPTED) + len(REFUSED) + len(OURS_ACCEPTS)
    print(f"{total} cases, {len(OURS_ACCEPTS)} of which TorchDynamo alone refuses; {total - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
