"""Runs the cases of cases.py (in a Python with torch) through ops-differential and judges the answers."""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

import torch

import cases
import layout_cases
from case import Case, Formula


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


def type_of(tensor):
    record = {"dtype": dtype_name(tensor.dtype), "sizes": list(tensor.shape), "strides": list(tensor.stride())}
    if tensor.storage_offset():
        record["offset"] = tensor.storage_offset()
    if tensor.requires_grad:
        record["requires_grad"] = True
    return record


class Recorder:
    """Builds one graph document: inputs as they are met, one node per op."""

    def __init__(self):
        self.inputs, self.nodes, self.names, self.keep = [], [], {}, []

    def name(self, tensor):
        key = id(tensor)
        if key not in self.names:
            name = f"input_{len(self.inputs)}"
            self.names[key] = name
            self.keep.append(tensor)
            self.inputs.append((name, tensor, bytes(tensor.untyped_storage()) if tensor.untyped_storage().nbytes() else b""))
        return self.names[key]

    def argument(self, value):
        if isinstance(value, torch.Tensor):
            return {"value": self.name(value)}
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, float) and (value != value or abs(value) == float("inf")):
            return {"f": {float("inf"): "inf", -float("inf"): "-inf"}.get(value, "nan")}
        if isinstance(value, (list, tuple)):
            return {"list": [self.argument(item) for item in value]}
        return {"const": value}

    def call(self, op, *args, **kwargs):
        """Applies torch.ops.aten.OP and records it; gives what torch gives."""
        name, overload = op.split(".")
        function = getattr(getattr(torch.ops.aten, name), overload)
        given = dict(zip([a.name for a in function._schema.arguments], args)) | kwargs
        recorded = [{"name": key, **self.argument(value)} for key, value in given.items()]
        result = function(*args, **kwargs)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        described = []
        for item in results:
            fresh = f"value_{len(self.nodes)}_{len(described)}"
            described.append({"name": fresh, "type": type_of(item)})
            if not any(item is known for known in self.keep):
                self.names[id(item)] = fresh
                self.keep.append(item)
            else:  # an in-place op gives its argument itself
                self.names[id(item)] = fresh
        self.nodes.append({"op": f"aten.{op}", "args": recorded, "results": described})
        return result

    def document(self, outputs):
        return {
            "penstock": "graph", "version": [1, 0], "level": "torch", "id": "0/0", "name": "case",
            "location": None, "symbols": [], "slots": [],
            "inputs": [{"kind": "constant", "name": n, "type": t} for n, t in self.input_types],
            "outputs": [{"value": self.names[id(o)], "type": type_of(o)} for o in outputs],
            "mutations": [], "guards": [], "objects": [],
            "returns": {"kind": "literal", "literal": {"const": None}}, "restore": [],
            "ends": {"kind": "returned"}, "calls": [], "nodes": self.nodes,
        }


def record(case):
    """(document, storages, expected outputs, expected inputs afterwards) of one case."""
    recorder = Recorder()
    with torch.no_grad():
        outputs = case.run(recorder.call)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    recorder.input_types = [(name, type_of(tensor)) for name, tensor, _ in recorder.inputs]
    document = recorder.document(outputs)
    document.pop("location")
    storages = [storage for _, _, storage in recorder.inputs]
    return document, storages, [o.clone() for o in outputs], [t.clone() for _, t, _ in recorder.inputs]


# What is answered for every case.
KINDS = ("rule", "reference", "decomposition")
# What torch raises for combinations that it does not take. An op that it does not have is an AttributeError.
REFUSALS = (RuntimeError, IndexError, ValueError)
# How many cases of the whole run are compared by dtype of a result, and how many torch refuses: neither may change
# without a word.
COMPARED = {"float32": 10561, "float64": 4577, "float16": 3642, "bfloat16": 3742, "int64": 3832, "int32": 868, "uint8": 1117,
            "int8": 723, "bool": 4625, "int16": 30}
REFUSED = {"NotImplementedError": 1427, "RuntimeError": 6694, "IndexError": 454}
# Relative to an element, or where sums cancel to a share of the largest one.
TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 2e-5, torch.float64: 1e-12,
             torch.complex64: 2e-5, torch.complex128: 1e-12}


