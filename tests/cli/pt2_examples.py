"""All examples of torch/_export/db that torch exports, and models: read, run, written and loaded again.

    pt2_examples.py examples PENSTOCK FOLDER [NAME…]
    pt2_examples.py models PENSTOCK FOLDER PROGRAMS [NAME…]    PROGRAMS: the file that builds models by name

Prints a row for each: whether it is read, runs without Python with eager's results, and whether what --emit=pt2 writes
is loaded by torch with eager's results and reads as the same graph. What is not read is named with the reason. The
last line counts. Ends with 1 where something that is read gives something else.
"""
import copy
import importlib.util
import json
import pathlib
import subprocess
import sys
import warnings

import torch
from safetensors.torch import load_file, save_file
from torch.export.graph_signature import InputKind, OutputKind

warnings.filterwarnings("ignore")
leaves = torch.utils._pytree.tree_leaves


class Wrong(Exception):
    """Something that was read gives another result."""


class Case:
    def __init__(self, penstock: str, folder: pathlib.Path, name: str):
        self.penstock, self.folder, self.name = penstock, folder, name

    def tool(self, *words: str) -> str:
        """The reason why it fails, or nothing."""
        done = subprocess.run([self.penstock, *words], cwd=self.folder, capture_output=True, text=True)
        if done.returncode < 0 or done.returncode == 5:
            raise Wrong(f"{words[0]} ends with {done.returncode}: {done.stderr}")
        lines = [line for line in done.stderr.splitlines() if "error[" in line]
        return "" if done.returncode == 0 else (lines[-1].split(": ", 1)[-1] if lines else done.stderr[-200:])

    def run(self, module, args, kwargs, dynamic) -> list[str]:
        with torch.no_grad():
            program = torch.export.export(copy.deepcopy(module), args, kwargs, dynamic_shapes=dynamic)
        file = f"{self.name}.pt2"
        torch.export.save(program, self.folder / file)
        why = self.tool("convert", "-o", f"{self.name}.json", file)
        if why:
            return [f"no: {why}", "", "", ""]
        fresh = copy.deepcopy(module)
        given = copy.deepcopy((args, kwargs))
        with torch.no_grad():
            wanted = fresh(*given[0], **given[1])
        row = ["yes", self.compiled(program, args, kwargs, wanted)]
        back = f"back-{self.name}.pt2"
        why = self.tool("convert", "--emit=pt2", "-o", back, file)
        if why:
            return [*row, f"no: {why}", ""]
        given = copy.deepcopy((args, kwargs))
        with torch.no_grad():
            got = torch.export.load(self.folder / back).module()(*given[0], **given[1])
        self.compare(leaves(got), leaves(wanted), "loaded")
        why = self.tool("convert", "-o", f"back-{self.name}.json", back) or self.tool(
            "graphdiff", f"{self.name}.json", f"back-{self.name}.json")
        return [*row, "yes", f"no: {why}" if why else "yes"]

    def compiled(self, program, args, kwargs, wanted) -> str:
        why = self.tool("convert", "-o", f"{self.name}.pstk", f"{self.name}.pt2")
        if why:
            return f"no: {why}"
        signature = program.graph_signature
        passed = [spec.arg.name for spec in signature.input_specs if spec.kind == InputKind.USER_INPUT]
        tensors = {}
        for name, value in zip(passed, leaves((args, kwargs)), strict=True):
            if isinstance(value, torch.Tensor):
                tensors[name] = value.detach().contiguous()
            elif isinstance(value, int) and not isinstance(value, bool):
                tensors[name] = torch.tensor(value)
        save_file(tensors, self.folder / "given.safetensors")
        why = self.tool("run", f"{self.name}.pstk", "--inputs=given.safetensors", "--outputs=got.safetensors", "-o", "/dev/null")
        if why:
            return f"no: {why}"
        got = load_file(self.folder / "got.safetensors")
        returned = [spec.arg.name for spec in signature.output_specs if spec.kind == OutputKind.USER_OUTPUT]
        unique = {name: value for name, value in zip(returned, leaves(wanted), strict=True) if isinstance(value, torch.Tensor)}
        self.compare([got[f"0/0/{i}"] for i in range(len(unique))], list(unique.values()), "compiled")
        return "yes"

    @staticmethod
    def compare(got, wanted, what: str) -> None:
        for a, b in zip(got, wanted, strict=True):
            if not isinstance(b, torch.Tensor):
                if a != b:
                    raise Wrong(f"{what}: {a}, and eager gives {b}")
                continue
            scale = b.abs().max().item() if b.numel() and b.dtype.is_floating_point else 1
            try:
                torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * scale, equal_nan=True)
            except AssertionError as error:
                raise Wrong(f"{what}: {error}") from None


def examples():
    """The cases that torch exports itself."""
    from torch._export.db.examples import all_examples
    from torch._export.db.case import SupportLevel
    for name, case in sorted(all_examples().items()):
        if case.support_level == SupportLevel.SUPPORTED:
            yield name, (case.model, case.example_args, case.example_kwargs, case.dynamic_shapes)


def models(file: str, names):
    """Models by name, with a batch of two that may be any."""
    specification = importlib.util.spec_from_file_location("models", file)
    programs = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(programs)
    for name in names or programs.MODELS:
        torch.manual_seed(0)
        module, args, kwargs = programs.MODELS[name]()
        args, kwargs = tuple(value[:2] for value in args), {key: value[:2] for key, value in kwargs.items()}
        if hasattr(getattr(module, "config", None), "use_cache"):
            module.config.use_cache = False  # torch.export knows no cache of transformers'
        dynamic = tuple({0: torch.export.Dim.AUTO} for _ in args) or {key: {0: torch.export.Dim.AUTO} for key in kwargs}
        yield name, (module.eval(), args, kwargs, dynamic)


def main() -> int:
    kind, penstock, folder, rest = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve()), pathlib.Path(sys.argv[3]), sys.argv[4:]
    cases = examples() if kind == "examples" else models(rest[0], rest[1:])
    counts = {"read": 0, "run": 0, "written": 0, "same": 0, "wrong": 0, "all": 0, "unexported": 0}
    for name, (module, args, kwargs, dynamic) in cases:
        if kind == "examples" and rest and name not in rest:
            continue
        counts["all"] += 1
        try:
            row = Case(penstock, folder, name).run(module, args, kwargs, dynamic)
        except Wrong as error:
            counts["wrong"] += 1
            row = [f"WRONG {error}", "", "", ""]
        except Exception as error:  # torch's own: it does not export or save the example
            counts["unexported"] += 1
            row = [f"torch: {type(error).__name__}: {str(error).splitlines()[-1][:100] if str(error) else ''}", "", "", ""]
        for key, cell in zip(("read", "run", "written", "same"), row):
            counts[key] += cell == "yes"
        print(f"{name:40} " + " | ".join(cell[:150] for cell in row), flush=True)
    print(json.dumps(counts))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
