"""Simulates particles in one function with a loop, whose ops stand in the loop itself."""

import torch


def main():
    generator = torch.Generator().manual_seed(0)
    place = torch.rand(2000, 2, generator=generator)
    speed = torch.randn(2000, 2, generator=generator) * 0.1
    for step in range(3000):
        pull = (0.5 - place) * 2 - speed * 0.1
        speed = speed + pull * 0.01
        place = place + speed * 0.01
        out = (place < 0) | (place > 1)
        speed = torch.where(out, -speed, speed)
        place = place.clamp(0, 1)
        if step % 1000 == 0:
            print(step, f"{place.mean():.2f}")


main()
