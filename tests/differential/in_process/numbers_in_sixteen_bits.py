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

# Constants that are tensors hold what their dtype makes of the number; activations' numbers follow rules of their own.
OTHERS = {
    "tensor": lambda x: x + torch.tensor(0.3, dtype=x.dtype),
    "full": lambda x: x * torch.full((), 0.3, dtype=x.dtype),
    "full_like": lambda x: torch.full_like(x, 0.3) + x,
    "whole": lambda x: x + torch.full((32,), 2.7, dtype=torch.int32),
    "prelu": lambda x: torch.nn.functional.prelu(x, torch.tensor([0.3], dtype=x.dtype)),
    "hardshrink": lambda x: torch.nn.functional.hardshrink(x, 0.3),
    "softshrink": lambda x: torch.nn.functional.softshrink(x, 0.3) + 0.0,  # torch has zeros of either sign
    "threshold": lambda x: torch.nn.functional.threshold(x, 0.3, 0.7),
    "hardtanh": lambda x: torch.nn.functional.hardtanh(x, -0.3, 0.3),
    "leaky_relu": lambda x: torch.nn.functional.leaky_relu(x, 0.3),
    "elu": lambda x: torch.nn.functional.elu(x, 0.3),
    "celu": lambda x: torch.nn.functional.celu(x, 0.3),
    "clamp": lambda x: x.clamp(-0.3, 0.3),
    "greater": lambda x: (x > 0.3).to(x.dtype),
    "equal": lambda x: (x == 0.3).to(x.dtype),
    "where": lambda x: torch.where(x > 0, x, 0.3),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.3),
    "fmod": lambda x: torch.fmod(x, 0.3),
    "remainder": lambda x: torch.remainder(x, 0.3),
    "xlogy": lambda x: torch.xlogy(x, 0.3),
    "copysign": lambda x: torch.copysign(x, -0.3),
    "softplus": lambda x: torch.nn.functional.softplus(x, 0.3, 2.0),
    # Formulas of several steps, each of which may be rounded.
    "cube": lambda x: x**3,
    "inverse square": lambda x: x**-2,
    "fourth power": lambda x: x**4,
    "logit": lambda x: torch.logit(x.sigmoid()),
    "logit of a range": lambda x: torch.logit(x.sigmoid(), 0.1),
}
for dtype in (torch.bfloat16, torch.float16):
    x = torch.randn(32, 32).to(dtype)
    x[0, :4] = 0.3
    x[1, :4] = -0.3
    for name, function in OTHERS.items():
        print(dtype, name, [told(function(x)) for _ in range(3)])
