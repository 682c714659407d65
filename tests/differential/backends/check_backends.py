"""Graphs that backends of the program's own get are what the program wrote: every op of torch's database.

Usage: check_backends.py PENSTOCK_RUN [--all] [OP]…
Runs functionals.py by penstock, a fixed spread of the ops, or all of them with more samples each.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PENSTOCK_TEST_PYTHON", sys.executable)
# At least so many callables in all of the database, and so many of a hundred must be handed over: what is not
# gives sizes that elements decide, elements that are not its memory, or no tensor at all.
LEAST_CALLABLES, LEAST_HANDED_OVER = 900, 88
SPREAD = 20  # one op of so many, in the fixed spread


def run(tool, store, arguments):
    environment = dict(os.environ, PENSTOCK_COMPILE="now", PENSTOCK_STORE=store, OMP_NUM_THREADS="1")
    return subprocess.run([tool, "--python=" + PYTHON, "-o", os.devnull, os.path.join(HERE, "functionals.py"), *arguments],
                          capture_output=True, text=True, env=environment, timeout=3000, check=False)


def main():
    tool, names = sys.argv[1], sys.argv[2:]
    everything = "--all" in names
    names = [name for name in names if name != "--all"]
    if names:
        parts = [["0", "1", "8", *names]]
    elif everything:
        parts = [[str(part), "8", "6"] for part in range(8)]
    else:
        parts = [["7", str(SPREAD), "2"]]
    failed, counts = 0, {}
    with tempfile.TemporaryDirectory() as store, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part, done in zip(parts, pool.map(lambda part: run(tool, store, part), parts)):
            total = re.search(r"^TOTAL (.*)$", done.stdout, re.MULTILINE)
            if done.returncode != 0 or total is None:
                failed += 1
                print(f"part {part}: status {done.returncode}: {done.stderr[-2000:]}")
                continue
            for name, count in re.findall(r"([a-z ]+)=(\d+)", total[1]):
                counts[name.strip()] = counts.get(name.strip(), 0) + int(count)
            wrong = re.findall(r"^WRONG .*$", done.stdout, re.MULTILINE)
            failed += bool(wrong)
            shown = wrong + (re.findall(r"^NOT HANDED OVER .*$", done.stdout, re.MULTILINE) if everything or names else [])
            print("\n".join(shown), end="\n" if shown else "")
    print(" ".join(f"{name}={count}" for name, count in sorted(counts.items())))
    callables, handed = counts.get("callables", 0), counts.get("handed over", 0)
    least = LEAST_CALLABLES if everything else LEAST_CALLABLES // SPREAD
    if not names and (callables < least or handed * 100 < LEAST_HANDED_OVER * callables):
        failed += 1
        print(f"only {handed} of {callables} callables were handed over; {least} are expected at least")
    print(f"{len(parts) - min(failed, len(parts))} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
