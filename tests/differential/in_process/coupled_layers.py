"""A normalizing flow: every layer hands out what the next one reads and a sum that all losses share, so that a stage's
outputs are among what it was handed."""
import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 4))
        self.register_buffer("mask", mask)

    def forward(self, x):
        scale, shift = self.net(x * self.mask).chunk(2, 1)
        scale = scale.tanh() * (1 - self.mask)
        return x * scale.exp() + shift * (1 - self.mask), scale.sum(1)


torch.manual_seed(0)
layers = nn.ModuleList(Coupling(torch.tensor([float(i % 2), 1.0 - i % 2])) for i in range(4))
optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
base = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
for step in range(25):
    z, log_det = torch.randn(32, 2) * torch.tensor([1.0, 0.3]) + 1, 0
    for layer in layers:
        z, change = layer(z)
        log_det = log_det + change
    loss = -(base.log_prob(z) + log_det).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        print(step, f"{loss.item():.4f}")
