"""Scalars of NumPy and its functions of numbers between tensors: kept in attributes, exchanged, computed from sizes,
handed out; and what is no such function, an array or one with effects of its own."""
import numpy as np
import torch


class Settings:
    def __init__(self):
        self.scale, self.half, self.count, self.flag = np.sqrt(64.0), np.float32(2.5), np.int64(2), np.bool_(True)


SETTINGS = Settings()
TOLD = []


def divided(x):
    return x / SETTINGS.scale + 1


def times_half(x):
    return x * SETTINGS.half + 1


def behind_numbers(x):
    return SETTINGS.scale * x - SETTINGS.half * x


def sliced(x):
    return (x[:, :SETTINGS.count] * 2).view(SETTINGS.count, -1)


def chosen(x):
    return x * 2 if SETTINGS.flag else x


def computed(x):
    return x * (SETTINGS.scale * 2 + 1) / (x.shape[0] / SETTINGS.scale)


def looped(x):
    for _ in range(SETTINGS.count):
        x = x * 2
    return x


def filled(x):
    return torch.full((SETTINGS.count, 2), SETTINGS.scale) + torch.tensor(SETTINGS.half)


def limited(x):
    return x.clamp(min=-SETTINGS.scale, max=SETTINGS.scale) ** SETTINGS.half


def compared(x):
    return x * 2 if SETTINGS.scale > 3 and SETTINGS.count == 2 else x * 3


def converted(x):
    return x * float(SETTINGS.scale) + int(SETTINGS.count) + SETTINGS.half.item()


def of_sizes(x):
    return x.view(-1, np.prod(x.shape[1:])) / np.sqrt(x.shape[-1]) * np.log(10000.0)


def of_numbers(x):
    return (x + np.power(2, 3) + np.exp(1.0) - np.floor(2.5) + np.maximum(1, 2) + np.abs(-3) + np.clip(3, 1, 2)
            + np.max((1, 5)) + np.mean([1.0, 2.0]))


def integers(x):
    whole = x.to(torch.int64)
    return whole + SETTINGS.count, whole * SETTINGS.half, whole / SETTINGS.scale, whole > SETTINGS.half


def handed_out(x):
    factor = np.sqrt(16.0) * SETTINGS.half
    return x * factor, factor, np.int32(7), np.float16(0.5)


def differentiable(x):
    x = x.detach().requires_grad_()
    ((x * SETTINGS.scale) ** 2 / np.float32(4)).sum().backward()
    return x.grad


def told(value):
    TOLD.append(value)
    return value + 1


TOLD_TWICE = np.frompyfunc(told, 1, 1)


def with_effects(x):
    return x * TOLD_TWICE(2)


def of_arrays(x):
    return x * 2 + float(np.cumsum([1.0, 2.0])[1]) + torch.from_numpy(np.sqrt(np.ones(4, dtype=np.float32)))


def show(result):
    if isinstance(result, tuple):
        return [show(one) for one in result]
    if isinstance(result, torch.Tensor):
        return result.dtype, tuple(result.shape), round(result.double().sum().item(), 3)
    return type(result).__name__, result


FUNCTIONS = [divided, times_half, behind_numbers, sliced, chosen, computed, looped, filled, limited, compared, converted,
             of_sizes, of_numbers, integers, handed_out, differentiable, with_effects, of_arrays]
x = torch.arange(16.0).view(4, 4)
for function in FUNCTIONS:
    for _ in range(3):
        print(function.__name__, show(function(x)))
print("told", TOLD)
print("of other sizes", [show(of_sizes(torch.ones(2, n))) for n in (3, 5, 8)])
SETTINGS.scale, SETTINGS.half = np.float64(2.0), np.float64(0.5)
for function in FUNCTIONS[:-2]:
    print("others", function.__name__, show(function(x)))
SETTINGS.scale, SETTINGS.count, SETTINGS.flag = 8.0, 2, True
for function in (divided, sliced, computed, compared, chosen):
    print("Python's", function.__name__, show(function(x)))
SETTINGS.count = np.uint8(2)
SETTINGS.flag = np.bool_(False)
for function in (sliced, looped, chosen):
    print("again", function.__name__, show(function(x)))
