"""Variational inference and a Hamiltonian sampler on a small regression (pyro)."""
import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
from pyro.optim import Adam

pyro.set_rng_seed(0)
x = torch.randn(40, 2)
y = x @ torch.tensor([1.5, -0.7]) + 0.3 + 0.1 * torch.randn(40)


def model(x, y=None):
    weight = pyro.sample("weight", dist.Normal(torch.zeros(2), torch.ones(2)).to_event(1))
    bias = pyro.sample("bias", dist.Normal(0.0, 1.0))
    sigma = pyro.sample("sigma", dist.HalfNormal(1.0))
    mean = (x * weight).sum(-1) + bias
    with pyro.plate("data", x.shape[0]):
        return pyro.sample("obs", dist.Normal(mean, sigma), obs=y)


guide = AutoNormal(model)
svi = SVI(model, guide, Adam({"lr": 0.03}), Trace_ELBO())
for step in range(60):
    loss = svi.step(x, y)
    if step % 20 == 19:
        print(step, round(loss, 1))
print({name: value.detach().numpy().round(2).tolist() for name, value in sorted(guide.median().items())})
samples = Predictive(model, guide=guide, num_samples=20)(x[:5])
print({name: tuple(value.shape) for name, value in sorted(samples.items())})
mcmc = MCMC(NUTS(model), num_samples=8, warmup_steps=8, disable_progbar=True)
mcmc.run(x, y)
print(sorted((name, tuple(value.shape)) for name, value in mcmc.get_samples().items()))
