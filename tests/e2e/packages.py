#!/usr/bin/env python3
"""Programs that use public packages (tests/e2e/packages) do under `penstock run` what they do under plain Python.

Each program runs twice, in an empty folder of its own, and must end with the same status, print the same
text and leave the same files. Numbers in the text may differ by rounding; tensors in files too. No end by a
signal, and no word of penstock's on standard error but those that ALLOWED has.

Those of QUICK need what scripts/setup installs; the others need the packages of packages/requirements.txt,
which --install puts into an environment beside the build tree, on top of the one of --python. What cannot
be imported is printed and fails, so that nothing is left out without a word. A program seeds every generator
that it draws from: one that does not differs from itself.

Usage: packages.py --bin DIR --python PYTHON [--install DIR] [--quick] [--bench] [NAME…]
  --quick   only those of QUICK
  --bench   also prints how long each took beside plain Python, cold (an empty store), one JSON object a line:
            wall clock and processor seconds, as the second says more where other work shares the machine.
            Plain Python runs a first time before, so that neither pays for byte code and cold files.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent / "packages"
QUICK = ("mnist_classifier", "nanogpt", "wgan_gp")
# A generous limit: it ends what hangs, and says nothing about speed.
LIMIT_S = 900
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def environment(store):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PENSTOCK_")}
    kept.update(PENSTOCK_STORE=str(store), OMP_NUM_THREADS=os.environ.get("OMP_NUM_THREADS", "2"),
                HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", MPLBACKEND="Agg")
    return kept


def processor_seconds():
    """What the processes that ended have used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command, folder, store):
    """Runs a command in an empty folder: its status, what it wrote, and its time by the clock and by the processors."""
    folder.mkdir(parents=True)
    start, used = time.monotonic(), processor_seconds()
    try:
        done = subprocess.run([str(part) for part in command], cwd=folder, env=environment(store), capture_output=True,
                              text=True, errors="replace", timeout=LIMIT_S, stdin=subprocess.DEVNULL, check=False)
        status, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as expired:
        status, out, err = "time", str(expired.stdout or ""), str(expired.stderr or "")
    return status, out, err, (time.monotonic() - start, processor_seconds() - used)


def close(a, b):
    """Whether two printed numbers may be roundings of sums made in another order."""
    if a == b:
        return True
    x, y = float(a), float(b)
    digits = max(len(a.partition(".")[2]), len(b.partition(".")[2]))
    if "." not in a and "." not in b:
        return False
    return abs(x - y) <= 2e-3 * max(abs(x), abs(y)) + 2 * 10.0 ** -digits


def text_difference(expected, actual):
    """What differs between two outputs: words are the same, numbers close. Empty if nothing does."""
    lines, others = expected.splitlines(), actual.splitlines()
    for number, (line, other) in enumerate(zip(lines, others), 1):
        if NUMBER.sub("#", line) != NUMBER.sub("#", other) or not all(map(close, NUMBER.findall(line), NUMBER.findall(other))):
            return f"line {number}\n  plain {line}\n  ours  {other}"
    if len(lines) != len(others):
        return f"{len(lines)} lines for {len(others)}"
    return ""


