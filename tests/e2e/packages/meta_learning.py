"""Model-agnostic meta-learning with torch.func: functional_call, grad, vmap over tasks, jacobians."""
import math

import torch
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1, 20), torch.nn.Tanh(), torch.nn.Linear(20, 1))
params = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}


def loss_function(params, x, y):
    return ((functional_call(net, params, (x,)) - y) ** 2).mean()


def task_loss(params, x, y, x2, y2):
    grads = grad(loss_function)(params, x, y)
    adapted = {k: params[k] - 0.05 * grads[k] for k in params}
    return loss_function(adapted, x2, y2)


optimizer = torch.optim.Adam(params.values(), lr=1e-2)
for step in range(5):
    amplitude, phase = torch.rand(4, 1, 1) * 4.9 + 0.1, torch.rand(4, 1, 1) * math.pi
    x, x2 = torch.rand(4, 5, 1) * 10 - 5, torch.rand(4, 5, 1) * 10 - 5
    y, y2 = amplitude * torch.sin(x + phase), amplitude * torch.sin(x2 + phase)
    loss = vmap(task_loss, in_dims=(None, 0, 0, 0, 0))(params, x, y, x2, y2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
with torch.no_grad():
    for rows in (3, 3, 5, 4):
        x = torch.linspace(-1, 1, rows)[:, None]
        print(round(functional_call(net, params, (x,)).sum().item(), 4), tuple(vmap(lambda v: v * 2 + v.sum())(x).shape))
f = lambda v: (v.sin() * v.cos()).sum()
for _ in range(4):
    v = torch.linspace(0, 1, 4)
    print(round(jacrev(f)(v).sum().item(), 4), round(hessian(f)(v).diagonal().sum().item(), 4),
          round(jvp(f, (v,), (torch.ones(4),))[1].item(), 4))
