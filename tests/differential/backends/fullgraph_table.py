"""Calls of torch.compile(fullgraph=True) by whether they are refused: the table that check_fullgraph.py holds.

A case is an expression of a tensor `x` (and of what fullgraph.py defines), or the name of one of BLOCKS.
"""

# One graph, or a limit of penstock's own, which raises nothing: TorchDynamo accepts them.
ACCEPTED = """
x.relu() + 1
min(max(x.sum(), 0), 1)
max(x.sum(), 3)
max(x[0,0], x[1,1])
max([x.sum(), x.max()])
sorted([3, 1, 2])[0] + x
any(v > 0 for v in [1, 2]) + x
sum(v for v in x)
sum([x, x])
sum([1, 2]) + x
x.sum() in [1, 2]
x in [x]
3 in x
x.sum() in (x.sum(), 3)
x if x.shape[0] > 1 else -x
x if x is not None else -x
bool(x.sum())
int(x.sum()) + x
float(x.sum()) + x
int(i.sum()) + x
x.item() if x.numel() == 1 else x
x.sum().item() + x
i.sum().item() + x
i[0].item() + x
x.shape
list(x.shape)
x.numpy() + 1
np.asarray(x) + 1
torch.from_numpy(x.numpy() + 1)
x.data_ptr()
f"{x}"
f"{x.shape}"
id(x)
x.nonzero()
torch.nonzero(x)
torch.where(x > 0)
torch.where(x > 0, x, 0)
x[x > 2]
x[m].sum()
x.masked_select(m)
x.masked_fill(m, 0)
torch.unique(x)
x.unique()
torch.bincount(i)
F.one_hot(i, 4)
torch.repeat_interleave(x, i, dim=0)
torch.repeat_interleave(x, 2, dim=0)
x.is_nonzero() if x.numel() == 1 else x
x.backward() if x.requires_grad else x
x.detach().requires_grad_(False)
x.retain_grad() if x.requires_grad else x
x.to("cpu")
x.cpu()
x.to(torch.float64)
x.type(torch.float64)
x.type()
x.clone().set_(x)
x.register_hook(lambda g: g) if x.requires_grad else x
x.stride()
x.element_size()
x.is_contiguous()
x.grad
x.grad_fn
x.is_leaf
x.data
x.T
x.mT
x.real
x.device.type
x.dtype.is_floating_point
x._version
x._base
x.layout
len(x)
x.__len__()
list(x)
[a for a in x]
[a * b for a, b in zip(x, x)]
dict(zip("ab", x))["a"]
[a for a in enumerate(x)]
list(map(lambda v: v + 1, x))
list(filter(lambda v: v is not None, [x, None]))
list(reversed([x, x + 1]))
list(reversed(x))
tuple(itertools.chain([x], [x + 1]))
list(itertools.product([x], [x, 1]))
list(itertools.islice(itertools.count(1), 3))
list(itertools.accumulate([x, x, x]))
list(itertools.combinations([x, 1, 2], 2))
list(itertools.permutations([x, 1], 2))
list(itertools.repeat(x, 2))
list(itertools.zip_longest([x], [1, 2]))
list(itertools.compress([x, 1], [1, 0]))
list(itertools.dropwhile(lambda v: v < 2, [1, 2, 3]))
[k for k, g in itertools.groupby([1, 1, 2])]
list(itertools.pairwise([x, 1, 2]))
list(itertools.filterfalse(lambda v: v, [0, 1]))
functools.reduce(operator.add, [x, x, x])
functools.reduce(lambda a, b: a * b, [x, x], 2)
functools.partial(torch.add, 1)(x)
functools.partial(lambda a, b: a + b, b=2)(x)
operator.add(x, 1)
operator.itemgetter(0)(x)
operator.itemgetter(1)([x, x + 1])
operator.attrgetter("shape")(x)
operator.methodcaller("relu")(x)
operator.mul(x, x)
operator.not_(3)
operator.is_(x, x)
operator.contains([1, 2], 1)
operator.neg(x)
operator.matmul(x, x.T)
math.sqrt(4) * x
math.floor(2.5) + x
math.prod([2, 3]) * x
abs(x)
round(2.5) + x
divmod(7, 2)[0] + x
2 ** x
x // 2
x % 2
7 % x
x @ x.T
x == x
x != 1
x is x
x is not None
isinstance(x, torch.Tensor)
issubclass(type(x), torch.Tensor)
type(x) is torch.Tensor
hasattr(x, "foo")
getattr(x, "shape")
getattr(x, "foo", 3)
callable(x)
callable(torch.add)
torch.is_tensor(x)
torch.is_floating_point(x)
torch.is_grad_enabled()
torch.numel(x)
torch.tensor(3.0) + x
torch.tensor([1, 2])
torch.tensor(x)
torch.as_tensor(x)
torch.zeros(3) + 1
torch.rand(3) + 1
torch.randn_like(x)
torch.randperm(4)
torch.seed()
torch.get_default_dtype()
torch.set_grad_enabled(True)
torch.empty(3).fill_(1)
torch.arange(3) + x.shape[0]
torch.jit.is_scripting()
torch.jit.is_tracing()
torch.compiler.is_compiling()
torch._dynamo.is_compiling()
torch._assert(x.shape[0] == 2, "m")
torch._check(x.shape[0] == 2)
torch.autograd.grad(x.sum(), x) if x.requires_grad else x
torch.broadcast_shapes((1, 2), (2, 2))
torch.Size([1, 2])
torch.Size([2, 3]).numel() + x
torch.finfo(x.dtype).max
torch.iinfo(torch.int32).max
torch.promote_types(torch.float32, torch.int64)
torch.device("cpu")
lin(x)
lin.weight + x[:1]
lin.weight.shape
lin.training
list(lin.parameters())[0].sum()
dict(lin.named_parameters())["bias"]
nn.ReLU()(x)
F.relu(x)
F.cross_entropy(x, i)
F.dropout(x, 0.0)
F.interpolate(x[None], scale_factor=2.0)
F.scaled_dot_product_attention(x[None], x[None], x[None])
random.randint(1, 1) * x
np.sqrt(4.0) * x
np.int64(3) + x
x * np.float32(2)
x[np.int64(1)]
os.environ.get("HOME")
os.path.join("a", "b")
[x].copy()
[1, 2].count(1)
[x].extend([1])
[1, 2].clear()
[1, 2].remove(1)
[3, 1].sort()
[1, 2].reverse()
[x] * 2
[x] + [1]
[1, 2] == [1, 2]
[1, 2] < [1, 3]
(1, 2) == (1, 2)
(x,) + (1,)
{"a": x}.get("a")
{"a": x} | {"b": 1}
{"a": x}.copy()
{"a": 1}.items() == {"a": 1}.items()
{"a": x}.pop("a")
{"a": x}.popitem()
{"a": x}.setdefault("b", 1)
{"a": x}.update(b=1)
dict.fromkeys(["a"], x)
dict(a=x)
dict([("a", x)])
list({"a": x}.values())
len({"a": x})
"a" in {"a": x}
{1, 2} | {3}
{1, 2} & {2}
{1, 2} - {2}
{1, 2} ^ {2}
{1, 2} == {1, 2}
{1, 2} <= {1, 2}
{1, 2}.union({3})
{1, 2}.intersection({2})
{1, 2}.difference({2})
{1, 2}.symmetric_difference({2})
{1}.issubset({1, 2})
{1, 2}.issuperset({1})
{1}.isdisjoint({2})
{1}.copy()
{1}.pop()
set([1, 2])
frozenset([1, 2])
len({1, 2})
1 in {1, 2}
{1: x}.keys()
list({1: x}.keys())
collections.OrderedDict(a=x)["a"]
collections.defaultdict(list)["a"]
collections.Counter("aab")["a"]
collections.deque([x, 1])[0]
collections.deque([x, 1], maxlen=2).popleft()
collections.namedtuple("P", "a b")(x, 1).a
"a-b".split("-")
"a".upper()
"a,b".replace(",", "-")
"{} {}".format(1, 2)
"-".join(["a", "b"])
"abc".startswith("a")
"abc"[1]
str(3)
int("3") + x
float("3") + x
ord("a")
chr(97)
b"ab".decode()
range(3)[1] + x
list(range(3))
x[slice(0, 1)]
x[...]
x[None]
x[:, 1]
x[i]
x[[0, 1]]
x[0, [1, 2]]
x[-1]
iter([x]).__next__()
next(iter([x]))
next(iter([]), x)
next(i for i in [x])
(lambda a: a + 1)(x)
(lambda *a, **k: a[0] + k["b"])(x, b=1)
[f(x) for f in (torch.sin, torch.cos)]
complex(1, 2) * x
vars(lin)["training"]
zip([x], [1])
enumerate([x])
reversed([x])
map(len, [[x]])
filter(None, [1])
isinstance([x], (list, tuple))
any([])
all([])
sum([])
min(1, 2) + x
max([1, 2]) + x
min(x.shape) + x
max(x.shape, default=1)
x.size(0) * x
x.shape.numel() * x
x.view(x.size(1), -1)
x.new_zeros(3)
x.new_tensor([1, 2])
x.fill_diagonal_(0)
x.clone().copy_(x)
x.clone().zero_()
x.clone().add_(1)
x.index_select(0, i)
x.gather(1, i[:, None])
x.scatter(1, i[:, None], 1)
x.where(x > 0, 0)
x.expand(2, 2, 3)
x.repeat(2, 1)
x.unbind(0)
x.split(1)
x.chunk(2)
x.max(0)
x.max(0).values
x.topk(1)
x.sort()
x.std()
x.norm()
x.multinomial(1)
x.is_sparse
x.coalesce() if x.is_sparse else x
x.conj()
x.cumsum(0)
x.histc(3)
torch.stack([x, x])
torch.cat([x, x])
torch.einsum("ij->i", x)
torch.meshgrid(i, i, indexing="ij")
torch.linalg.norm(x)
torch.fft.fft(x)
torch.special.expit(x)
torch.vmap(torch.sum)(x)
torch.func.grad(lambda v: (v * v).sum())(x)
torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))
torch.utils.checkpoint.checkpoint(lambda v: v + 1, x, use_reentrant=False)
torch.ops.aten.add(x, 1)
torch.ops.aten.relu.default(x)
torch._foreach_add([x], 1)
torch.cuda.is_available()
torch.is_autocast_enabled()
torch.autocast("cpu").__class__
while_shape
assert
assert_m
assert_shape
raise
try
keyerror
with_no_grad
with_null
with_profile
with_autocast
with_suppress
generator
nested
closure
nonlocal
append
unpack
unpack_star
global
del
import
iadd
setitem
setitem_mask
setattr
dictcomp
setcomp
walrus
match
fstring
inplace
list_del
list_slice
loop_item
ternary_loop
lambda_sort
exc_tensor
grad_mode
early
and_shape
is_none
dataclass
star
yield_from
chain_cmp
str_key
mod_list
matmul_np
""".strip().splitlines()

