"""Functions of tensors, which graphs for other compilers are made of: the same for each format.

A row: name, what it returns, its inputs. An input is NAME:DTYPE[KIND]:SIZES; a size that is a letter is dynamic.
Kinds: + positive elements, % elements below the number behind it, @ elements in (-1, 1).
"""
import json
import subprocess
import sys

from suite import Suite

SIZES = ({"n": 3, "m": 4}, {"n": 7, "m": 2}, {"n": 2, "m": 9})

CASES = [
    # elementwise, with numbers, promotion and broadcasting
    ("arithmetic", "(x + 2 * y) / (y.abs() + 1.5) - x * x", "x:f32:n,5 y:f32:5"),
    ("double", "(x - y).exp().sqrt() * 0.25 + y.sin() * y.cos()", "x:f64:n,3 y:f64:n,1"),
    ("half", "(x + y) * 0.5 + x.relu()", "x:f16:n,8 y:f16:8"),
    ("integers", "(x // y, x % y, x * 3 - y, torch.div(x, y, rounding_mode='trunc'))", "x:i64:n,4 y:i64+:4"),
    ("true division of integers", "x / y", "x:i64:n,4 y:i64+:4"),
    ("remainders", "(x % y, torch.fmod(x, y), torch.floor_divide(x, y))", "x:f32:n,6 y:f32+:6"),
    ("small integers", "(x + y, x * y, x // (y.abs() + 1), (x > y))", "x:i8:n,4 y:i8:4"),
    ("bytes", "(x & y, x | y, x ^ y, ~x, x.to(torch.float32).mean(1))", "x:u8:n,4 y:u8:4"),
    ("bools", "(x & y, x | ~y, x ^ y, x.any(1), x.all(), x.sum(0), torch.where(x, y, ~y))", "x:bool:n,4 y:bool:n,4"),
    ("comparisons", "(x < y, x <= 0.5, x == y, x != 0, x > y, x >= y)", "x:f32:n,4 y:f32:n,4"),
    ("where", "torch.where(x > 0, x, torch.where(y > 0, 0.0, y))", "x:f32:n,4 y:f32:4"),
    ("clamp", "(x.clamp(-0.5, 0.75), x.clamp(min=0.1), torch.clamp(x, y, y + 1))", "x:f32:n,4 y:f32:4"),
    ("extremes", "(torch.maximum(x, y), torch.fmin(x, y), torch.minimum(x, y))", "x:f32:n,4 y:f32:n,4"),
    ("powers", "(x ** 2, x ** y, 2.0 ** y, x.rsqrt(), x ** -0.5)", "x:f32+:n,4 y:f32:n,4"),
    ("exponentials", "(x.exp(), x.expm1(), torch.exp2(x), (x * 1e-4).expm1())", "x:f32:n,4"),
    ("logarithms", "(x.log(), x.log2(), x.log10(), x.log1p(), (x * 1e-5).log1p())", "x:f32+:n,4"),
    ("logarithms of doubles", "(x.log1p(), (x * 1e-9).log1p(), (x * 1e-9).expm1())", "x:f64+:n,4"),
    ("trigonometry", "(x.sin(), x.cos(), x.tan(), x.atan(), x.sinh(), x.cosh(), x.tanh())", "x:f32:n,4"),
    ("inverse trigonometry", "(x.asin(), x.acos(), torch.atan2(x, y), torch.atan2(y, -x.abs()))", "x:f32@:n,4 y:f32:4"),
    ("error functions", "(x.erf(), x.erfc(), torch.special.ndtr(x))", "x:f32:n,4"),
    ("rounding", "(x.floor(), x.ceil(), x.round(), x.trunc(), x.frac(), x.sign())", "x:f32:n,4"),
    ("not numbers", "(torch.isnan(x / y), torch.isfinite(x / y), torch.isinf(x / y), torch.nan_to_num(x / y))", "x:i64%2:n,4 y:i64%2:4"),
    ("shifts", "(x << 2, x >> 1, x >> y)", "x:i64:n,4 y:i64%5:4"),
    ("casts", "(x.to(torch.int64), x.to(torch.float64), x > 0, x.to(torch.bool), x.half())", "x:f32:n,4"),
    ("lerp", "(torch.lerp(x, y, 0.3), torch.addcmul(x, x, y, value=0.5), torch.addcdiv(x, y, y.abs() + 1))", "x:f32:n,4 y:f32:n,4"),
    # activations
    ("relu", "(F.relu(x), F.relu6(x), F.leaky_relu(x, 0.3), F.elu(x, 0.7), F.celu(x, 0.9), F.selu(x))", "x:f32:n,9"),
    ("relu of doubles", "(F.relu(x), F.leaky_relu(x, 0.3), F.elu(x, 0.7))", "x:f64:n,9"),
    ("gelu", "(F.gelu(x), F.gelu(x, approximate='tanh'), F.silu(x), F.mish(x))", "x:f32:n,9"),
    ("sigmoids", "(torch.sigmoid(x), F.logsigmoid(x), F.hardsigmoid(x), F.hardswish(x), F.softsign(x))", "x:f32:n,9"),
    ("softplus", "(F.softplus(x), F.softplus(x, 2.0, 3.0), F.threshold(x, 0.1, -3.0), F.hardtanh(x, -0.4, 0.6))", "x:f32:n,9"),
    ("glu", "(F.glu(x, 1), F.prelu(x, y), F.softshrink(x, 0.2), F.hardshrink(x, 0.3))", "x:f32:n,8 y:f32:8"),
    ("softmax", "(x.softmax(-1), x.log_softmax(0), x.softmax(1))", "x:f32:n,5,3"),
    ("softmax of doubles", "(x.softmax(0), torch.logsumexp(x, 1))", "x:f64:n,5"),
    ("softmax with a dtype", "torch.softmax(x, 1, dtype=torch.float32)", "x:f16:n,5"),
    # reductions
    ("sums", "(x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.mean(0), x.prod(2))", "x:f32:n,4,m"),
    ("sums of integers", "(x.sum(), x.sum(0), x.prod(1), x.amax(0), x.to(torch.int32).sum(1))", "x:i64:n,4"),
    ("moments", "(x.var(1), x.std(0, correction=0), torch.var_mean(x, 2, keepdim=True)[1])", "x:f32:n,4,3"),
    ("extremes of dims", "(x.amax(1), x.amin((0, 1)), x.max(), x.max(1)[0], x.min(0)[1], x.argmax(1), x.argmin())", "x:f32:n,4"),
    ("norms", "(x.norm(), torch.linalg.vector_norm(x, 1, 1), torch.linalg.vector_norm(x, 3, 0), F.normalize(x, dim=1))", "x:f32:n,4"),
    ("cumulative", "(x.cumsum(0), x.cumsum(1), x.cumprod(1))", "x:f32:n,4"),
    ("cumulative integers", "(x.cumsum(1), x.to(torch.int32).cumsum(0))", "x:i64:n,4"),
    ("logsumexp", "(torch.logsumexp(x, 1), torch.logsumexp(x, (0, 1), keepdim=True))", "x:f32:n,4"),
    ("any and all", "((x > 0).any(1), (x > -1).all(0, keepdim=True), torch.count_nonzero(x, 1))", "x:f32:n,4"),
    # views and joins
    ("views", "(x.reshape(-1, 6), x.transpose(0, 2), x[:, 1], x[..., ::2], x.flatten(1), x.unsqueeze(1).expand(-1, 5, -1, -1))", "x:f32:n,4,3"),
    ("sizes in arithmetic", "x.reshape(x.size(0) * 2, -1) * x.size(0) + (x.size(1) + x.size(0)) // 2", "x:f32:n,4"),
    ("slices", "(x[1:], x[:-1], x[:, -2:], x[::2], x[1:x.size(0) // 2 + 1])", "x:f32:n,5"),
    ("joins", "(torch.cat([x, y, x], 0), torch.stack([x, x * 2], 1), torch.hstack([x, x]))", "x:f32:n,4 y:f32:m,4"),
    ("splits", "(x.chunk(2, 1)[1], x.split([1, 3], 1)[1], torch.tensor_split(x, 3, 1)[2], x.unbind(1)[0])", "x:f32:n,4"),
    ("repeats", "(x.repeat(2, 3), x.tile(2), x.repeat_interleave(3, 1), x.roll(1, 0), x.roll((1, 2), (0, 1)))", "x:f32:n,4"),
    ("flips", "(x.flip(0), x.flip(0, 1), torch.rot90(x))", "x:f32:n,4"),
    ("triangles", "(x.tril(), x.triu(1), torch.tril(x, -1), x.diagonal(0, 0, 1))", "x:f32:n,n"),
    ("pads", "(F.pad(x, (1, 2)), F.pad(x, (1, 1, 0, 2), value=3.5), F.pad(x, (-1, 0)))", "x:f32:n,4"),
    ("reflections", "(F.pad(x, (1, 2), mode='reflect'), F.pad(x, (2, 1), mode='replicate'), F.pad(x, (1, 1), mode='circular'))", "x:f32:n,3,5"),
    ("windows", "(x.unfold(1, 3, 2), F.unfold(x[:, None], (2, 2)))", "x:f32:n,7,4"),
    ("made", "(torch.arange(x.size(0)), torch.zeros_like(x), x.new_full((2, 2), 7), torch.eye(3), torch.linspace(0, 1, 5), torch.arange(0, 2, 0.25))", "x:f32:n,4"),
    ("masks of sizes", "torch.full((x.size(0), x.size(0)), float('-inf')).triu(1) + x[:, :1]", "x:f32:n,4"),
    ("writes", "write(x)", "x:f32:n,4"),
    ("writes of slices", "write_slices(x, y)", "x:f32:n,6 y:f32:n,2"),
    # indices
    ("gathers", "(x.gather(1, i), torch.index_select(x, 0, j), x[j], x[:, j], F.embedding(i, x))", "x:f32:4,4 i:i64%4:4,3 j:i64%4:n"),
    ("scatters", "(x.scatter(1, i, y), x.scatter_add(1, i, y), x.scatter(1, i, 2.5))", "x:f32:n,4 i:i64%4:n,3 y:f32:n,3"),
    ("index puts", "(x.index_put((j,), y), x.index_add(0, j, y), x.index_copy(0, j, y))", "x:f32:9,4 j:i64=:n y:f32:n,4"),
    ("masked", "(x.masked_fill(m, 2.0), torch.where(m, x, 0))", "x:f32:n,4 m:bool:n,4"),
    ("orders", "(x.topk(2, 1), x.sort(1)[0], x.sort(0, descending=True), x.argsort(1))", "x:f32:n,5"),
    ("one hot", "F.one_hot(i, 5)", "i:i64%5:n,3"),
    ("takes", "(torch.take_along_dim(x, i, 1), x.take(i), torch.isin(i, j))", "x:f32:3,4 i:i64%4:3,2 j:i64%4:3"),
    # products and layers
    ("products", "(x @ y, torch.addmm(z, x, y, beta=0.5, alpha=2), F.linear(x, y.t(), z), x @ z)", "x:f32:n,4 y:f32:4,4 z:f32:4"),
    ("batched products", "(torch.bmm(x, y), torch.baddbmm(z, x, y, beta=0.5), x @ y[0], x.matmul(x.mT))", "x:f32:n,3,4 y:f32:n,4,5 z:f32:n,3,5"),
    ("products of integers", "(x @ y, torch.einsum('ij,jk->ki', x, y))", "x:i64:n,4 y:i64:4,3"),
    ("products of doubles", "(x @ y, torch.dot(y[:, 0], y[:, 1]), torch.outer(x[:, 0], y[0]), F.linear(x, y.t()))", "x:f64:n,4 y:f64:4,3"),
    ("einsum", "(torch.einsum('bij,bjk->bik', x, y), torch.einsum('bij,bkj->bk', x, x), torch.tensordot(x, y[0], 1))", "x:f32:n,3,4 y:f32:n,4,5"),
    ("convolutions", "(F.conv2d(x, w, b, stride=2, padding=1), F.conv2d(x, w, padding='same'), F.conv2d(x, w[:, :1], groups=3, dilation=2, padding=2))", "x:f32:n,3,9,m w:f32:6,3,3,3 b:f32:6"),
    ("convolutions of rows", "(F.conv1d(x, w, padding=2), F.conv_transpose1d(x, w.transpose(0, 1), stride=2, output_padding=1))", "x:f32:n,3,9 w:f32:4,3,3"),
    ("transposed convolutions", "F.conv_transpose2d(x, w, b, stride=2, padding=1, groups=2)", "x:f32:n,4,5,5 w:f32:4,3,3,3 b:f32:6"),
    ("max pools", "(F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.max_pool1d(x[:, :, 0], 3))", "x:f32:n,3,9,9"),
    ("average pools", "(F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), F.avg_pool2d(x, 2, ceil_mode=True))", "x:f32:n,3,9,9"),
    ("adaptive pools", "(F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 4)), F.adaptive_max_pool2d(x, 2))", "x:f32:n,3,9,9"),
    ("layer norms", "(F.layer_norm(x, (4,)), F.layer_norm(x, (4,), y, y), F.layer_norm(x, (3, 4), eps=0.1), F.rms_norm(x, (4,), y, 1e-5))", "x:f32:n,3,4 y:f32:4"),
    ("layer norms of doubles", "F.layer_norm(x, (4,), y, y)", "x:f64:n,3,4 y:f64:4"),
    ("group norms", "(F.group_norm(x, 2, y, y), F.group_norm(x, 4), F.instance_norm(x))", "x:f32:n,4,5 y:f32:4"),
    ("batch norms", "(F.batch_norm(x, y, y.abs() + 1, y, y), F.batch_norm(x, y, y.abs() + 1, eps=0.1))", "x:f32:n,4,5 y:f32:4"),
    ("attention", "F.scaled_dot_product_attention(x, y, y)", "x:f32:n,2,m,8 y:f32:n,2,5,8"),
    ("causal attention", "(F.scaled_dot_product_attention(x, x, x, is_causal=True), F.scaled_dot_product_attention(x, x, x, scale=0.3))", "x:f32:n,2,m,8"),
    ("masked attention", "(F.scaled_dot_product_attention(x, x, x, attn_mask=k), F.scaled_dot_product_attention(x, x, x, attn_mask=x[:, :1, :, :1] * 0.1))", "x:f32:n,2,4,8 k:bool:n,1,1,4"),
    ("resizing", "(F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=(7, 5), mode='bilinear'), F.interpolate(x, size=(8, 8), mode='bilinear', align_corners=True))", "x:f32:n,2,4,4"),
    ("bicubic", "F.interpolate(x, size=(7, 6), mode='bicubic')", "x:f32:n,2,4,4"),
    ("shuffles", "(F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2))", "x:f32:n,4,6,4"),
    ("grids", "(F.grid_sample(x, g, align_corners=False), F.affine_grid(g[:, :2, :, 0].new_ones((x.size(0), 2, 3)), (x.size(0), 2, 3, 3), align_corners=True))", "x:f32:n,2,5,5 g:f32@:n,3,3,2"),
    ("losses", "(F.mse_loss(x, y), F.cross_entropy(x, i), F.huber_loss(x, y, reduction='sum'), F.binary_cross_entropy_with_logits(x, y.sigmoid()))", "x:f32:n,5 y:f32:n,5 i:i64%5:n"),
    ("dropout in inference", "F.dropout(x + 1, 0.5, training=False)", "x:f32:n,5"),
    ("cells", "torch.lstm_cell(x, (h, h), w, w[:, :4], b, b)", "x:f32:n,4 h:f32:n,4 w:f32:16,4 b:f32:16"),
    ("distances", "(F.cosine_similarity(x, y, 1), F.pairwise_distance(x, y))", "x:f32:n,5 y:f32:n,5"),
    ("pairs", "torch.cdist(x, y)", "x:f32:3,5 y:f32:3,5"),
    ("several names", "{'a': x + 1, 'b': [x * 2, x[:1]]}", "x:f32:n,5"),
    ("a number", "x.sum() * 3 + torch.tensor(2.5)", "x:f32:n"),
    ("joined dims", "(x.transpose(1, 2).reshape(-1, 8), x.reshape(-1, 4), x.flatten(1), x.reshape(2 * x.size(0), -1))", "x:f32:n,2,m,4"),
]

