"""One op or operator a function, each called once: `python overload_cases.py` prints the overloads that
torch itself traces before dispatch, one line a case; under capture each case is a root of its own, named by its number."""
import sys
import torch

torch.manual_seed(0)
x, y = torch.rand(4, 4), torch.rand(4, 4)
n = torch.arange(16).reshape(4, 4)
b = torch.rand(4, 4) > 0.5
i = torch.tensor([0, 2])

CASES = [
    lambda: x + y, lambda: x + 1, lambda: 1 + x, lambda: x - y, lambda: x - 2.5, lambda: 1 - x,
    lambda: x * 2, lambda: 2 * x, lambda: x / y, lambda: x / 2, lambda: x // 2, lambda: x % 2,
    lambda: x ** 2, lambda: 2 ** x, lambda: x ** y, lambda: x @ y, lambda: -x, lambda: ~b,
    lambda: x < 1, lambda: x < y, lambda: 1 < x, lambda: x == y, lambda: x != 1, lambda: b & b,
    lambda: torch.abs(x), lambda: x.abs(), lambda: torch.add(x, y, alpha=2), lambda: x.add(1),
    lambda: torch.sum(x), lambda: x.sum(-1), lambda: x.sum((0, 1), keepdim=True),
    lambda: x.sum(dim=0, dtype=torch.float64), lambda: x.mean(0), lambda: x.mean(), lambda: x.max(),
    lambda: x.max(0).values, lambda: torch.max(x, y), lambda: x.amax(-1), lambda: x.var(0),
    lambda: x.std(), lambda: x.argmax(-1), lambda: x.cumsum(0), lambda: x.prod(),
    lambda: x.clamp(0, 1), lambda: x.clamp(min=0.5), lambda: torch.clamp(x, y, y + 1),
    lambda: torch.where(b, x, y), lambda: torch.where(b, x, 0.0), lambda: x.where(b, y), lambda: x.where(b, 0.5),
    lambda: x.where(condition=b, other=y), lambda: x.where(b, other=y), lambda: x.polygamma(2), lambda: torch.polygamma(1, x), lambda: x.repeat_interleave(2, dim=0), lambda: torch.repeat_interleave(x, 2, 1), lambda: x.masked_fill(b, 1.0),
    lambda: x.relu(), lambda: torch.nn.functional.relu(x), lambda: torch.nn.functional.gelu(x),
    lambda: torch.nn.functional.gelu(x, approximate="tanh"), lambda: torch.nn.functional.silu(x),
    lambda: torch.softmax(x, -1), lambda: x.softmax(dim=0), lambda: torch.log_softmax(x, 1),
    lambda: torch.nn.functional.softmax(x, dim=-1), lambda: torch.nn.functional.linear(x, y),
    lambda: torch.nn.functional.layer_norm(x, (4,)), lambda: torch.matmul(x, y), lambda: x.mm(y),
    lambda: torch.bmm(x[None], y[None]), lambda: torch.addmm(x, x, y), lambda: x.view(2, 8),
    lambda: x.view(-1), lambda: x.view((2, 8)), lambda: x.reshape(2, -1), lambda: x.permute(1, 0),
    lambda: x.transpose(0, 1), lambda: x.t(), lambda: x.T, lambda: x.flatten(), lambda: x.unsqueeze(0),
    lambda: x.squeeze(), lambda: x[None].squeeze(0), lambda: x.expand(2, 4, 4), lambda: x.chunk(2)[0],
    lambda: x.split(2)[1], lambda: x.split([1, 3])[0], lambda: x.unbind(0)[0],
    lambda: torch.cat([x, y]), lambda: torch.cat((x, y), dim=1), lambda: torch.stack([x, y], -1),
    lambda: x[0], lambda: x[0, 1], lambda: x[1:3], lambda: x[:, None], lambda: x[..., 0],
    lambda: x[None], lambda: x[:, 1:], lambda: x[i], lambda: x[:, i], lambda: x.float(),
    lambda: x.double(), lambda: x.to(torch.float64), lambda: n.to(x.dtype), lambda: x.type_as(n),
    lambda: x.clone(), lambda: x.detach(), lambda: x.contiguous().t().contiguous(),
    lambda: torch.zeros_like(x), lambda: x.new_zeros(3), lambda: x.tril(), lambda: x.exp().log(),
    lambda: x.pow(2).mean(-1, keepdim=True), lambda: torch.rsqrt(x), lambda: torch.tanh(x),
    lambda: torch.sigmoid(x), lambda: x.norm(), lambda: torch.einsum("ij,jk->ik", x, y),
    lambda: x.gather(1, n % 4), lambda: x.index_select(0, i), lambda: x.topk(2).values,
    lambda: x.sort().values, lambda: x.roll(1, 0), lambda: x.flip(0), lambda: x.repeat(2, 1),
    lambda: torch.outer(x[0], y[0]), lambda: x.logsumexp(-1), lambda: x.lerp(y, 0.5),
    lambda: torch.addcmul(x, y, y, value=2), lambda: x.eq(1), lambda: x.isnan(), lambda: b.any(),
    lambda: b.all(-1), lambda: torch.arange(4) + x, lambda: torch.nn.functional.pad(x, (1, 1)),
    lambda: torch.nn.functional.mse_loss(x, y), lambda: 1 / x, lambda: x.square().sqrt(),
]


def traced(case):
    from torch.fx.experimental.proxy_tensor import make_fx
    global x, y, n, b, i
    kept = (x, y, n, b, i)

    def run(*inputs):
        global x, y, n, b, i
        x, y, n, b, i = inputs
        return case()

    graph = make_fx(run, pre_dispatch=True)(*kept).graph
    x, y, n, b, i = kept
    return [str(node.target) for node in graph.nodes
            if node.op == "call_function" and str(node.target).startswith("aten.")]


if __name__ == "__main__":
    with torch.no_grad():
        if len(sys.argv) > 1:
            for case in CASES:
                print(" ".join(traced(case)))
        else:
            for at, case in enumerate(CASES):
                case.__code__ = case.__code__.replace(co_qualname=f"case {at}")
                case()
