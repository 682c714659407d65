"""Integrates differential equations by Runge-Kutta with steps that adapt, the right side being a function given."""

import torch


def lorenz(time, y):
    x, y, z = y.unbind(-1)
    return torch.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], -1)


def pendulum(time, y):
    angle, speed = y.unbind(-1)
    return torch.stack([speed, -torch.sin(angle) - 0.1 * speed], -1)


def heun(function, time, y, step):
    first = function(time, y)
    second = function(time + step, y + step * first)
    better = y + step / 2 * (first + second)
    return better, (better - y - step * first).abs().max()


def rk4(function, time, y, step):
    a = function(time, y)
    b = function(time + step / 2, y + step / 2 * a)
    c = function(time + step / 2, y + step / 2 * b)
    d = function(time + step, y + step * c)
    return y + step / 6 * (a + 2 * b + 2 * c + d)


def adaptive(function, y, end, tolerance):
    time, step, taken = 0.0, 1e-2, 0
    while time < end:
        better, error = heun(function, time, y, step)
        if error.item() < tolerance:
            time, y, taken = time + step, better, taken + 1
            step = min(step * 1.5, 0.05)
        else:
            step *= 0.5
    return y, taken


def main():
    generator = torch.Generator().manual_seed(0)
    many = torch.randn(500, 3, generator=generator, dtype=torch.float64)
    for number in range(1500):
        many = rk4(lorenz, number * 0.005, many, 0.005)
    print(many.shape, bool(many.isfinite().all()))
    print(adaptive(pendulum, torch.randn(100, 2, generator=generator, dtype=torch.float64), 30.0, 1e-3)[1] > 0)


main()