# What control flow runs.
CONTROL = [
    ("condition", "torch.cond(x.sum() > 0, lambda x: x.sin() + y, lambda x: (x * 2).softmax(1) - y.exp(), (x,))", "x:f32:n,4 y:f32:4"),
    ("condition in a condition",
     "torch.cond(x.sum() > 0, lambda x: torch.cond(x.max() > 1, lambda x: x * x.shape[0], lambda x: x.neg(), (x,)), lambda x: x.relu(), (x,))",
     "x:f32:n,4"),
    ("loop", "torch.while_loop(lambda i, x: (i < 5) & (x.abs().sum() < 99), lambda i, x: (i + 1, x * y + i), (torch.tensor(0), x))", "x:f32:n,4 y:f32:4"),
    ("loop that does not run", "torch.while_loop(lambda x: x.sum() > 1e9, lambda x: x * 2, (x,))", "x:f32:n,4"),
    ("scan", "scan(lambda c, x: (torch.tanh(c + x), c * y), y * 0.5, x)", "x:f32:n,4 y:f32:4"),
    ("scan from the end", "scan(lambda c, x: (c * 0.5 + x, c - x), y * 0.5, x, reverse=True)[1]", "x:f32:n,4 y:f32:4"),
    ("map", "map_rows(lambda x: torch.cond(x.sum() > 0, lambda x: x + y, lambda x: x * y, (x,)), x)", "x:f32:n,4 y:f32:4"),
]

