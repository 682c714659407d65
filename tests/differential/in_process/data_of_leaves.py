"""Whole steps that write parameters through `.data`, as optimizers by hand, clipped weights and moving averages do, and
`.data` of what gradients go through."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def numbers(tensors):
    return [round(float(tensor.detach().double().sum()), 4) for tensor in tensors]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def added(net, x, y):
    """The step of recurrent nets' tutorials."""
    net.zero_grad()
    out = F.log_softmax(net(x), -1)
    loss = F.nll_loss(out, y)
    loss.backward()
    for p in net.parameters():
        p.data.add_(p.grad.data, alpha=-0.1)
    return out, loss.item()


def subtracted(net, x, y):
    net.zero_grad(set_to_none=False)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    for p in net.parameters():
        p.data -= 0.1 * p.grad.data
        p.data = p.data
    return (loss,)


def named(net, x, y):
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    net.first.weight.data -= 0.1 * net.first.weight.grad
    setattr(net.first.bias, "data", net.first.bias.data.sub_(0.1 * net.first.bias.grad))
    net.second.weight.data[0] += 0.01
    net.second.bias.data.copy_(net.second.bias.data * 0.9)
    net.zero_grad()
    return (loss.data,)


def clipped(net, x, y):
    """Weights of a critic."""
    loss = -net(x).mean()
    loss.backward()
    for p in net.parameters():
        p.data.add_(p.grad, alpha=-0.5).clamp_(-0.2, 0.2)
    net.zero_grad()
    return (loss.detach(),)


def averaged(net, x, y, average=copy.deepcopy(Net())):
    for target, p in zip(average.parameters(), net.parameters()):
        target.data.mul_(0.9).add_(p.data, alpha=0.1)
    for target, p in zip(average.parameters(), net.parameters()):
        target.data.copy_(0.1 * p.data + 0.9 * target.data)
    return (average(x),)


def looked_at(net, x, y):
    """Words of old programs."""
    out = net(x)
    hits = out.data.max(1)[1].eq(y.data).sum()
    true = out.data.clone().fill_(0.1).scatter_(1, y.data.unsqueeze(1), 0.7)
    loss = F.kl_div(F.log_softmax(out, -1), true, reduction="sum")
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p.data.add_(p.grad, alpha=-0.05)
    net.zero_grad()
    return hits, loss.data, out.data.requires_grad, out.data.sum()


def clip_gradients(net, x, y):
    F.cross_entropy(net(x), y).backward()
    norm = 0.0
    for p in net.parameters():
        norm = norm + p.grad.data.norm(2) ** 2
    for p in net.parameters():
        p.grad.data.mul_(1 / (norm.sqrt() + 1))
        p.data.add_(p.grad.data, alpha=-1.0)
    net.zero_grad()
    return (norm,)


def descended(net, x, y):
    """Several steps of gradient descent by hand, each on what the one before left."""
    for _ in range(3):
        loss = F.cross_entropy(net(x), y)
        for p, gradient in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters()))):
            p.data -= 0.1 * gradient
    return (loss.detach(),)


def kept(net, x, y):
    """Of what torch was told to keep gradients are asked for behind the write once more."""
    out = net(x).square().sum()
    first = torch.autograd.grad(out, net.second.weight, retain_graph=True)[0]
    net.second.weight.data.sub_(first, alpha=0.1)
    return first, torch.autograd.grad(out, net.first.weight)[0]


def between(net, x, y):
    """Backward takes weights as they stand by then, and what forward computed of them as it was."""
    out = net(x)
    net.second.weight.data.mul_(1.5)
    loss = F.cross_entropy(out, y)
    loss.backward()
    for p in net.parameters():
        p.data.sub_(p.grad, alpha=0.1)
    net.zero_grad()
    return (loss.detach(),)


def again(net, x, y):
    """What was gone back over stays, and is gone over once more behind a write."""
    out = net(x)
    out.sum().backward(retain_graph=True)
    net.second.weight.data.mul_(0.9)
    out.square().sum().backward()
    found = numbers(p.grad for p in net.parameters())
    for p in net.parameters():
        p.data.sub_(p.grad, alpha=0.01)
    net.zero_grad()
    return found


def behind(net, x, y):
    """Its gradients are asked for behind the write that it comes with."""
    out = net(x)
    net.second.weight.data.mul_(0.9)
    net.first.bias.data.add_(0.1)
    return (out,)


def inner(net, x, y):
    h = net.first(x)
    kept = h.data
    g = torch.sigmoid(h)
    kept.add_(2)
    return g.sum() + h.sum(), kept.sum()


def other(net, x, y):
    """Other memory takes its place."""
    weight = net.first.weight.data
    net.first.weight.data = weight * 0.5
    out = net(x)
    net.first.weight.data = net.first.weight.data[:8]
    return out, weight


def part(net, x, y):
    """A part that is the whole only of some."""
    row = net.second.bias
    row.data = row.data[: len(x)]
    return (row.sum(),)


for function in (added, subtracted, named, clipped, averaged, looked_at, clip_gradients, descended, kept, between, again, behind, inner, other):
    net = Net()
    versions = [p._version for p in net.parameters()]
    for turn in range(7):
        x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))
        results = function(net, x, y)
        tensors = [one for one in results if isinstance(one, torch.Tensor)]
        print(function.__name__, turn, [one for one in results if not isinstance(one, torch.Tensor)], numbers(tensors),
              [one.requires_grad for one in tensors], numbers(net.parameters()))
        if tensors and tensors[0].requires_grad and function not in (added, subtracted):
            gradients = torch.autograd.grad(tensors[0].sum(), list(net.parameters()), allow_unused=True)
            print(numbers(g for g in gradients if g is not None))
    print(function.__name__, [p._version - v for p, v in zip(net.parameters(), versions)], [p.is_leaf for p in net.parameters()])

net = Net()
for length in (5, 4, 3, 3, 2, 2):
    print("part", length, part(net, torch.randn(length, 4), None)[0].item(), tuple(net.second.bias.shape))
