"""Density estimation with autoregressive and coupling flows (nflows)."""
import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform, MaskedPiecewiseRationalQuadraticAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
transforms = []
for i in range(2):
    transforms.append(ReversePermutation(features=2))
    transforms.append(MaskedAffineAutoregressiveTransform(features=2, hidden_features=8))
transforms.append(MaskedPiecewiseRationalQuadraticAutoregressiveTransform(features=2, hidden_features=8, num_bins=4, tails="linear", tail_bound=3.0))
flow = Flow(CompositeTransform(transforms), StandardNormal([2]))
optimizer = torch.optim.Adam(flow.parameters())
for i in range(6):
    x = torch.randn(64, 2) * torch.tensor([1.0, 0.3]) + torch.tensor([0.5, -0.5])
    optimizer.zero_grad()
    loss = -flow.log_prob(inputs=x).mean()
    loss.backward()
    optimizer.step()
    print(i, round(loss.item(), 4))
flow.eval()
with torch.no_grad():
    for n in (16, 16, 9, 30):
        print(n, round(flow.log_prob(torch.linspace(-1, 1, n)[:, None].repeat(1, 2)).mean().item(), 4))
    print(tuple(flow.sample(10).shape))
