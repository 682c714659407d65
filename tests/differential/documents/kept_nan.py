"""NaN and infinities through activations that are fused behind products and convolutions."""
import torch
import torch.nn.functional as F

import roots

ACTIVATIONS = (torch.relu, F.relu6, F.hardsigmoid, F.hardswish, F.silu, F.leaky_relu, torch.sigmoid,
               lambda x: x.clamp(-0.5, 0.75), lambda x: x.clamp(min=0.25), lambda x: x.clamp(max=0.25))


def linear(x, w, b, activation):
    return activation(F.linear(x, w, b))


def convolutions(x, first, depthwise, last, activation):
    h = activation(F.conv2d(x, first))
    h = activation(F.conv2d(h, depthwise, padding=1, groups=depthwise.shape[0]))
    return activation(F.conv2d(h, last))


def residuals(x, weights, activation):
    for first, second in weights:
        h = activation(F.conv2d(x, first, padding=1))
        x = activation(F.conv2d(h, second, padding=1) + x)
    return x


def counted_residuals(x, total, weights, activation):
    total.add_(1)
    return residuals(x * total, weights, activation)


for dtype in (torch.float32, torch.bfloat16):
    for activation in ACTIVATIONS:
        x = roots.with_special(roots.steps(96, 64, dtype=dtype))
        roots.call(linear, x, roots.steps(80, 64, dtype=dtype), roots.steps(80, dtype=dtype), activation)
for activation in ACTIVATIONS[:4]:
    for special in (float("nan"), float("inf"), -float("inf")):
        x = roots.steps(2, 16, 20, 20)
        x[1, 3, 4, 5] = special
        roots.call(convolutions, x, roots.steps(32, 16, 1, 1), roots.steps(32, 1, 3, 3), roots.steps(8, 32, 1, 1), activation)
        weights = [(roots.steps(16, 16, 3, 3) / 16, roots.steps(16, 16, 3, 3) / 16) for _ in range(2)]
        roots.call(residuals, x, weights, activation)
        roots.call(counted_residuals, x, torch.zeros(1), weights, activation)
print(roots.COUNT)
