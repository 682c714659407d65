"""Exact Gaussian process regression with lazily evaluated kernels (gpytorch)."""
import math

import gpytorch
import torch

torch.manual_seed(0)
train_x = torch.linspace(0, 1, 40)
train_y = torch.sin(train_x * (2 * math.pi)) + torch.randn(train_x.size()) * 0.2


class ExactGPModel(gpytorch.models.ExactGP):
    def __init__(self, train_x, train_y, likelihood):
        super().__init__(train_x, train_y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()) + gpytorch.kernels.LinearKernel()

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = ExactGPModel(train_x, train_y, likelihood)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for i in range(12):
    optimizer.zero_grad()
    loss = -mll(model(train_x), train_y)
    loss.backward()
    optimizer.step()
    if i % 4 == 3:
        print("Iter %d - Loss: %.3f noise: %.3f" % (i + 1, loss.item(), likelihood.noise.item()))
model.eval()
likelihood.eval()
for points in (11, 11, 21, 7):
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        observed = likelihood(model(torch.linspace(0, 1, points)))
        lower, upper = observed.confidence_region()
        print(points, round(observed.mean.abs().sum().item(), 2), round((upper - lower).mean().item(), 2))
