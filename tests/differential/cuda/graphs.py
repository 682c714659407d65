"""Calls that are launched as one graph: what moves, what is written, what torch is told meanwhile, what is kept."""
import torch
import torch.nn.functional as F
from torch import nn


class Cached(nn.Module):
    """A step of attention over a cache that it writes."""

    def __init__(self, width, length):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width)
        self.register_buffer("keys", torch.zeros(1, 4, length, width // 4))
        self.register_buffer("values", torch.zeros(1, 4, length, width // 4))

    def forward(self, x, position, mask):
        q, k, v = self.qkv(self.norm(x)).view(1, 1, 3, 4, -1).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, position, k)
        self.values.index_copy_(2, position, v)
        mixed = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        return x + self.out(mixed.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def told(name, tensor):
    values = tensor.detach().double().flatten()
    print(name, tuple(tensor.shape), tensor.dtype, f"{values.abs().sum().item():.3g}", f"{values.abs().max().item():.3g}")


def right(result, block, x):
    """As in float64, where neither a graph nor TF32 has a part."""
    with torch.no_grad():
        expected = x.double() + F.linear(F.gelu(F.linear(F.layer_norm(x.double(), x.shape[-1:], block.norm.weight.double(), block.norm.bias.double()),
                                                         block.up.weight.double(), block.up.bias.double())), block.down.weight.double(), block.down.bias.double())
    return (result - expected).abs().max().item()


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest")
    block = Block(256).cuda().eval()
    with torch.no_grad():
        kept, sources = [], []
        for _ in range(6):
            sources.append(torch.randn(64, 256, device="cuda"))
            kept.append(block(sources[-1]))
        print("kept", [right(y, block, x) < 1e-5 for x, y in zip(sources, kept)])
        x = sources[0]
        # TF32 has errors of about a thousandth, full precision of a millionth: both are what torch was told.
        for precision in ("high", "highest", "high", "highest"):
            torch.set_float32_matmul_precision(precision)
            print(precision, [right(block(x), block, x) < 1e-5 for _ in range(3)])
        block.up.weight = nn.Parameter(block.up.weight * 2)
        print("other weights", [right(block(x), block, x) < 2e-5 for _ in range(4)])
        block.up.weight.mul_(0.5)
        print("weights written", [right(block(x), block, x) < 1e-5 for _ in range(4)])
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            print("side", [right(block(x), block, x) < 1e-5 for _ in range(4)])
        torch.cuda.current_stream().wait_stream(side)
        graph, static = torch.cuda.CUDAGraph(), x.clone()
        with torch.cuda.graph(graph):
            result = block(static)
        for source in sources[:3]:
            static.copy_(source)
            graph.replay()
            print("captured", right(result, block, source) < 1e-5, right(block(source), block, source) < 1e-5)
        cached = Cached(64, 32).cuda().eval()
        for position in range(12):
            token = torch.full((1, 1, 64), 0.1 * position, device="cuda").sin() + torch.linspace(-1, 1, 64, device="cuda")
            mask = (torch.arange(32, device="cuda") <= position).view(1, 1, 1, 32)
            told("cached", cached(token, torch.tensor([position], device="cuda"), mask))
        told("keys", cached.keys)
        chain = x
        for _ in range(8):
            chain = F.layer_norm(block(chain), (256,))
        told("chain", chain)
        # Rows of an odd length, as of a vocabulary, alone and with a bias, and as the entry's result.
        for bias in (False, True):
            head = nn.Linear(256, 4099, bias=bias).cuda().bfloat16()
            for source in sources[:4]:
                shown = source.bfloat16().view(4, 16, 256).repeat(1, 4, 1)
                result = F.relu(head(shown * 2)) if bias else head(shown * 2)
                expected = F.linear(shown.double() * 2, head.weight.double(), head.bias.double() if bias else None)
                expected = expected.relu() if bias else expected
                print("odd", (result - expected).abs().max().item() < 0.05, tuple(result.shape), result.stride(), result._base is None)
        before = torch.cuda.memory_allocated()
        for _ in range(5):
            block(x)
        print("memory", torch.cuda.memory_allocated() == before)


main()
