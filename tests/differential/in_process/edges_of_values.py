"""Values at the edges: integers that no double holds, zeros of either sign, infinities and NaN where formulas have a corner."""
import math

import torch
import torch.nn.functional as F

LIMITS = [2**63 - 1, -(2**63), 2**53 + 1, 3]


def whole_numbers(x):
    return torch.tensor(LIMITS) + x, torch.stack([torch.tensor(2**62 + 1), x]), torch.full((2,), 2**53 + 1) - x


def narrow_numbers(x):
    return torch.full((3,), 250, dtype=torch.uint8) + x.to(torch.uint8), torch.tensor([127, -128], dtype=torch.int8) - x.to(torch.int8)


def clamped(x):
    # A zero keeps its sign at a bound that is zero, too.
    return (torch.relu(x), F.relu6(x), F.hardtanh(x, 0.0, 1.0), F.hardtanh(x, -1.0, 0.0), x.clamp(min=0), x.clamp(max=0.0), x.clamp(0, 1),
            F.max_pool1d(x[None, None], 2), F.leaky_relu(x), F.elu(x))


def without_dims(x):
    return x.softmax(0), x.log_softmax(0), F.softmin(x, 0), F.softmax(x * 2, -1)


def inverse_cosine(x):
    return torch.acosh(x)


def turned(x):
    # Of angles whose quadrant takes more bits of pi than a double holds.
    return torch.sin(x), torch.cos(x) * 2, torch.tan(x), torch.sin(x) + torch.cos(x)


def log_gamma(x):
    return torch.lgamma(x), torch.lgamma(-x) + 1


def show(values):
    for value in values if isinstance(values, tuple) else (values,):
        print(value.dtype, [str(v) if v != v or v in (0, math.inf) else f"{v:.6g}" if isinstance(v, float) else v
                            for v in value.flatten().tolist()])


zero = torch.tensor(0)
for _ in range(3):
    show(whole_numbers(zero))
    show(narrow_numbers(zero))
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        show(clamped(torch.tensor([0.0, -0.0, -0.0, 0.0, 2.0, -2.0, math.nan, math.inf] * 4, dtype=dtype)))
        show(inverse_cosine(torch.tensor([1.0, 1.5, 0.5, -0.5, -3.0, -1e30, 1e30, math.inf, -math.inf, math.nan, 12.0, 1.0], dtype=dtype)))
        show(turned(torch.tensor([1e3, 1e12, -1e13, 5e15, 1e18, -1e30, 3e38, math.inf, -math.inf, math.nan, 0.5, -0.0], dtype=dtype)))
        show(turned(torch.tensor([-7e22] * 3 + [9e17] * 40, dtype=dtype)[::2]))
    # Poles, and what is so far from zero that its mirror image is infinite.
    show(log_gamma(torch.tensor([0.0, -1.0, 2.5, -2.5, 1e17, 1e306, 1e308, math.inf, math.nan, 0.25], dtype=torch.float64)))
    for number in (2.5, math.nan, math.inf, -math.inf):
        show(without_dims(torch.tensor(number)))
