"""Fits a small fully connected network to a function, with Adam and a schedule."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(4096, 8) * 2 - 1
y = (x.prod(1, keepdim=True) + x.sin().sum(1, keepdim=True)).tanh()
network = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1500)
for step in range(1500):
    rows = torch.randint(0, len(x), (128,))
    loss = nn.functional.mse_loss(network(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    schedule.step()
with torch.no_grad():
    print(f"{nn.functional.mse_loss(network(x), y):.1f}")