PROGRAM = """
import sys, torch
from torch.nn import functional as F
from torch._higher_order_ops import map as map_rows, scan

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "i64": torch.int64, "i8": torch.int8,
          "u8": torch.uint8, "bool": torch.bool}

def write(x):
    y = x * 2
    y[:, 1] = 5
    y[0] += x[1]
    y.mul_(0.5).relu_()
    return y

def write_slices(x, y):
    z = x.clone()
    z[:, 2:4] = y
    z[::2, ::3] = 1.5
    return z

def made(spec, sizes, seed):
    generator = torch.Generator().manual_seed(seed)
    name, dtype, dims = spec.split(":")
    kind, dtype = dtype.lstrip("abcdefghijklmnopqrstuvwxyz0123456789") , dtype
    for mark in "+%@=":
        if mark in dtype: kind, dtype = dtype[dtype.index(mark):], dtype[:dtype.index(mark)]
    dims = [sizes.get(d) or int(d) for d in dims.split(",")]
    torch_dtype = DTYPES[dtype]
    if kind == "=": return name, torch.arange(dims[0]).to(torch_dtype)
    if torch_dtype == torch.bool: return name, torch.rand(dims, generator=generator) > 0.5
    if not torch_dtype.is_floating_point:
        low, high = (0, int(kind[1:])) if kind.startswith("%") else (1, 9) if kind == "+" else (0 if dtype == "u8" else -9, 10)
        return name, torch.randint(low, high, dims, generator=generator).to(torch_dtype)
    x = torch.randn(dims, generator=generator, dtype=torch.float64)
    if kind == "+": x = x.abs() + 0.1
    if kind == "@": x = x.tanh() * 0.95
    return name, x.to(torch_dtype)

def inputs_of(specs, sizes):
    return dict(made(spec, sizes, 100 + at) for at, spec in enumerate(specs.split()))
"""


