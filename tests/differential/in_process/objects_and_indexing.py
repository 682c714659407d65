import torch, copy, pickle, warnings, sys
def f(x, *args, scale=1.0, **kw):
    s = f"{x.shape} {x.dtype}"
    y = x * scale + sum(args) + kw.get("bias", 0)
    assert y.shape == x.shape, "shape"
    return y, s
for i in range(4): print(f(torch.ones(2), 1, 2, scale=i * 0.5, bias=i))
def st(x):
    warnings.warn("careful")
    print("inside", x.sum().item(), file=sys.stdout)
    return x.clamp(min=0)
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    for i in range(3): st(torch.tensor([-1., i]))
print(len(w), w[0].message, w[0].lineno)
class C:
    def __init__(s, v): s.v = v; s.n = 0
    def __call__(s, x): s.n += 1; s.v = s.v + x; return s.v.mean()
    @property
    def twice(s): return s.v * 2
    def __getattr__(s, name):
        if name == "magic": return 42
        raise AttributeError(name)
c = C(torch.zeros(3))
for i in range(4): print(c(torch.ones(3)), c.n, c.twice, c.magic, hasattr(c, "nope"))
d = copy.deepcopy(c); print(pickle.loads(pickle.dumps(d.v)), d.n)
x = torch.arange(12.).reshape(3, 4)
def ix(x, i): return x[i], x[:, 1:3], x[..., None].shape, x[x > 5], x[[0, 2]], x[torch.tensor([1])], x[-1, ::2]
for i in range(3): print(ix(x, i))
def st2(x, i): x[i] = 0; x[:, 1] += i; x[x > 8] = -1; return x
for i in range(3): print(st2(x.clone(), i))
def chain(x): return torch.where(x > 3, x, -x).topk(2).values, x.sort(descending=True).indices, x.max(1), x.unique(), torch.cat([x, x]).split(2)[0], torch.stack([x, x], 1).chunk(2, 1)[1].shape, x.std(), x.var(0, unbiased=False), torch.einsum("ij,kj->ik", x, x), x.norm(), x.int() // 2, x % 3, x ** 2, 2 ** x[0], x.bool().any(), ~(x > 2)[0], x.long() << 1
for i in range(2): print(chain(x))


def scattered(x, to):
    """In-place ops that only torch has, on memory that the function makes."""
    sums = torch.zeros_like(x).index_add_(0, to, x)
    counts = torch.zeros(len(x)).index_add_(0, to, torch.ones(len(to))).clamp_(min=1)
    filled = torch.ones(2, 3).index_fill_(1, to[:1] % 3, 7.0)
    return sums / counts[:, None], filled + 1


with torch.no_grad():
    torch.manual_seed(3)
    for _ in range(4):
        print([t.tolist() for t in scattered(torch.randint(0, 9, (4, 2)).float(), torch.randint(0, 4, (4,)))])


def conjugates(a, b):
    """A conjugate is a bit of the tensor: its elements are not its memory."""
    z = torch.complex(a, b)
    return (z.conj().imag, z.conj().resolve_conj().abs(), (a * 2).to_sparse().to_dense() + b)


with torch.no_grad():
    for n in range(4):
        print([t.tolist() for t in conjugates(torch.tensor([1.0, 2]) + n, torch.tensor([3.0, -4]))])


def looked_up(weight, ids):
    return torch.nn.functional.embedding(ids.view(-1), weight) * 2


def chosen(table, at):
    return table[at] + 1, table[:, at] - 1


def written(table, at):
    table = table * 2
    table[at] = 1.0
    return table.scatter(0, at[:, None].clamp(0, 3), 5.0)


def gathered(table, at):
    return table.gather(0, at[:, None]) - 1, table.index_select(0, at)


def lost(scores, target):
    return torch.nn.functional.cross_entropy(scores, target) + 1


def beyond(function, table, indices):
    """Indices beyond the dim raise torch's errors, whatever ran before."""
    for index in indices:
        try:
            print(function.__name__, index, function(table, torch.tensor(index)))
        except (IndexError, RuntimeError) as error:
            print(function.__name__, index, type(error).__name__, error)


with torch.no_grad():
    table = torch.arange(16.0).reshape(4, 4)
    for function in (looked_up, chosen, written, gathered, lost):
        beyond(function, table, [[0, 1, 2, 3], [3, 2, 1, 0], [1, 1, 0, 2], [0, 4, 0, 0], [0, 0, 0, -1], [0, 0, 0, -5],
                                 [0, 2**40, 1, 1], [0, -100, 1, 2], [2, 2, 2, 2]])
    for at in ([1, 2], [2, 3], [3, 9], [0, 1]):
        try:
            print(chosen(table, torch.tensor(at, dtype=torch.int32)))
        except IndexError as error:
            print(error)
