"""A neural ordinary differential equation, fixed and adaptive solvers, adjoint gradients (torchdiffeq, torchsde)."""
import torch
import torch.nn as nn
import torchsde
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)
true_y0 = torch.tensor([[2.0, 0.0]])
t = torch.linspace(0.0, 5.0, 40)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y ** 3, true_A)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y ** 3)


with torch.no_grad():
    true_y = odeint(Lambda(), true_y0, t, method="dopri5")
    print(tuple(true_y.shape), round(true_y.abs().sum().item(), 2))
func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
for step, (solve, method) in enumerate(((odeint, "rk4"), (odeint_adjoint, "dopri5"), (odeint, "euler"), (odeint_adjoint, "rk4"))):
    optimizer.zero_grad()
    pred = solve(func, true_y[:6, 0], t[:6], method=method)
    loss = torch.mean(torch.abs(pred - true_y[:6]))
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
with torch.no_grad():
    for batch in (1, 3, 3, 5):
        out = odeint(func, torch.rand(batch, 2), t[:10], method="midpoint")
        print(tuple(out.shape), round(out.sum().item(), 3))


class SDE(nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.mu, self.sigma = nn.Linear(3, 3), nn.Linear(3, 3)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return 0.1 * torch.sigmoid(self.sigma(y))


with torch.no_grad():
    sde = SDE()
    for size in (4, 4, 6):
        bm = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(size, 3), entropy=7, levy_area_approximation="space-time")
        print(round(torchsde.sdeint(sde, torch.ones(size, 3), torch.linspace(0, 1, 5), bm=bm, dt=0.1).sum().item(), 3))