def program(cases) -> str:
    """A program that calls every case once, with dynamic sizes where letters stand; with a folder as argument it saves
    what eager gives at all sizes."""
    lines = [PROGRAM]
    for number, (_, expression, specs) in enumerate(cases):
        names = ", ".join(spec.split(":")[0] for spec in specs.split())
        lines.append(f"def case_{number}({names}):\n    return {expression}\n")
    lines.append(f"CASES = {[(name, specs) for name, _, specs in cases]!r}\nSIZES = {SIZES!r}")
    lines.append("""
def leaves(x):
    if torch.is_tensor(x): return [x]
    if isinstance(x, dict): x = x.values()
    return [leaf for each in x for leaf in leaves(each)] if isinstance(x, (list, tuple)) or not isinstance(x, (int, float)) else []

def mark(specs, given):
    for spec in specs.split():
        name, _, dims = spec.split(":")
        for at, dim in enumerate(dims.split(",")):
            if dim.isalpha(): torch._dynamo.mark_dynamic(given[name], at)
    return given

with torch.no_grad():
    for number, (name, specs) in enumerate(CASES):
        function = globals()[f"case_{number}"]
        if len(sys.argv) == 1:
            function(**mark(specs, inputs_of(specs, SIZES[0])))
            continue
        for at, sizes in enumerate(SIZES):
            given = inputs_of(specs, sizes)
            out = leaves(function(**given))
            torch.save((given, out), f"{sys.argv[1]}/case-{number}-{at}.pt")
""")
    return "\n".join(lines)


