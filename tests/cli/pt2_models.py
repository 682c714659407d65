"""Small modules, exported by torch.export in the ways that programs are: sizes that may be any, containers and keyword
arguments, buffers and arguments that are written, dtypes.

    pt2_models.py export FOLDER          writes NAME.pt2, and for each of several calls its inputs and results
    pt2_models.py compare FOLDER NAMES…  compares NAME-CALL.got.safetensors with eager's results
    pt2_models.py load FOLDER FILES…     loads each file, calls it as the module is called, and compares
"""
import copy
import logging
import pathlib
import sys
import warnings

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops import scan
from torch.export import Dim
from torch.nn import functional as F

warnings.filterwarnings("ignore")
logging.getLogger("torch._higher_order_ops.partitioner").setLevel(logging.WARNING)  # it shows every graph
torch.manual_seed(0)
AUTO = Dim.AUTO


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("scratch", torch.ones(4), persistent=False)
        self.shift = torch.full((4,), 3.0)

    def forward(self, x):
        self.total.add_(x.sum(0))
        return x * self.shift + self.scratch


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, flag):
        def inner(x):
            return torch.cond(x.sum() > 0, self.one, lambda x: self.two(x).relu() + 1, (x,))

        y = torch.cond(flag, inner, lambda x: x.sin() * self.one.bias, (x,))
        return y * 2


class Recurrence(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, h, xs):
        def step(h, x):
            h = torch.tanh(self.layer(h) + x)
            return h, h * 2

        return scan(step, h, xs)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.out = nn.Linear(8, 10, bias=False)
        self.out.weight = self.table.weight

    def forward(self, tokens):
        return self.out(self.table(tokens))


class Strided(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 4).t())
        self.register_buffer("part", torch.arange(20.0).view(4, 5)[1:, 1:4])

    def forward(self, x):
        return x @ self.weight, x[:, :3] + self.part.sum(0)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(32)

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = (each.view(b, t, 4, 8).transpose(1, 2) for each in self.qkv(x).split(32, 2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :] > 0)
        return x + self.out(self.norm(y.transpose(1, 2).reshape(b, t, c)))


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))

    def forward(self, x):
        return self.body(x).flatten(1).softmax(-1)