# No graph can hold them: TorchDynamo raises, and so does penstock.
REFUSED = """
sorted([x.sum(), x.max()])
any(v > 0 for v in x.flatten())
all(v > 0 for v in x.flatten())
any([x.sum() > 0])
all([x.sum() > 100, x.sum() > 0])
1 if x.sum() > 0 else 2
x if x.sum() > 0 else -x
x if x.any() else -x
not x.sum()
x.sum() and x.max()
x.sum() or x.max()
x.tolist()
print(x)
print("a")
str(x)
repr(x)
format(x.sum())
hash(x)
torch.allclose(x, x)
torch.equal(x, x)
x.equal(x)
x.requires_grad_()
x.clone().resize_(3, 2)
x.clone().apply_(lambda v: v + 1)
x.storage()
x.untyped_storage().nbytes()
operator.truth(x.sum())
math.sqrt(x.sum())
torch.get_rng_state()
torch.set_num_threads(1)
torch.get_num_threads()
torch._dynamo.graph_break()
torch.save(x, io.BytesIO())
log.info("m")
log.warning("m")
warnings.warn("m")
time.time() * x
os.getcwd()
x[i.tolist()]
globals()["x"]
locals()
eval("1 + 1")
exec("a = 1")
x.to_sparse()
torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
while
if
print_mid
and_tensor
not_tensor
chain_cmp_t
disable
""".strip().splitlines()

