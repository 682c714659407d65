"""Python numbers that differ between calls: arguments, attributes, globals, lengths, and what is computed of them."""
import math
import types

import numpy as np
import torch

torch.manual_seed(0)
X = torch.randn(3, 4)
I = torch.arange(-6, 6).reshape(3, 4)
RATE = 0.5


def show(name, *values):
    def text(value):
        if isinstance(value, torch.Tensor):
            return f"{value.dtype} {[round(v, 5) if isinstance(v, float) else v for v in value.flatten().tolist()]}"
        return f"{type(value).__name__} {value!r}"
    print(name, *(text(value) for value in values))


def attempt(function, *arguments):
    try:
        with torch.no_grad():
            result = function(*arguments)
        show(function.__name__, *(result if isinstance(result, tuple) else [result]))
    except Exception as error:  # the same error, by its first line
        print(function.__name__, type(error).__name__, str(error).splitlines()[0])


class Copies(dict):
    """Code of its own for each function and kind of tensor: an entry is a way to call with a number."""

    def __missing__(self, key):
        self[key] = types.FunctionType(attempt.__code__.replace(co_name="attempt_" + key[0]), globals())
        return self[key]


def kind(function, x):
    return function.__name__, str(x.dtype), x.dim()


copies = Copies()


def scaled(x, factor):
    return x * factor + 1


def arithmetic(x, a, b):
    return (x + a) * b - (a - x) / (b + 20), torch.add(x, x, alpha=b), 2.0 / (x * x + a * a + 1)


def compared(x, limit):
    return (x < limit) | (x == limit), x.clamp(max=limit), torch.where(x > limit, x, limit)


def filled(x, value):
    y = x.clone()
    y.masked_fill_(x > 0, value)
    z = torch.full_like(x, value)
    z.add_(1)
    w = torch.full((2,), value)
    w *= 2
    return y, z, w, x.clone().fill_(value)


def blended(x, weight, value):
    y = torch.lerp(x, x * 2, weight)
    return y.addcmul_(x, x, value=value).addcdiv_(x, x.abs() + 1, value=-value)


def divided(x, n):
    return x // n, x % n, torch.fmod(x, n), x / n


def powered(x, p):
    return x.abs() ** p, p ** x.abs().clamp(max=3)


def computed(x, step, beta):
    first = 1 - beta ** step
    second = math.sqrt(first) / (step + 1)
    whole = step // 3 + step % 3
    y = x * second - whole
    rate = min(first, 0.5) * max(second, 0.1) + abs(-beta) + float(step) + int(beta * 10)
    return y * rate, first, second, whole, rate, -step


def branched(x, n):
    y = x * n
    if n > 10:
        y = y + 100
    elif n == 3:
        y = y - n
    return y / (n + 1) if n != -1 else y


def scheduled(x, step):
    warm = min(1.0, step / 5)
    rate = 0.5 * (1 + math.cos(math.pi * step / 20)) * warm
    decay = math.exp(-step / 10) + math.log(step + 1)
    return x * rate, x + decay * math.sin(step)


def by_global(x):
    return x * RATE - RATE


def gathered(x, items):
    y = x * len(items)
    items.append(len(items))
    return y + len(items)


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.step, self.log = 1.0, 0, []
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.step += 1
        self.scale = self.scale * 0.9
        momentum = 1.0 / self.step
        self.mean.mul_(1 - momentum).add_(x.mean(0), alpha=momentum)
        self.log.append(self.scale)
        return {"y": x * self.scale, "step": self.step, "rest": (self.step * 2, [self.scale / 2])}


for factor in [0.5, 1.5, 2.5, -1.0, 3, 4, 5, True, False, 0.0, -0.0, float("inf"), float("nan"), 1e300, 2**40, 2**62, 2**70,
               np.float64(2.5), np.float32(0.1), np.int64(3), 7, 8.5, complex(1, 2)]:
    for x in (X, I, X.double(), X.half(), I.int(), I > 0, X[0, 0], I[0, 0], torch.complex(X, X)):
        copies[kind(scaled, x)](scaled, x, factor)

for a, b in [(1, 2), (2, 3), (3.5, 3), (4.5, 4.5), (5, -5), (0.1, 7), (1e10, 1e-10), (float("nan"), 1.0), (6, 0), (7, 11), (2**53 + 1, 3)]:
    # Whole vectors: behind them torch rounds what alpha scales before it adds it.
    for x in (X, I, X.repeat(16, 1).bfloat16(), X.double()):
        copies[kind(arithmetic, x)](arithmetic, x, a, b)

for limit in [0, 1, 2, 0.5, -0.25, 1.5, float("inf"), -float("inf"), float("nan"), 1e39, 70000.0, 3, 4]:
    for x in (X, I, X.half(), X.double(), I.to(torch.int8)):
        copies[kind(compared, x)](compared, x, limit)

for value in [0.5, 1.5, 2.5, 3, 4, 5, 300, float("-inf"), 1e39, 7e4, 2.0**70, 2**70, -1, True]:
    for x in (X, I, X.half(), I.to(torch.uint8)):
        copies[kind(filled, x)](filled, x, value)

for weight, value in [(0.1, 1), (0.2, 2), (0.49, 3), (0.5, 4), (0.75, 5.5), (-2.0, 6.5), (1, 7.5), (2, 1.0), (1e39, 1.0), (0.3, 1e39)]:
    for x in (X, X.double(), X.bfloat16()):
        copies[kind(blended, x)](blended, x, weight, value)

for n in [1, 2, 3, -3, 4, 0, 2.5, 3.5, -0.5, 0.0, float("inf"), 7, 8]:
    for x in (X, I, I.int()):
        copies[kind(divided, x)](divided, x, n)

for p in [1, 2, 3, 4, 0.5, -0.5, 1.5, 2.5, 0, -1]:
    copies[kind(powered, X)](powered, X, p)

for step in range(1, 14):
    copies[kind(computed, X)](computed, X, step, 0.9)
for step, beta in [(1, 0.5), (2, 0.6), (3, -0.7), (4, 0.0), (5.0, 0.8), (6.0, 0.9), (-3, 0.9), (-4, 0.0), (2**62, 0.9), (2**63, 0.9), (10**400, 0.9), (7, 1.0)]:
    copies[kind(computed, X)](computed, X, step, beta)

for n in [1, 2, 3, 4, 11, 12, 13, -1, 3, 5, 6, 0, 10.5, 9.5, 3.0, float("nan"), 2**60, -2]:
    copies[kind(branched, X)](branched, X, n)

for step in range(12):
    copies[kind(scheduled, X)](scheduled, X, step)
for step in [0.5, 1.5, -1, -2.5, 1e6, float("inf"), 700 * -10, 2.5]:
    copies[kind(scheduled, X)](scheduled, X, step)

for RATE in [0.5, 0.6, 0.7, 1, 2, 3, "x", 0.8, 0.9]:
    copies[kind(by_global, X)](by_global, X)

items = []
for _ in range(12):
    copies[kind(gathered, X)](gathered, X, items)
    if len(items) > 6:
        items = items[::3]

module = Module()
with torch.no_grad():
    for _ in range(14):
        out = module(X)
        show("module", out["y"], out["step"], out["rest"], module.mean, module.scale)
print(module.log, module.step)


def accumulate(x, count):
    total, weight = torch.zeros(4), 1.0
    for i in range(count):
        total = total + x[i % 3] * weight * i
        weight = weight / 2
    return total, weight


for count in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]:
    copies[kind(accumulate, X)](accumulate, X, count)
