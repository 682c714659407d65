"""Whole steps whose optimizer is in their graph, and what changes between two of them: learning rates, groups,
parameters that are frozen or got no gradient, states that are loaded, copied or taken away, hooks, closures, errors."""
import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import ASGD, SGD, Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop
from torch.optim.lr_scheduler import OneCycleLR


def make_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2))


def batch(seed):
    torch.manual_seed(seed)
    return torch.randn(8, 3), torch.randint(0, 2, (8,))


def step(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def shown(net, optimizer):
    weights = [round(sum(v * (i + 1) for i, v in enumerate(p.flatten().tolist())), 3) for p in net.parameters()]
    grads = [None if p.grad is None else round(p.grad.abs().sum().item(), 3) for p in net.parameters()]
    kept = [{key: float(f"{value.float().abs().sum().item():.3g}") if isinstance(value, torch.Tensor) else value
             for key, value in state.items()} for state in list(optimizer.state.values())[:2]]
    return weights, grads, kept


def run(net, optimizer, steps=6, first=1, then=None):
    losses = []
    for i in range(steps):
        losses.append(round(step(net, optimizer, *batch(first + i)).item(), 4))
        if then:
            then(i)
    return losses


MAKERS = {
    "sgd": lambda p: SGD(p, 0.1),
    "sgd maximize": lambda p: SGD(p, 0.01, maximize=True),
    "momentum": lambda p: SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "nesterov": lambda p: SGD(p, 0.1, momentum=0.9, nesterov=True),
    "sgd foreach": lambda p: SGD(p, 0.1, momentum=0.9, foreach=True),
    "sgd fused": lambda p: SGD(p, 0.1, momentum=0.9, fused=True),
    "adam": lambda p: Adam(p, 0.01, weight_decay=0.1),
    "amsgrad": lambda p: Adam(p, 0.01, amsgrad=True),
    "adam maximize": lambda p: Adam(p, 0.01, maximize=True),
    "adam foreach": lambda p: Adam(p, 0.01, foreach=True),
    "adam fused": lambda p: Adam(p, 0.01, fused=True),
    "adam differentiable": lambda p: Adam(p, 0.01, differentiable=False, capturable=False),
    "tensor rate": lambda p: Adam(p, torch.tensor(0.01)),
    "adamw": lambda p: AdamW(p, 0.01, betas=(0.8, 0.95), eps=1e-6),
    "rmsprop": lambda p: RMSprop(p, 0.01),
    "centered": lambda p: RMSprop(p, 0.01, momentum=0.9, centered=True, weight_decay=0.01),
    "adagrad": lambda p: Adagrad(p, 0.1),
    "adagrad decays": lambda p: Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.01, initial_accumulator_value=0.5),
    "adamax": lambda p: Adamax(p, 0.01, weight_decay=0.01),
    "nadam": lambda p: NAdam(p, 0.01),
    "nadam decays": lambda p: NAdam(p, 0.01, weight_decay=0.1, decoupled_weight_decay=True, momentum_decay=0.1),
    "radam": lambda p: RAdam(p, 0.01),
    "radam decays": lambda p: RAdam(p, 0.01, betas=(0.8, 0.9), weight_decay=0.1, maximize=True),
    "asgd": lambda p: ASGD(p, 0.1),
    "asgd averages": lambda p: ASGD(p, 0.1, lambd=0.1, t0=2, alpha=0.5, weight_decay=0.1),
    "adafactor": lambda p: Adafactor(p, 0.1),
    "adafactor decays": lambda p: Adafactor(p, 0.1, weight_decay=0.1, d=1.5, eps=(1e-6, 1e-2)),
    "adadelta": lambda p: Adadelta(p, 1.0),
    "rprop": lambda p: Rprop(p, 0.01),
}
for name, make in MAKERS.items():
    net = make_net()
    optimizer = make(net.parameters())
    print(name, run(net, optimizer), *shown(net, optimizer))
    # Another net of the same kind, with an optimizer of its own.
    net = make_net().double().float()
    optimizer = make(net.parameters())
    print(" ", run(net, optimizer, 3, first=20))

for name in ("momentum", "adamw", "rmsprop"):
    net = make_net()
    optimizer = MAKERS[name](net.parameters())
    print(name, "loaded", run(net, optimizer, 3))
    kept = copy.deepcopy(optimizer.state_dict())
    print(run(net, optimizer, 2))
    optimizer.load_state_dict(kept)
    print(run(net, optimizer, 3), *shown(net, optimizer))
    copied = copy.deepcopy((net, optimizer))
    print("copied", run(*copied, 2), run(net, optimizer, 2), shown(net, optimizer) == shown(*copied))
    for p in net[0].parameters():
        p.requires_grad_(False)
    print("frozen", run(net, optimizer, 3), *shown(net, optimizer))
    for p in net[0].parameters():
        p.requires_grad_(True)
    print("again", run(net, optimizer, 3))
    optimizer.state.clear()
    print("forgotten", run(net, optimizer, 3), *shown(net, optimizer))
    del optimizer.state[next(net.parameters())]
    print("one forgotten", run(net, optimizer, 3), *shown(net, optimizer))

    net.append(nn.Linear(2, 2))
    optimizer.add_param_group({"params": net[5].parameters(), "lr": 0.5})
    print("added", run(net, optimizer, 4), *shown(net, optimizer))
    optimizer.param_groups[1]["lr"] = 0.25
    print("changed", run(net, optimizer, 3))

    calls = []
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("before"))
    after = optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("after"))
    print("hooks", run(net, optimizer, 2), calls)
    before.remove()
    after.remove()
    print(run(net, optimizer, 2), calls)
    handle = net[0].weight.register_hook(lambda grad: grad * 2)
    print("doubled", run(net, optimizer, 2))
    handle.remove()
    print(run(net, optimizer, 2), *shown(net, optimizer))