class Function(nn.Module):
    """A function without weights."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def containers(pair, table):
    return {"sum": pair[0] + pair[1], "more": [table["a"] * 2, (table["b"] - 1, None)]}, 3


def keywords(x, *, scale, flag=True, bias=None):
    return x * scale if flag else x + bias


def writes(x, y):
    x.mul_(2)
    y[:, 0] = 0
    return x + y


def chosen_by_size(x):
    first, second = torch.cond(x.shape[0] > 5, lambda x: (x + x.shape[0], x.sum(1)), lambda x: (x * 2, x.amax(1)), (x,))
    return first - 1, second


def maps(xs, y):
    return map_rows(lambda x, y: (x * y, x.sum()), xs, y)


def writes_only(x):
    x.add_(1)


def sizes(x):
    n, m = x.shape
    return x.view(-1, 2), torch.zeros(n + 1, m), x.new_full((n * m // 2,), n), n * 2 - 1


def integer(x, n):
    return x * n + torch.arange(n).sum()


def chunks(x):
    a, b = x.chunk(2, dim=1)
    parts = x.unbind(1)
    values, places = x.topk(2, dim=1)
    return a * b, parts[1], values, places


def returned(x, y):
    return x, y + 1, x


def asserted(x, y):
    torch._check(x.shape[0] % 2 == 0)
    return x.reshape(x.shape[0] // 2, -1), y.sum()


def no_grad(x):
    with torch.no_grad():
        y = x * 2
        z = y.sin()
    return z + x


def viewed(x):
    y = x.t()
    y.add_(1)
    return y, x[:, 1:].clone()


def infinite(x):
    return x.masked_fill(x < 0, float("-inf")).softmax(-1), torch.full_like(x, float("inf"))


def indexed(x, places):
    return x[:, places], x[:, None, 1:3], torch.cat([x, x * 2], 0)


def converted(x):
    return x.to(torch.float64), x.to(torch.int32), x.bool(), x.half().float()


def scalars(x):
    return torch.clamp(x, min=-0.5, max=1), x ** 2, torch.pow(2.0, x), x.std(), x.norm(p=2)


def any_of(*shape):
    return lambda n: tuple(n if size is None else size for size in shape)


def floats(dtype, *shape):
    return lambda n: torch.randn(any_of(*shape)(n)).to(dtype)


# name: module, arguments and keyword arguments for n, what is dynamic
N = None
MODELS = {
    "linear": (Linear(), lambda n: ((torch.randn(n, 8),), {}), ({0: AUTO},)),
    "ranged": (Linear(), lambda n: ((torch.randn(n, 8),), {}), ({0: Dim("rows", min=2, max=40)},)),
    "fixed": (Linear(), lambda n: ((torch.randn(3, 8),), {}), None),
    "buffers": (Buffers(), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "training": (Norm().train(), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "tied": (Tied(), lambda n: ((torch.randint(0, 10, (n, 5)),), {}), ({0: AUTO},)),
    "strided": (Strided(), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "attention": (Attention(), lambda n: ((torch.randn(n, 5, 32), torch.ones(n, 5)), {}), ({0: AUTO}, {0: AUTO})),
    "conv": (Conv().eval(), lambda n: ((torch.randn(n, 3, 8, 8),), {}), ({0: AUTO},)),
    "containers": (Function(containers), lambda n: (([torch.randn(n), torch.randn(n)], {"b": torch.randn(2), "a": torch.randn(n)}), {}),
                   ([{0: AUTO}, {0: AUTO}], {"b": None, "a": {0: AUTO}})),
    "keywords": (Function(keywords), lambda n: ((torch.randn(n, 3),), {"scale": torch.randn(3), "flag": True, "bias": None}),
                 {"x": {0: AUTO}, "scale": None, "flag": None, "bias": None}),
    "writes": (Function(writes), lambda n: ((torch.randn(n, 3), torch.randn(n, 3)), {}), ({0: AUTO}, {0: AUTO})),
    "writes_only": (Function(writes_only), lambda n: ((torch.randn(n, 3),), {}), ({0: AUTO},)),
    "sizes": (Function(sizes), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "integer": (Function(integer), lambda n: ((torch.randn(3), n), {}), (None, AUTO)),
    "chunks": (Function(chunks), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "returned": (Function(returned), lambda n: ((torch.randn(n, 4), torch.randn(3)), {}), ({0: AUTO}, None)),
    "asserted": (Function(asserted), lambda n: ((torch.randn(2 * n, 3), torch.randn(n)), {}), ({0: AUTO}, {0: AUTO})),
    "no_grad": (Function(no_grad), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "viewed": (Function(viewed), lambda n: ((torch.randn(n, 3),), {}), ({0: AUTO},)),
    "infinite": (Function(infinite), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "indexed": (Function(indexed), lambda n: ((torch.randn(n, 4), torch.tensor([0, 1, 1])), {}), ({0: AUTO}, None)),
    "converted": (Function(converted), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "scalars": (Function(scalars), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "half": (Linear().half(), lambda n: ((torch.randn(n, 8).half(),), {}), ({0: AUTO},)),
    "bfloat16": (Linear().bfloat16(), lambda n: ((torch.randn(n, 8).bfloat16(),), {}), ({0: AUTO},)),
    "chosen": (Gate(), lambda n: ((torch.randn(n, 4), torch.tensor(n % 2 == 0)), {}), ({0: AUTO}, None)),
    "chosen_by_size": (Function(chosen_by_size), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "recurrence": (Recurrence(), lambda n: ((torch.randn(4), torch.randn(n, 4)), {}), (None, {0: AUTO})),
    "maps": (Function(maps), lambda n: ((torch.randn(n, 4), torch.randn(4)), {}), ({0: AUTO}, None)),
    "decomposed": (Buffers(), lambda n: ((torch.randn(n, 4),), {}), ({0: AUTO},)),
    "decomposed_writes": (Function(writes), lambda n: ((torch.randn(n, 3), torch.randn(n, 3)), {}), ({0: AUTO}, {0: AUTO})),
}
CALLS = (4, 2, 7, 33)
TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 5e-2}


def exported(name: str) -> torch.export.ExportedProgram:
    module, arguments, dynamic = MODELS[name]
    args, kwargs = arguments(CALLS[0])
    program = torch.export.export(copy.deepcopy(module), args, kwargs, dynamic_shapes=dynamic)
    return program.run_decompositions() if name.startswith("decomposed") else program


def call(module, args, kwargs):
    """What a call returns, what it leaves in its arguments and in the module's buffers."""
    args, kwargs = copy.deepcopy((args, kwargs))
    with torch.no_grad():
        result = module(*args, **kwargs)
    return result, (args, kwargs), dict(module.named_buffers())