COMPARE_FILES = r"""
import pathlib, sys
import numpy as np, torch
def leaves(value, path=""):
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, dict):
        for key in value:
            # A checkpoint may name a tensor by the path of a file: the folder is each program's own.
            own = str(key).replace(str(a.resolve()), "").replace(str(b.resolve()), "")
            yield from leaves(value[key], f"{path}/{own}")
    elif isinstance(value, (list, tuple)):
        for i, one in enumerate(value):
            yield from leaves(one, f"{path}/{i}")
    elif isinstance(value, torch.Tensor):
        yield path, value
def load(path):
    if path.suffix == ".png":
        from PIL import Image
        return torch.from_numpy(np.array(Image.open(path)).astype("float32") / 255)
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file
        return load_file(str(path))
    if path.suffix in (".pt", ".bin", ".ckpt"):
        return torch.load(path, weights_only=False, map_location="cpu")
a, b = map(pathlib.Path, sys.argv[1:])
names = [{str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()} for root in (a, b)]
# Names that say when, and byte code, are never the same.
names = [{n for n in some if "__pycache__" not in n and "events.out" not in n} for some in names]
if names[0] != names[1]:
    print("files", sorted(names[0] ^ names[1]))
compared = 0
for name in sorted(names[0] & names[1]):
    try:
        x, y = load(a / name), load(b / name)
    except Exception as error:
        print(name, "cannot be read:", error)
        continue
    if x is None:
        continue
    xs, ys = dict(leaves(x)), dict(leaves(y))
    if xs.keys() != ys.keys():
        print(name, "has other tensors")
    for key in xs.keys() & ys.keys():
        compared += 1
        if xs[key].shape != ys[key].shape or xs[key].dtype != ys[key].dtype:
            print(name, key, xs[key].shape, ys[key].shape, xs[key].dtype, ys[key].dtype)
        elif not torch.allclose(xs[key].double(), ys[key].double(), rtol=1e-2, atol=2e-2, equal_nan=True):
            print(name, key, "differs by", (xs[key].double() - ys[key].double()).abs().max().item())
"""


def said(err):
    """What penstock wrote to the program's standard error."""
    return [line for line in err.splitlines() if line.startswith("penstock:")]


def check(options, name, python, work):
    """What is wrong with a program under penstock, and the two times."""
    program = HERE / f"{name}.py"
    store = work / "store"
    if options.bench:
        run([python, program], work / "first", store)
    plain = run([python, program], work / "plain", store)
    if plain[0] != 0:
        return f"plain Python ends with {plain[0]}:\n{plain[2][-1500:]}", None
    ours = run([pathlib.Path(options.bin) / "run", f"--python={python}", program], work / "ours", store)
    times = {"program": name}
    for kind, (before, after) in zip(("", "cpu_"), zip(plain[3], ours[3])):
        times.update({f"plain_{kind}s": round(before, 2), f"penstock_{kind}s": round(after, 2),
                      f"{kind}ratio": round(after / before, 2)})
    if ours[0] != plain[0]:
        return f"status {ours[0]}, plain Python {plain[0]}\n{ours[2][-2500:]}", times
    if difference := text_difference(plain[1], ours[1]):
        return difference, times
    files = subprocess.run([python, "-c", COMPARE_FILES, work / "plain", work / "ours"], capture_output=True, text=True, check=False)
    if files.stdout or files.returncode:
        return files.stdout + files.stderr[-500:], times
    if lines := said(ours[2]):
        return "\n".join(lines[:5]), times
    return "", times


def installed(base, folder):
    """The Python of an environment in `folder` that has the packages, and those of the environment of `base`."""
    requirements = HERE / "requirements.txt"
    python = folder / "bin" / "python"
    mark = folder / "installed.txt"
    if not mark.exists() or mark.read_text() != requirements.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([base, "-m", "venv", folder], check=True)
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        below, above = (subprocess.check_output([one, "-c", ask], text=True).strip() for one in (base, python))
        (pathlib.Path(above) / "below.pth").write_text(below + "\n")
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-compile", "-r", requirements], check=True, stdout=sys.stderr)
        mark.write_text(requirements.read_text())
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    # Programs run in folders of their own, so that paths must not be relative; a link to a Python stays a link.
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    parser.add_argument("--python", required=True, type=os.path.abspath)
    parser.add_argument("--install", type=lambda folder: pathlib.Path(os.path.abspath(folder)))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bench", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    python = options.python
    if options.install:
        python = installed(options.python, options.install)
    names = options.names or (QUICK if options.quick else sorted(path.stem for path in HERE.glob("*.py")))
    passed = failed = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="penstock-") as work:
            wrong, times = check(options, name, python, pathlib.Path(work))
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if options.bench and times:
            print(json.dumps(times), flush=True)
        if wrong:
            print(f"FAILED {name}: {wrong}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
