"""Python numbers beside tensors of 16 bits: add, sub and pow round them to the dtype first, mul and div do not."""
import torch
import torch.nn.functional as F

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
    "prelu": lambda x: F.prelu(x, torch.tensor([0.3], dtype=x.dtype)),
    "hardshrink": lambda x: F.hardshrink(x, 0.3),
    "softshrink": lambda x: F.softshrink(x, 0.3),
    "threshold": lambda x: F.threshold(x, 0.3, 0.7),
    "hardtanh": lambda x: F.hardtanh(x, -0.3, 0.3),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3),
    "elu": lambda x: F.elu(x, 0.3),
    "celu": lambda x: F.celu(x, 0.3),
    "clamp": lambda x: x.clamp(-0.3, 0.3),
    "greater": lambda x: (x > 0.3).to(x.dtype),
    "equal": lambda x: (x == 0.3).to(x.dtype),
    "where": lambda x: torch.where(x > 0, x, 0.3),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.3),
    "fmod": lambda x: torch.fmod(x, 0.3),
    "remainder": lambda x: torch.remainder(x, 0.3),
    "xlogy": lambda x: torch.xlogy(x, 0.3),
    "copysign": lambda x: torch.copysign(x, -0.3),
    "softplus": lambda x: F.softplus(x, 0.3, 2.0),
}
for dtype in (torch.bfloat16, torch.float16):
    x = torch.randn(32, 32).to(dtype)
    x[0, :4] = 0.3
    x[1, :4] = -0.3
    for name, function in OTHERS.items():
        print(dtype, name, [told(function(x)) for _ in range(3)])

# Formulas of several steps, each of which may be rounded.
STEPS = {
    "cube": lambda x: x**3,
    "inverse square": lambda x: x**-2,
    "fourth power": lambda x: x**4,
    "entr": lambda x: torch.special.entr(x.abs()),
    "ndtr": torch.special.ndtr,
    "mse": lambda x: F.mse_loss(x, x.t(), reduction="none"),
    "mean of mse": lambda x: F.mse_loss(x, x.t() * 2)[None],
    "l1": lambda x: F.l1_loss(x, x.t())[None],
    "huber": lambda x: F.huber_loss(x, x.t(), delta=0.3, reduction="none"),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, x.t(), beta=0.3, reduction="none"),
    "smooth_l1 sum": lambda x: F.smooth_l1_loss(x, x.t(), reduction="sum")[None],
    "bce": lambda x: F.binary_cross_entropy(x.sigmoid(), x.t().sigmoid(), reduction="none"),
    "bce of logits": lambda x: F.binary_cross_entropy_with_logits(x, x.t().sigmoid(), reduction="none"),
    "weighted bce": lambda x: F.binary_cross_entropy_with_logits(x, x.t().sigmoid(), weight=x[0].abs(), pos_weight=x[1].abs(), reduction="none"),
    "logit": lambda x: torch.logit(x.sigmoid()),
    "logit of a range": lambda x: torch.logit(x.sigmoid(), 0.1),
}
for dtype in (torch.bfloat16, torch.float16):
    x = torch.randn(32, 32).to(dtype)
    for name, function in STEPS.items():
        print(dtype, name, [told(function(x)) for _ in range(3)])