def close(got, wanted, what: str) -> None:
    tolerance = TOLERANCE.get(wanted.dtype, 1e-4)
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance / 10, equal_nan=True, msg=lambda text: f"{what}: {text}")


def leaves(tree) -> list:
    return torch.utils._pytree.tree_leaves(tree)


def export(folder: pathlib.Path, names) -> None:
    for name in names:
        program = exported(name)
        torch.export.save(program, folder / f"{name}.pt2")
        module, arguments, _ = MODELS[name]
        passed = [spec.arg.name for spec in program.graph_signature.input_specs
                  if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT]
        returned = [spec.arg.name for spec in program.graph_signature.output_specs
                    if spec.kind == torch.export.graph_signature.OutputKind.USER_OUTPUT]
        for n in CALLS:
            args, kwargs = arguments(n)
            given = dict(zip(passed, leaves((args, kwargs)), strict=True))
            save_file({key: torch.tensor(value) if isinstance(value, int) and not isinstance(value, bool) else value.contiguous()
                       for key, value in given.items() if isinstance(value, (torch.Tensor, int)) and not isinstance(value, bool)},
                      folder / f"{name}-{n}.safetensors")
            fresh = copy.deepcopy(module)
            result, after, buffers = call(fresh, args, kwargs)
            # A value that is returned twice is one output; behind them stand the new values of what was written.
            unique = {key: value for key, value in zip(returned, leaves(result), strict=True) if isinstance(value, torch.Tensor)}
            new = [value for value, old in zip(leaves(after), leaves((args, kwargs))) if isinstance(value, torch.Tensor) and not value.equal(old)]
            new += [value for key, value in buffers.items() if not value.equal(dict(module.named_buffers())[key])]
            torch.save((list(unique.values()), new), folder / f"{name}-{n}.pt")


def compare(folder: pathlib.Path, name: str) -> None:
    for n in CALLS:
        got = load_file(folder / f"{name}-{n}.got.safetensors")
        outputs, new = torch.load(folder / f"{name}-{n}.pt")
        values = [got[f"0/0/{i}"] for i in range(len(got))]
        for i, wanted in enumerate(outputs):
            close(values[i], wanted, f"{name} {n} output {i}")
        rest = values[len(outputs):]
        for wanted in new:  # in any order
            matching = [i for i, value in enumerate(rest) if value.shape == wanted.shape and value.dtype == wanted.dtype
                        and torch.allclose(value, wanted, rtol=1e-4, atol=1e-5)]
            assert matching, f"{name} {n}: a new value is missing among {rest}: {wanted}"
            del rest[matching[0]]


def load(folder: pathlib.Path, files) -> None:
    for file in files:
        name = pathlib.Path(file).stem
        module, arguments, _ = MODELS[name]
        program, original = torch.export.load(file), exported(name)
        ranges, wanted = ({str(value) for value in each.range_constraints.values()} for each in (program, original))
        assert ranges == wanted, f"{name}: ranges {ranges}, were {wanted}"
        for key in ("in_spec", "out_spec"):
            a, b = (getattr(each.module_call_graph[0].signature, key) for each in (program, original))
            assert a == b, f"{name}: {key} {a}, was {b}"
        kinds = [sorted((str(spec.kind), spec.target or "", str(spec.persistent)) for spec in each.graph_signature.input_specs)
                 for each in (program, original)]
        assert kinds[0] == kinds[1], f"{name}: inputs {kinds}"
        assert set(program.state_dict) == set(original.state_dict), f"{name}: {set(program.state_dict)}"
        for key, value in original.state_dict.items():
            assert program.state_dict[key].equal(value) and program.state_dict[key].stride() == value.stride(), key
        for n in CALLS:
            args, kwargs = arguments(n)
            # A call writes the program's own buffers.
            got, wanted = (call(each, args, kwargs) for each in (torch.export.load(file).module(), copy.deepcopy(module)))
            assert torch.utils._pytree.tree_structure(got[0]) == torch.utils._pytree.tree_structure(wanted[0]), name
            for a, b in zip(leaves(got), leaves(wanted), strict=True):
                if isinstance(b, torch.Tensor):
                    close(a, b, f"{name} {n}")
                else:
                    assert a == b, f"{name} {n}: {a}, and {b}"


def main() -> None:
    command, folder, rest = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    if command == "export":
        export(folder, rest or MODELS)
        print(*(rest or MODELS))
    elif command == "compare":
        for name in rest:
            compare(folder, name)
    else:
        load(folder, rest)


if __name__ == "__main__":
    main()
