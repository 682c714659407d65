"""Training steps whose entries the gate weighs: with their backward, of which nothing runs twice.

Counted is how often anybody asks torch.autograd.grad for gradients, which plain Python never does here.
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
asked = 0
grad = torch.autograd.grad


def counting_grad(*args, **kwargs):
    global asked
    asked += 1
    return grad(*args, **kwargs)


torch.autograd.grad = counting_grad


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class Checkpointed(Net):
    def forward(self, x):
        return self.second(checkpoint(lambda y: torch.tanh(self.first(y)), x, use_reentrant=False))


def train(model, steps, backwards=1):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        for _ in range(backwards):
            loss = model(torch.randn(8, 16)).square().mean()
            loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def adversarial(steps):
    """Two models and two backward passes in a step, one of which goes through both."""
    generator, judge = Net(), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.05) for model in (generator, judge)]
    losses = []
    for _ in range(steps):
        made = generator(torch.randn(8, 16))
        loss = judge(torch.randn(8, 4)).mean() - judge(made.detach()).mean()
        loss.backward()
        optimizers[1].step()
        optimizers[1].zero_grad()
        loss = judge(made).mean()
        loss.backward()
        optimizers[0].step()
        optimizers[0].zero_grad()
        losses.append(loss.item())
    return losses


for name, losses in (
    ("a step", train(Net(), 60)),
    ("two backward passes in a step", train(Net(), 40, backwards=2)),
    ("a checkpoint", train(Checkpointed(), 40)),
):
    print(name, [f"{loss:.4f}" for loss in losses[::10]], "asked", asked)
print("two models", [f"{loss:.4f}" for loss in adversarial(40)[::10]])


class Broken(nn.Module):
    """Backward raises now and then."""

    def __init__(self):
        super().__init__()
        self.net, self.calls = Net(), 0

    def forward(self, x):
        y = self.net(x)
        if y.requires_grad:
            y.register_hook(self.hook)
        return y

    def hook(self, gradient):
        self.calls += 1
        if self.calls % 5 == 0:
            raise ValueError(f"call {self.calls}")
        return gradient


model = Broken()
raised = []
for _ in range(30):
    try:
        model(torch.ones(2, 16)).sum().backward()
    except ValueError as error:
        raised.append(str(error))
print(raised, f"{model.net.second.bias.grad.sum().item():.4f}")