# TorchDynamo raises and penstock does not: it follows them, they make a constant of the segment, or Python runs
# them behind or before a graph. The other way round there is nothing.
OURS_ACCEPTS = """
F.one_hot(i)
x.storage_offset()
x.names
list(itertools.starmap(operator.add, [(x, 1)]))
list(itertools.takewhile(lambda v: v < 2, [1, 2, 3]))
operator.setitem([1, 2], 0, x)
operator.concat([x], [x])
pow(x, 2)
torch.manual_seed(3)
torch.result_type(x, 1)
torch.no_grad().__enter__()
lin.state_dict()["weight"]
nn.Linear(3, 2)(x)
random.random() * x
np.random.rand() * x
copy.copy([x])
copy.deepcopy([1, 2])
copy.deepcopy(x)
copy.copy(x)
bytes([1])
slice(1, 2).indices(3)
type("T", (), {})()
object()
staticmethod(len)
torch.nested.nested_tensor([x])
class
enum
""".strip().splitlines()

BLOCKS = {
    "while": """while x.sum() < 10:
    x = x + 1
return x""",
    "while_shape": """k = 0
while k < x.shape[0]:
    x = x + 1
    k += 1
return x""",
    "if": """if x.sum() > 0:
    return x + 1
return x - 1""",
    "assert": """assert x.sum() > 0
return x + 1""",
    "assert_m": """assert x.sum() > 0, 'message'
return x + 1""",
    "assert_shape": """assert x.shape[0] == 2
return x + 1""",
    "raise": """try:
    raise ValueError('a')
except ValueError:
    return x + 1""",
    "try": """try:
    y = x + 1
finally:
    z = 2
return y * z""",
    "keyerror": """try:
    return {}['a']
except KeyError:
    return x + 1""",
    "with_no_grad": """with torch.no_grad():
    return x + 1""",
    "with_null": """with contextlib.nullcontext():
    return x + 1""",
    "with_profile": """with torch.profiler.record_function('a'):
    return x + 1""",
    "with_autocast": """with torch.autocast('cpu', dtype=torch.bfloat16):
    return x @ x.T""",
    "with_suppress": """with contextlib.suppress(ValueError):
    return x + 1""",
    "generator": """def g():
    yield x
    yield x + 1
return sum(g())""",
    "nested": """def h(a):
    return a + 1
return h(x)""",
    "closure": """k = 1
def h():
    nonlocal k
    k += 1
    return x + k
return h()""",
    "nonlocal": """y = x
def h():
    nonlocal y
    y = y + 1
h()
return y""",
    "class": """class A:
    pass
a = A()
a.x = x
return a.x + 1""",
    "append": """l = []
for a in range(3):
    l.append(x + a)
return torch.stack(l)""",
    "unpack": """a, b = x
return a + b""",
    "unpack_star": """a, *b = x
return a + b[0]""",
    "global": """global G
G = 3
return x + G""",
    "del": """y = x + 1
del y
return x""",
    "import": """import math
return x + math.pi""",
    "iadd": """y = x.clone()
y += 1
return y""",
    "setitem": """y = x.clone()
y[0] = 1
return y""",
    "setitem_mask": """y = x.clone()
y[y > 2] = 0
return y""",
    "setattr": """lin.foo = 3
return lin(x)""",
    "dictcomp": """return {k: x + k for k in range(2)}""",
    "setcomp": """return x + len({k for k in range(2)})""",
    "walrus": """if (n := x.shape[0]) > 1:
    return x + n
return x""",
    "match": """match x.shape[0]:
    case 2:
        return x + 1
return x""",
    "fstring": """n = f'{x.shape[0]}'
return x + int(n)""",
    "inplace": """x.add_(0)
return x""",
    "list_del": """l = [x, 1]
del l[1]
return l[0]""",
    "list_slice": """l = [x, 1, 2]
l[1:] = []
return l""",
    "print_mid": """y = x + 1
print('a')
return y * 2""",
    "loop_item": """y = 0
for v in x.flatten():
    y += v.item()
return x + y""",
    "ternary_loop": """for k in range(3):
    x = x + 1 if k % 2 else x - 1
return x""",
    "lambda_sort": """return x + sorted([(2, 'a'), (1, 'b')], key=lambda p: p[0])[0][0]""",
    "exc_tensor": """if x.shape[0] > 5:
    raise ValueError
return x""",
    "grad_mode": """torch._C._set_grad_enabled(False)
y = x + 1
torch._C._set_grad_enabled(True)
return y""",
    "early": """for v in [1, 2, 3]:
    if v == 2:
        break
    x = x + v
else:
    x = x * 2
return x""",
    "and_shape": """if x.shape[0] == 2 and x.shape[1] == 3:
    return x + 1
return x""",
    "and_tensor": """if x.shape[0] == 2 and x.sum() > 0:
    return x + 1
return x""",
    "not_tensor": """if not x.any():
    return x + 1
return x""",
    "is_none": """if x.grad is None:
    return x + 1
return x""",
    "enum": """class E(enum.Enum):
    A = 1
return x + E.A.value""",
    "dataclass": """return x + Pair(1, x).a""",
    "star": """def h(*a, **k):
    return a[0] + k['b']
return h(*[x], **{'b': 1})""",
    "yield_from": """def g():
    yield from [x, x]
return sum(g())""",
    "chain_cmp": """return x + 1 if 0 < x.shape[0] < 5 else x""",
    "chain_cmp_t": """return x + 1 if 0 < x.sum() < 50 else x""",
    "str_key": """d = {'a': x}
d['b'] = d['a'] + 1
del d['a']
return d""",
    "mod_list": """for l in nn.ModuleList([lin, lin]):
    x = l(x)
return x""",
    "disable": """return left(x) + 1""",
    "matmul_np": """return torch.as_tensor(np.array([1.0, 2.0, 3.0])) + x""",
}
