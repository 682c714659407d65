"""Products on the GPU in every form: dtypes, odd sizes, what is added and applied, single rows, views, batches, numbers that are none."""
import torch
import torch.nn.functional as F
from torch import nn

# Of the largest element; sums are float32 everywhere, TF32 rounds factors as half types do.
NEAR = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


def near(result, expected):
    result = result.double()
    return bool((result - expected).abs().max() <= NEAR[near.dtype] * expected.abs().max().clamp(min=1e-3)) and not result.isnan().any().item()


def linear(x, weight, bias):
    return F.linear(x, weight, bias)


def relu(x, weight, bias):
    return F.relu(F.linear(x, weight, bias))


def gelu_tanh(x, weight, bias):
    return F.gelu(F.linear(x, weight, bias), approximate="tanh")


def gelu(x, weight, bias):
    return F.gelu(F.linear(x, weight, bias))


def residual(x, weight, bias):
    return F.linear(x, weight, bias) + 0.5 * F.linear(x, weight)


def turned(x, weight, bias):
    return (weight @ x.t()).t() + bias


def added(x, weight, bias):
    return F.relu(torch.addmm(bias.expand(x.shape[0], -1), x, weight.t(), alpha=0.5))


def narrow(x, weight, bias):
    return F.linear(x[:, 1:], weight[:, 1:], bias)


def strided(x, weight, bias):
    return F.linear(x[:, ::2], weight[:, ::2], bias)


def batched(x, weight, bias):
    rows = x[: x.shape[0] // 3 * 3].view(3, -1, x.shape[1])
    return torch.bmm(rows, weight.t().expand(3, -1, -1)) + bias


def heads(x, weight, bias):
    q = x[:8].view(2, 4, 4, -1).transpose(1, 2)
    return (q @ q.transpose(-1, -2)).transpose(1, 2).reshape(2, 4, -1)


def decoded(x, weight, bias):
    return F.silu(F.linear(x[:1], weight)) * F.linear(x[:1], weight, bias)


def normed(x, weight, bias):
    y = F.linear(x, weight, bias)
    return F.layer_norm(y + y.flip(0), y.shape[-1:])


FORMS = (linear, relu, gelu_tanh, gelu, residual, turned, added, narrow, strided, batched, heads, decoded, normed)


def check_forms():
    for dtype in NEAR:
        near.dtype = dtype
        for rows, inner, columns in ((64, 96, 1001), (40, 72, 257), (33, 40, 9), (9, 1024, 512)):
            make = dict(device="cuda", dtype=dtype)
            x, weight, bias = torch.randn(rows, inner, **make), torch.randn(columns, inner, **make) / inner**0.5, torch.randn(columns, **make)
            for form in FORMS:
                expected = form(x.double(), weight.double(), bias.double())
                print(form.__name__, dtype, rows, inner, columns, [near(form(x, weight, bias), expected) for _ in range(3)])
                # Other rows, at another place.
                print(near(form(x.flip(0), weight, bias), form(x.flip(0).double(), weight.double(), bias.double())))


def check_odd_numbers():
    """What is no number stays none, and infinities what they are."""
    for dtype in NEAR:
        weight, bias = torch.ones(128, 64, device="cuda", dtype=dtype), torch.zeros(128, device="cuda", dtype=dtype)
        x = torch.zeros(32, 64, device="cuda", dtype=dtype)
        x[0, 0], x[1, 0], x[2, 0], x[3, 0] = float("nan"), float("inf"), float("-inf"), -1
        for form in (linear, relu, gelu_tanh):
            for _ in range(3):
                y = form(x, weight, bias)
            print(form.__name__, dtype, [f"{row[0].item():.3g}" for row in y[:5]], y[:5].isnan().sum().item())


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(101, 64, padding_idx=0), nn.Linear(64, 101, bias=False)

    def forward(self, tokens):
        return self.head(self.table(tokens))


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(2, 4, 16, 8))

    def forward(self, place, row, chosen):
        self.rows.index_copy_(2, place, row * 2)
        return self.rows.sum(-1), self.rows.index_select(2, chosen)


def check_indices():
    near.dtype = torch.float32
    words, cache = Words().cuda().eval(), Cache().cuda()
    for step in range(6):
        tokens = torch.randint(101, (3, 16), device="cuda")
        print("words", near(words(tokens), F.linear(words.table.weight.double()[tokens], words.head.weight.double())))
        row = torch.full((2, 4, 1, 8), float(step), device="cuda")
        sums, chosen = cache(torch.tensor([step % 4], device="cuda"), row, torch.tensor([0, step % 4, 15], device="cuda"))
        print("cache", sums[0, 0, :5].tolist(), chosen[1, 3, :, 0].tolist(), cache.rows.sum().item())
    print("several rows", torch.zeros(4, 2, device="cuda").index_copy(0, torch.tensor([3, 1], device="cuda"), torch.ones(2, 2, device="cuda")).tolist())


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest")
    with torch.no_grad():
        check_forms()
        torch.set_float32_matmul_precision("high")
        NEAR[torch.float32] = 2e-3
        check_forms()
        check_odd_numbers()
        check_indices()


main()
