"""Steps of torch.optim, learning rates that change, clipped gradients."""
import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW, Adagrad, NAdam, RAdam, RMSprop
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LambdaLR, OneCycleLR


def train(name, make, schedule=None, steps=12, clip=None, dtype=torch.float32):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).to(dtype)
    optimizer = make(net.parameters())
    scheduler = schedule(optimizer) if schedule else None
    x, y = torch.randn(8, 3, dtype=dtype), torch.randn(8, 2, dtype=dtype)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), clip) if clip else loss
        optimizer.step()
        if scheduler:
            scheduler.step()
    weights = [round(v, 3) for p in net.parameters() for v in p.flatten().tolist()]
    print(name, round(loss.item(), 3), round(norm.item(), 3), weights[:6], round(optimizer.param_groups[0]["lr"], 7))
    for state in optimizer.state.values():
        print("  ", {k: (float(f"{v.sum().item():.4g}") if isinstance(v, torch.Tensor) else v) for k, v in state.items()})
        break


for foreach in (False, True):
    tag = " foreach" if foreach else ""
    train("sgd" + tag, lambda p: SGD(p, lr=0.1, foreach=foreach), lambda o: ExponentialLR(o, 0.9))
    train("momentum" + tag, lambda p: SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01, nesterov=True, foreach=foreach),
          lambda o: LambdaLR(o, lambda e: 1 / (e + 1)), clip=0.3)
    train("adam" + tag, lambda p: Adam(p, lr=0.01, foreach=foreach), clip=0.5)
    train("adam scheduled" + tag, lambda p: Adam(p, lr=0.01, betas=(0.8, 0.99), foreach=foreach), lambda o: CosineAnnealingLR(o, 10))
    train("adamw" + tag, lambda p: AdamW(p, lr=0.01, amsgrad=True, foreach=foreach), lambda o: OneCycleLR(o, 0.05, total_steps=20))
    train("rmsprop" + tag, lambda p: RMSprop(p, lr=0.01, momentum=0.5, centered=True, foreach=foreach), clip=1.0)
    train("adagrad" + tag, lambda p: Adagrad(p, lr=0.05, lr_decay=0.1, foreach=foreach))
    train("nadam" + tag, lambda p: NAdam(p, lr=0.01, foreach=foreach))
    train("radam" + tag, lambda p: RAdam(p, lr=0.01, foreach=foreach))
train("double", lambda p: AdamW(p, lr=0.02), lambda o: ExponentialLR(o, 0.8), clip=0.2, dtype=torch.float64)
