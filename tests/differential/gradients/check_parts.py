#!/usr/bin/env python3
"""Cuts joint graphs of gradient_cases.py in two, compiles both parts, and compares what they give with the joint graphs by
reference semantics.

    check_parts.py TOOLS [NAME]

TOOLS: the folder of the tools. NAME: only cases whose names it is part of, all of them; else the programs and every tenth
other case. Ends with `N passed, N failed`."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import safetensors.torch
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ops"))
import gradient_cases  # noqa: E402
from check_gradients import Recorded  # noqa: E402

CUTS = ([], ["--save-all"], ["--memory-budget=0"])
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}


def chosen(only):
    programs = {case.name for case in gradient_cases.programs()}
    for number, case in enumerate(gradient_cases.all_cases()):
        if only in case.name if only else number % 10 == 0 or case.name in programs:
            yield case


class Tools:
    def __init__(self, folder, store):
        self.folder, self.environment = folder, os.environ | {"PENSTOCK_STORE": store}

    def __call__(self, text, *commands):
        """What the last of the tools prints, or None if one of them fails; any status of the last one will do."""
        for number, command in enumerate(commands):
            done = subprocess.run([os.path.join(self.folder, command[0]), *command[1:]], input=text, text=True,
                                  capture_output=True, env=self.environment)
            if done.returncode and number + 1 < len(commands):
                return None
            text = done.stdout
        return text


def stream(documents):
    head = {"penstock": "program", "version": [1, 0], "argv": ["cases"], "settings": []}
    end = {"penstock": "end", "version": [1, 0], "counts": [], "calls": [], "status": 0}
    return "".join(json.dumps(document) + "\n" for document in [head, *documents, end])


def problem_of(actual, expected):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not expected.dtype.is_floating_point:
        return "" if torch.equal(actual, expected) else "other numbers"
    a, b = actual.double(), expected.double()
    if not torch.equal(a.isnan(), b.isnan()) or not torch.equal(a.isinf() * a.sign(), b.isinf() * b.sign()):
        return "NaN or inf differ"
    finite = b.isfinite()
    a, b = a[finite], b[finite]
    error = ((a - b).abs().max() / (b.abs().max() + 1e-6)).item() if a.numel() else 0
    return "" if error <= TOLERANCE[expected.dtype] else f"error {error:.2e}"


def main():
    folder, only = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    failures, passed = [], 0
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(folder, os.path.join(work, "store"))
        path = lambda name: os.path.join(work, name)  # noqa: E731
        joints, names, inputs = [], {}, {}
        for number, case in enumerate(chosen(only)):
            try:
                one = Recorded(case)
            except (RuntimeError, IndexError):
                continue
            text = json.dumps(one.document | {"id": f"{number}/0"}).replace('"input_', f'"input_{number}_')
            graph = json.loads(text)
            for record in graph["inputs"]:
                record["kind"] = "user"
            joint = tools(stream([graph]), ["decompose", "--gradients"], ["convert"])
            if joint is None:
                continue
            joints.append(json.loads(joint.splitlines()[1]))
            names[f"{number}/0"] = one.name
            inputs |= {f"input_{number}_{place}": tensor.detach().clone().contiguous() for place, tensor in enumerate(one.inputs)}
        safetensors.torch.save_file(inputs, path("inputs"))
        run = ["run", "--inputs=" + path("inputs")]
        tools(stream(joints), run + ["--interpret", "--outputs=" + path("expected")])
        expected = safetensors.torch.load_file(path("expected"))
        for cut in CUTS:
            compile_all = (["partition", *cut], ["fuse"], ["codegen"], run + ["--outputs=" + path("actual")])
            results = tools(stream(joints), *compile_all)
            actual = safetensors.torch.load_file(path("actual")) if results else {}
            unsupported = [record["id"] for record in map(json.loads, (results or "").splitlines())
                           if record.get("verdict") == "unsupported"]
            for name, tensor in expected.items():
                frame = "/".join(name.split("/")[:2])
                if frame in unsupported:
                    continue
                problem = problem_of(actual[name], tensor) if name in actual else "nothing came"
                passed += not problem
                if problem:
                    failures.append(f"{names[frame]} ({' '.join(cut) or 'fastest'}): {name}: {problem}")
    for failure in failures:
        print("FAILED", failure)
    print(f"{passed} passed, {len(failures) + (passed == 0)} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
