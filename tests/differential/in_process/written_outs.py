"""`out=`: tensors of the same sizes, others that torch resizes, other dtypes, views, operands that are written, several results."""
import warnings

import torch

LIKE = """
torch.add(x, y, out=o); torch.mul(x, 2, out=o); torch.mm(x, y, out=o); torch.matmul(x, y, out=o); torch.addmm(x, x, y, out=o)
torch.sub(x, y, alpha=2, out=o); torch.clamp(x, 0, 3, out=o); torch.where(x > 1, x, y, out=o); torch.cumsum(x, 0, out=o); torch.pow(x, 2, out=o)
torch.div(x, y + 1, rounding_mode="floor", out=o); torch.tril(x, out=o); torch.gather(x, 0, torch.zeros(3, 3, dtype=torch.long), out=o)
torch.index_select(x, 0, torch.tensor([2, 0, 1]), out=o); torch.add(x, y, out=o.t()); torch.add(x[0], y[0], out=o[1]); torch.add(x[0], y[0], out=o[:, 1])
torch.add(x, y, out=x); torch.mm(x, y, out=x); torch.add(x[:2], y[:2], out=x[1:]); torch.maximum(x, y, out=y)
torch.zeros(3, 3, out=o); torch.ones((3, 3), out=o); torch.full((3, 3), 2.5, out=o); torch.eye(3, out=o); torch.arange(3, out=o[0])
torch.arange(1, 4, out=o[:, 2]); torch.arange(0.0, 1.5, 0.5, out=o[1]); torch.linspace(0, 1, 3, out=o[2]); torch.rand(3, 3, out=o); torch.randn(3, 3, out=o)
torch.inverse(x + 9 * torch.eye(3), out=o).round_(decimals=3); torch.eq(x, y, out=o); torch.add(x.long(), y.long(), out=o); torch.logical_and(x, y, out=o)
""".replace("\n", "; ").strip("; ").split("; ")
# What is written, and the call: `o` is shown behind it.
OTHERS = """
torch.empty(0); torch.add(x, y, out=o)
torch.zeros(2); torch.add(x, y, out=o)
torch.zeros(12); torch.add(x, y, out=o)
torch.zeros(3, 3, dtype=torch.float64); torch.add(x, y, out=o)
torch.zeros(3, 3, dtype=torch.float16); torch.div(x, y + 3, out=o)
torch.zeros(3, 3, dtype=torch.float32); torch.div(x.to(torch.bfloat16), y.to(torch.bfloat16) + 3, out=o)
torch.zeros(3, 3, dtype=torch.float64); torch.ge(x, y, out=o)
torch.zeros(3, 3, dtype=torch.int32); torch.ge(x, y, out=o)
torch.zeros(3, 3, dtype=torch.int32); torch.add(x, y, out=o)
torch.zeros(3, dtype=torch.float64); torch.sum(x / 10, 0, out=o)
torch.zeros(3); torch.sum(x, 0, out=o)
torch.zeros(3); torch.amax(x, 1, out=o)
torch.zeros(3); torch.prod(x, 0, out=o)
torch.zeros(3, dtype=torch.long); torch.argmax(x, 0, out=o)
torch.zeros(3, 3, dtype=torch.bool); torch.eq(x, y, out=o)
torch.zeros(3, 3, dtype=torch.int64); torch.full((3, 3), 3, out=o)
torch.zeros(3, 3, dtype=torch.float64); torch.eye(3, out=o)
torch.zeros(4, dtype=torch.int64); torch.arange(4, out=o)
torch.zeros(2); torch.arange(4, out=o)
torch.empty(0); torch.zeros(2, 2, out=o)
torch.zeros(6, 3); torch.cat((x, y), out=o)
torch.empty(0); torch.cat((x, y), 1, out=o)
torch.zeros(2, 3, 3); torch.stack((x, y), out=o)
torch.empty(0, dtype=torch.long); torch.nonzero(x, out=o)
torch.empty(0); torch.masked_select(x, x > 1, out=o)
x + 1; torch.mul(x, 2, out=o)
x + 1; torch.mul(x[:2], 2, out=o)
torch.zeros(3); r = torch.max(x, 0, out=(o, torch.zeros(3, dtype=torch.long))); o.add_(r[1]) if r[0] is o else 1
torch.empty(0); r = torch.sort(x, 0, out=(o, torch.empty(0, dtype=torch.long))); o.add_(r[1]) if r[0] is o else 1
torch.zeros(2, 3); r = torch.topk(x, 2, 0, out=(o, torch.zeros(2, 3, dtype=torch.long))); o.add_(r[1]) if r[0] is o else 1
torch.zeros(3); i = torch.ones(3, dtype=torch.long); torch.min(x, 1, out=(o, i)); o += i; i += 1; o *= i
torch.zeros(3); i = torch.ones(3, dtype=torch.long); torch.max(x, 0, out=(o, i)).values.add_(1); o.sub_(i)
torch.zeros(3, 3); i = torch.ones(3, 3, dtype=torch.long); torch.sort(x, 1, True, out=(o.t(), i)); o.add_(i)
torch.zeros(3, 3); i = torch.ones(3, dtype=torch.long); torch.max(x, 0, out=(o[1], i)); o.mul_(2)
torch.zeros(3, 3); i = torch.ones(3, dtype=torch.long); torch.max(o + x, 0, out=(o[1], i)); o.mul_(2)
x + 1; i = torch.ones(3, dtype=torch.long); torch.max(o, 0, out=(o[1], i)); o.mul_(2)
torch.zeros(3); i = torch.ones(3, dtype=torch.long); torch.kthvalue(x, 2, 0, out=(o, i)); o.add_(i)
torch.zeros(3); i = torch.ones(3, dtype=torch.int32); torch.frexp(x[0], out=(o, i)); o.add_(i)
torch.zeros(3); i = torch.zeros(3); torch.aminmax(x, dim=0, out=(o, i)); o.mul_(i)
torch.zeros(3, dtype=torch.float64); i = torch.ones(3, dtype=torch.long); torch.max(x.double(), 0, out=(o, i)); o.add_(i)
torch.zeros(3, 3); o.resize_(2, 2); o.mul_(0)
torch.zeros(3, 3); o.resize_as_(torch.ones(2, 4)).fill_(1)
torch.zeros(3, 3); o.set_(x); o.add_(1)
torch.zeros(3, 3); o.addbmm_(x[None], y[None])
torch.zeros(3, 3); torch.addbmm(o, x[None], y[None], out=o)
""".strip().splitlines()


def told(tensor):
    return tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.tolist(), tensor._version, tensor._base is None, tensor.untyped_storage().nbytes()


# A function of its own for every call: each has few ways to be called.
PROGRAM = """
@torch.no_grad()
def written(x, y, o):
    z = x * 2 + 1
    first = o
    {}
    return o * 1, o, z, x + 1, o is first
"""

calls = [start + call for call in LIKE for start in ("", "o = o * 1; ")] + ["o = " + other for other in OTHERS]
for text in calls:  # at the top level, which is not captured: else it is what runs out of ways
    names = {"torch": torch}
    exec(compile(PROGRAM.format(text), __file__, "exec"), names)
    print(text)
    for turn in range(4):
        x = torch.arange(9.0).view(3, 3) + turn
        y, o = x * 2 + 1 - turn, torch.zeros(3, 3)
        torch.manual_seed(turn)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                given = names["written"](x, y, o)
                print([told(tensor) for tensor in (*given[:4], x, y, o)], given[4])
            except RuntimeError as error:
                print(str(error).splitlines()[0], told(x), told(o))
        print([str(warning.message)[:70] for warning in warned])