def rates():
    net = make_net()
    optimizer = Adam(net.parameters(), 0.1)
    schedule = OneCycleLR(optimizer, 0.05, total_steps=100)
    losses = run(net, optimizer, 60, then=lambda i: schedule.step())
    print("one cycle", losses[::10], optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["betas"])


def given_gradients():
    net = make_net()
    optimizer = AdamW(net.parameters(), 0.01)

    def by_hand(i):
        for p in net.parameters():
            p.grad = torch.full_like(p, 0.1 * (i - 1))
        optimizer.step()
    for i in range(5):
        by_hand(i)
    for p in net.parameters():
        p.grad = None
    optimizer.step()
    print("by hand", *shown(net, optimizer))


def accumulated():
    net = make_net()
    optimizer = SGD(net.parameters(), 0.1, momentum=0.5)

    def twice(x, y):
        for part in (slice(0, 4), slice(4, 8)):
            (F.cross_entropy(net(x[part]), y[part]) / 2).backward()
        optimizer.step()
        optimizer.zero_grad()
    for i in range(4):
        twice(*batch(i))
    print("accumulated", *shown(net, optimizer))

    def kept_zeros(x, y):
        optimizer.zero_grad(set_to_none=False)
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    for i in range(4):
        kept_zeros(*batch(i))
    print("kept zeros", *shown(net, optimizer))


def closures():
    net = make_net()
    optimizer = SGD(net.parameters(), 0.1)
    x, y = batch(3)

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss
    print("closure", [round(optimizer.step(closure).item(), 4) for _ in range(5)], *shown(net, optimizer))
    lbfgs = torch.optim.LBFGS(net.parameters(), 0.1, max_iter=4)
    print("lbfgs", [round(lbfgs.step(lambda: closure()).item(), 3) for _ in range(3)])


class Scaled(SGD):
    """Steps twice as far."""

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.mul_(2)
        return super().step(closure)


class Own(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                    state["step"] = 0
                state["step"] += 1
                state["mean"].mul_(0.9).add_(p.grad)
                p.sub_(state["mean"], alpha=group["lr"] / state["step"])


def own_optimizers():
    for make in (Scaled, Own):
        net = make_net()
        optimizer = make(net.parameters(), 0.05)
        print(make.__name__, run(net, optimizer, 6), *shown(net, optimizer))


def averaged():
    net = make_net()
    mean = copy.deepcopy(net)
    optimizer = AdamW(net.parameters(), 0.01)

    def train(x, y):
        loss = step(net, optimizer, x, y)
        with torch.no_grad():
            for slow, fast in zip(mean.parameters(), net.parameters()):
                slow.lerp_(fast, 0.1)
        return loss
    for i in range(6):
        loss = train(*batch(i))
    print("averaged", round(loss.item(), 4), *shown(net, optimizer), shown(mean, optimizer)[0])


def two_players():
    maker, judge = make_net(), make_net()
    first, second = Adam(maker.parameters(), 0.01), Adam(judge.parameters(), 0.02)
    reader = nn.Linear(2, 3)

    def turn(x):
        second.zero_grad()
        fake = reader(maker(x)).detach()
        loss = F.softplus(judge(fake)).mean() + F.softplus(-judge(x)).mean()
        loss.backward()
        second.step()
        first.zero_grad()
        other = F.softplus(-judge(reader(maker(x)))).mean()
        other.backward()
        first.step()
        return loss, other
    for i in range(6):
        losses = turn(batch(i)[0])
    print("two players", [round(v.item(), 4) for v in losses], *shown(maker, first), *shown(judge, second))


def stopped():
    net = make_net()
    optimizer = Adam(net.parameters(), 0.01)

    def attempt(x, y, fails):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if fails:
            raise ValueError("stopped")
        return loss
    for i in range(6):
        try:
            attempt(*batch(i), i == 3)
        except ValueError as error:
            print(error)
    optimizer.param_groups[0]["params"][0].grad = torch.ones(5, 3).to_sparse()
    try:
        optimizer.step()
    except RuntimeError as error:
        print(type(error).__name__, str(error)[:40])
    print("stopped", *shown(net, optimizer))


def clipped():
    net = make_net()
    optimizer = AdamW(net.parameters(), 0.05)

    def train(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
        return loss, norm
    for i in range(6):
        loss, norm = train(*batch(i))
    print("clipped", round(loss.item(), 4), round(norm.item(), 4), *shown(net, optimizer))


def versions():
    net = make_net()
    optimizer = AdamW(net.parameters(), 0.05)
    for i in range(4):
        before = net[0].weight._version
        kept = net[0].weight.detach()
        step(net, optimizer, *batch(i))
        assert net[0].weight._version > before and kept.data_ptr() == net[0].weight.data_ptr()
        assert optimizer.state[net[0].weight]["step"].item() == i + 1
    print("versions")


for program in (rates, given_gradients, accumulated, closures, own_optimizers, averaged, two_players, stopped, clipped, versions):
    program()
