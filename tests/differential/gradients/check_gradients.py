"""Runs the cases of gradient_cases.py through gradients-differential and compares with torch's autograd; those of float64
also with differences.

    check_gradients.py GRADIENTS_DIFFERENTIAL [NAME]

NAME: only cases whose names it is part of. Ends with `N passed, N failed`."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ops"))
import gradient_cases  # noqa: E402
from compare import Recorder, difference, type_of  # noqa: E402

# Graphs whose gradients torch refuses to compute, and graphs that have no derivative here yet: neither may change
# without a word.
REFUSED, MISSING = 0, 1


def flat(outputs):
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


class Recorded:
    """A case's document, what is in its memory, and the gradients that torch computes."""

    def __init__(self, case):
        self.name = case.name
        recorder = Recorder()
        outputs = flat(case.run(recorder.call))
        recorder.input_types = [(name, type_of(tensor)) for name, tensor, _ in recorder.inputs]
        self.document = recorder.document(outputs)
        self.document.pop("location")
        self.inputs = [tensor for _, tensor, _ in recorder.inputs]
        self.storages = [storage for _, _, storage in recorder.inputs]
        differentiable = [output for output in outputs if output.requires_grad]
        generator = torch.Generator().manual_seed(1)
        self.tangents = [torch.rand(output.shape, generator=generator, dtype=torch.float64).sub(0.3).to(output.dtype)
                         for output in differentiable]
        wanted = [tensor for tensor in self.inputs if tensor.requires_grad]
        found = torch.autograd.grad(differentiable, wanted, self.tangents, allow_unused=True) if differentiable else \
            [None] * len(wanted)
        gradients = iter(found)
        self.expected = [next(gradients) if tensor.requires_grad else None for tensor in self.inputs]

    def write(self, storages):
        dense = [bytes(tangent.contiguous().untyped_storage()) if tangent.numel() else b"" for tangent in self.tangents]
        for storage in self.storages + dense:
            storages.write(struct.pack("<Q", len(storage)) + storage)


def judge(stream, recorded):
    """What is wrong with the answer; empty if nothing is. None: there is no derivative."""
    def chunk():
        (length,) = struct.unpack("<Q", stream.read(8))
        return stream.read(length)

    ok = stream.read(1)
    if ok == b"":
        return "no answer"
    if ok == b"\0":
        message = chunk().decode()
        return None if "has no derivative here" in message else message
    problems = []
    for number, expected in enumerate(recorded.expected):
        has = stream.read(1) == b"\1"
        data = chunk() if has else b""
        if has != (expected is not None):
            problems.append(f"input {number}: {'a' if has else 'no'} gradient")
        elif has and (problem := difference(data, expected.detach())):
            problems.append(f"input {number}: {problem}")
    return "; ".join(problems)


def main():
    program, only = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    failures, passed, refused, missing, recorded = [], 0, [], [], []
    with tempfile.TemporaryDirectory() as folder:
        graphs, inputs, answers = (os.path.join(folder, name) for name in ("graphs.json", "inputs", "answers"))
        with open(graphs, "w") as documents, open(inputs, "wb") as storages:
            documents.write('{"penstock":"program","version":[1,0],"argv":["cases"],"settings":[]}\n')
            for case in gradient_cases.all_cases():
                if only not in case.name:
                    continue
                try:
                    one = Recorded(case)
                except (RuntimeError, IndexError) as error:
                    refused.append(f"{case.name}: {str(error).splitlines()[0][:150]}")
                    continue
                one.document["id"] = f"{len(recorded)}/0"
                documents.write(json.dumps(one.document) + "\n")
                one.write(storages)
                recorded.append(one)
            documents.write('{"penstock":"end","version":[1,0],"counts":[],"calls":[],"status":0}\n')
        done = subprocess.run([program, graphs, inputs, answers])
        with open(answers, "rb") as stream:
            for one in recorded:
                problem = judge(stream, one)
                if problem is None:
                    missing.append(one.name)
                elif problem:
                    failures.append(f"{one.name}: {problem}")
                else:
                    passed += 1
    for name in refused if len(refused) != REFUSED and not only else []:
        print("refused by torch:", name)
    for name in missing if len(missing) != MISSING and not only else []:
        print("no derivative:", name)
    if not only and (len(refused), len(missing)) != (REFUSED, MISSING):
        failures.append(f"{len(refused)} cases refused by torch and {len(missing)} without derivative, not {REFUSED} and {MISSING}")
    for failure in failures:
        print("FAILED", failure)
    failed = len(failures) + (done.returncode != 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
