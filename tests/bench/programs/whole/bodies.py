"""Bodies that attract each other: a method for the forces, one for the step, and the energy now and then."""

import torch


class Bodies:
    def __init__(self, count):
        generator = torch.Generator().manual_seed(0)
        self.place = torch.randn(count, 3, generator=generator, dtype=torch.float64)
        self.speed = torch.randn(count, 3, generator=generator, dtype=torch.float64) * 0.1
        self.mass = torch.rand(count, generator=generator, dtype=torch.float64) / count

    def forces(self):
        apart = self.place[None] - self.place[:, None]
        square = (apart**2).sum(-1) + 1e-2
        return (apart * (self.mass[None] * square**-1.5)[..., None]).sum(1)

    def step(self, time):
        self.speed += self.forces() * (time / 2)
        self.place += self.speed * time
        self.speed += self.forces() * (time / 2)

    def energy(self):
        moving = 0.5 * (self.mass * (self.speed**2).sum(-1)).sum()
        apart = torch.cdist(self.place, self.place) + 0.1
        return (moving - 0.5 * (self.mass[:, None] * self.mass / apart).sum()).item()


bodies = Bodies(96)
for step in range(1200):
    bodies.step(0.01)
    if step % 200 == 0:
        print(step, f"{bodies.energy():.2f}")
