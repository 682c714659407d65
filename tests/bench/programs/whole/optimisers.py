"""An optimizer written by hand, a parameter at a time, with an average of the weights beside it."""

import copy

import torch
from torch import nn


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                beta1, beta2 = group["betas"]
                update = exp_avg * beta1 + p.grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(p.grad, alpha=1 - beta2)


@torch.no_grad()
def update_average(average, network, decay):
    for kept, now in zip(average.parameters(), network.parameters()):
        kept.mul_(decay).add_(now, alpha=1 - decay)
    for kept, now in zip(average.buffers(), network.buffers()):
        kept.copy_(now)


torch.manual_seed(0)
layers = [layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.BatchNorm1d(64), nn.GELU())]
network = nn.Sequential(*layers, nn.Linear(64, 10))
average = copy.deepcopy(network).eval()
optimizer = Lion(network.parameters(), weight_decay=0.01)
for step in range(500):
    x = torch.randn(64, 64)
    loss = nn.functional.cross_entropy(network(x), x[:, :10].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_average(average, network, 0.99)
with torch.no_grad():
    print(average(torch.randn(64, 64)).shape)