MODEL_NAMES = ("resnet50", "mobilenetv3", "efficientnet", "convnext", "vit", "bert", "gpt2", "distilbert", "llama")
# Captures a model, and writes what eager gives at three sizes.
MODELS = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from models import MODELS
name, folder = sys.argv[2:4]
torch.manual_seed(0)
model, args, kwargs = MODELS[name]()
model.eval()
def given(batch, length):
    if args: return (torch.randn(batch, 3, 224, 224),)
    return (torch.randint(0, 1000, (batch, length)),)
def call(x):
    out = model(x) if args else model(input_ids=x)
    # Of a model that generates the keys and values that it keeps are results, too, behind the first.
    return {"result": out} if torch.is_tensor(out) else {name: each for name, each in out.items() if torch.is_tensor(each)}
with torch.no_grad():
    x = given(2, 16)[0]
    torch._dynamo.mark_dynamic(x, 0)
    if not args: torch._dynamo.mark_dynamic(x, 1)
    call(x)
    for at, (batch, length) in enumerate(((2, 16), (3, 7), (5, 33))):
        x, = given(batch, length)
        torch.save(({"x": x}, call(x)), f"{folder}/{name}-{at}.pt")
"""


def write(suite: Suite, cases: list, form: str) -> list[tuple[int, str]]:
    """Captures the cases and converts each to case-NUMBER.FORM; their numbers and names."""
    (suite.work / "cases.py").write_text(program(cases))
    suite.command("penstock", "capture", "--only=case_*", "-o", "cases.json", "cases.py")
    graphs = {}
    for line in (suite.work / "cases.json").read_text().splitlines():
        document = json.loads(line)
        if document["penstock"] == "graph":
            graphs.setdefault(document["name"], []).append(document["id"])
    written = []
    for number, (name, _, _) in enumerate(cases):
        ids = graphs.get(f"case_{number}", [])
        suite.check(f"{name}: one graph", len(ids) == 1, ids)
        for graph in ids[:1]:
            suite.command("penstock", "convert", f"--emit={form}", f"--graph={graph}", "-o", f"case-{number}.{form}", "cases.json")
            written.append((number, name))
    return written


def runtime(suite: Suite, python: str, *packages: str) -> str:
    """A Python with these from PyPI, and with the packages of `python`."""
    subprocess.run([python, "-m", "venv", suite.work / "runtime"], check=True)
    inside = str(suite.work / "runtime/bin/python")
    paths = subprocess.run([python, "-c", "import site; print(*site.getsitepackages(), sep=chr(10))"], check=True, capture_output=True, text=True)
    (own,) = (suite.work / "runtime/lib").glob("python3*/site-packages")
    subprocess.run([inside, "-m", "pip", "install", "-q", *packages], check=True)
    (own / "more.pth").write_text(paths.stdout)
    return inside


if __name__ == "__main__":
    sys.stdout.write(program(CASES))