def difference(data, expected):
    """Why the dense bytes are not the expected tensor; empty when they are."""
    dense = torch.empty(expected.shape, dtype=expected.dtype)
    if len(data) != dense.numel() * dense.element_size():
        return f"{len(data)} bytes for {tuple(expected.shape)}"
    if dense.numel():
        dense = torch.frombuffer(bytearray(data), dtype=expected.dtype).reshape(expected.shape)
    if not expected.dtype.is_floating_point and not expected.dtype.is_complex:
        return "" if torch.equal(dense, expected) else f"got {dense.flatten()[:6].tolist()} want {expected.flatten()[:6].tolist()}"
    a, b = (torch.view_as_real(t) if t.is_complex() else t for t in (dense, expected))
    a, b = a.double(), b.double()
    if not torch.equal(a.isnan(), b.isnan()) or not torch.equal(a.isinf() * a.sign(), b.isinf() * b.sign()):
        return f"NaN or inf differ: got {a.flatten()[:6].tolist()} want {b.flatten()[:6].tolist()}"
    finite = b.isfinite()
    a, b = a[finite], b[finite]
    if not a.numel():
        return ""
    tolerance = TOLERANCE[expected.dtype]
    floor = 0.3 if expected.dtype.itemsize == 2 else 1e-2  # cancellation leaves little of 8 or 11 bits
    error = ((a - b).abs() / (b.abs() + floor * b.abs().max() + 1e-6)).max().item()
    return "" if error <= tolerance else f"error {error:.2e}: got {a[:6].tolist()} want {b[:6].tolist()}"


def read_answers(stream, expected_groups):
    """One (failure text or empty) per record."""
    def chunk():
        (length,) = struct.unpack("<Q", stream.read(8))
        return stream.read(length)

    for expected in expected_groups:
        ok = stream.read(1)
        if not ok:
            yield "no answer"
        elif ok == b"\2":
            yield ""
        elif ok == b"\0":
            yield chunk().decode()
        else:
            problems = [difference(chunk(), tensor) for tensor in expected]
            yield next((p for p in problems if p), "")


def main():
    program, only = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    named = only.startswith("layout") and layout_cases.all_layouts()
    given = (Case(name, run) for name, run in named) if named else cases.all_cases()
    selected = [case for case in given if only in case.name]
    failures, passed = collections.defaultdict(list), 0
    refusals, dtypes = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        graphs, inputs, answers = (os.path.join(folder, name) for name in ("graphs.json", "inputs", "answers"))
        expectations, names, kinds_of = [], [], []
        with open(graphs, "w") as documents, open(inputs, "wb") as storages:
            documents.write('{"penstock":"program","version":[1,0],"argv":["cases"],"settings":[]}\n')
            for number, case in enumerate(selected):
                try:
                    document, data, outputs, after = record(case)
                except REFUSALS as error:  # a combination that torch itself refuses is no case
                    refusals[type(error).__name__] += 1
                    if os.environ.get("SHOW_REFUSED"):
                        print("refused", type(error).__name__, case.name, str(error).splitlines()[0][:120])
                    continue
                dtypes.update({dtype_name(output.dtype) for output in outputs})
                document["id"] = f"{number}/0"
                documents.write(json.dumps(document) + "\n")
                for storage in data:
                    storages.write(struct.pack("<Q", len(storage)) + storage)
                names.append(case.name)
                kinds_of.append(("decomposition",) if isinstance(case, Formula) else KINDS)
                expectations.append((outputs, after))
            documents.write('{"penstock":"end","version":[1,0],"counts":[],"calls":[],"status":0}\n')
        done = subprocess.run([program, graphs, inputs, answers])
        with open(answers, "rb") as stream:
            for name, judged, (outputs, after) in zip(names, kinds_of, expectations):
                for kind, problem in zip(KINDS, read_answers(stream, [[], outputs + after, outputs + after])):
                    if kind not in judged:
                        continue
                    if problem:
                        failures[f"{kind}: {name}"].append(problem)
                    else:
                        passed += 1
    for kind, counts, held in ("compared", dtypes, COMPARED), ("refused by torch", refusals, REFUSED):
        if not only and counts != held:
            failures[f"cases {kind}"].append(f"{dict(counts)}, not {held}")
    for name, problems in failures.items():
        print(f"FAILED {name}: {problems[0]}")
    failed = sum(map(len, failures.values())) + (done.returncode != 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
