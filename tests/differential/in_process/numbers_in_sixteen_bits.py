"""Python numbers beside tensors of 16 bits: add, sub and pow round them to the dtype first, mul and div do not."""
import torch

FUNCTIONS = {
    "add": lambda x, s: x + s,
    "radd": lambda x, s: s + x,
    "sub": lambda x, s: x - s,
    "rsub": lambda x, s: s - x,
    "mul": lambda x, s: x * s,
    "div": lambda x, s: x / s,
    "pow": lambda x, s: x.abs() ** s,
    "scaled": lambda x, s: torch.add(x, s, alpha=1.7),
    "scaled sub": lambda x, s: torch.sub(x, s, alpha=1.7),
    "without dims": lambda x, s: x + torch.tensor(s),
    "in place": lambda x, s: x.clone().add_(s),
    "transposed": lambda x, s: x.t() - s,
}


def told(t):
    return int((t.contiguous().view(torch.int16).flatten().long() * torch.arange(1, t.numel() + 1)).sum())


torch.manual_seed(0)
for dtype in (torch.bfloat16, torch.float16):
    x = torch.randn(32, 32).to(dtype)
    x[0, :4] = 0.3
    for name, function in FUNCTIONS.items():
        print(dtype, name, [told(function(x, s)) for s in (0.3, 0.3, 0.3, 1.1, 2.7)])
