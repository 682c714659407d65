"""Several losses out of one segment: a program goes backward from one after the other, steps its optimizers between
them, goes again through what saved nothing, and has errors raised by what is freed."""
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._vmap_internals import vmap

warnings.simplefilter("ignore")
torch.manual_seed(0)
ACTOR = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
CRITIC = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
FIRST, SECOND = nn.Linear(4, 1), nn.Linear(4, 1)
STEPS = {net: torch.optim.SGD(net.parameters(), 0.05) for net in (ACTOR, CRITIC, FIRST, SECOND)}


def descend(loss, net):
    STEPS[net].zero_grad()
    loss.backward()
    STEPS[net].step()


def actor_and_critic(x):
    value = CRITIC(x).squeeze(1)
    chances = ACTOR(x).log_softmax(1)
    actor_loss = -(chances[:, 0] * (x[:, 0] - value.detach())).mean()
    critic_loss = F.mse_loss(value, x[:, 0])
    descend(actor_loss, ACTOR)
    descend(critic_loss, CRITIC)
    return actor_loss, critic_loss


def twins(x):
    a, b = FIRST(x), SECOND(x)
    first, second = F.mse_loss(a, x[:, :1]), F.mse_loss(b, x[:, 1:2])
    descend(first, FIRST)
    descend(second, SECOND)
    return first, second


def twins_with_dropout(x):
    a, b = F.dropout(FIRST(x), 0.5), F.dropout(SECOND(x), 0.5)
    first, second = F.mse_loss(a, x[:, :1]), F.mse_loss(b, x[:, 1:2])
    descend(first, FIRST)
    descend(second, SECOND)
    return first, second


def one_behind_the_other(x):
    a = (FIRST.weight * 2 * x).sum()
    b = (SECOND.weight.sin() * x + FIRST.weight.detach()).sum()
    descend(b, SECOND)
    descend(a, FIRST)
    return a, b


def shared(x):
    hidden = ACTOR[0](x).relu()
    one, other = hidden.sum(), (hidden * hidden).mean()
    one.backward(retain_graph=True)
    other.backward()
    return one, other


def freed(x):
    hidden = ACTOR[0](x).relu()
    one, other = hidden.sum(), (hidden * hidden).mean()
    one.backward()
    try:
        other.backward()
    except RuntimeError as error:
        print(str(error)[:46])
    return one, other


def nothing_saved(x):
    loss = (x.sum() + FIRST.weight).sum()
    STEPS[FIRST].zero_grad()
    loss.backward()
    loss.backward()
    return loss, FIRST.weight.grad


def number_saved(x):
    loss = (x.sum() + FIRST.weight * 2).sum() / 3
    loss.backward()
    try:
        loss.backward()
    except RuntimeError as error:
        print(str(error)[:46])
    return loss, FIRST.weight.grad


def penalties():
    return [(parameter * (at + 1)).sum() for at, parameter in enumerate(ACTOR.parameters())]


def each_penalty(x):
    ACTOR.zero_grad()
    for penalty in penalties():
        penalty.backward()
    return x, ACTOR[0].weight.grad


def in_batches(x):
    x = x[:2].clone().requires_grad_()
    product = x * x.sin()
    tangents = torch.randn(3, 2, 4)  # after the segment's ops, drawn by none that gradients need
    return vmap(lambda one: torch.autograd.grad(product, x, one, retain_graph=True)[0])(tangents), product


for function in (actor_and_critic, twins, twins_with_dropout, one_behind_the_other, shared, freed, nothing_saved,
                 number_saved, each_penalty, in_batches):
    for turn in range(8):
        results = function(torch.randn(16, 4))
        print(function.__name__, turn, [f"{one.double().sum().item():.3f}" for one in results])


class Sampled(nn.Module):
    """What is drawn from a distribution whose parameters are handed out beside it."""

    def __init__(self):
        super().__init__()
        self.body, self.mean, self.scale, self.out = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 3), nn.Linear(3, 4)

    def forward(self, x):
        hidden = self.body(x).relu()
        mean, scale = torch.broadcast_tensors(self.mean(hidden), F.softplus(self.scale(hidden)) + 0.1)
        drawn = mean + torch.empty(mean.shape).normal_() * scale
        return self.out(drawn), mean, scale, drawn


torch.manual_seed(3)
SAMPLED = Sampled()
for turn in range(6):
    torch.manual_seed(turn)
    out, mean, scale, drawn = SAMPLED(torch.randn(5, 4))
    spread = (scale * scale + mean * mean - scale.log()).sum()
    print("sampled", f"{out.sum().item():.5f} {spread.item():.5f}", torch.rand(1).item())
    if turn % 3 == 2:
        print([f"{g.sum().item():.4f}" for g in torch.autograd.grad(out.square().sum() + spread, [mean, scale, drawn])])
    elif turn % 3 == 1:
        spread.backward(retain_graph=True)
        out.square().sum().backward()
    else:
        (out.square().sum() + spread).backward()
    print([f"{p.grad.sum().item():.4f}" for p in SAMPLED.parameters() if p.grad is not None])
    SAMPLED.zero_grad()
