"""Weights that are computed: pruning, weight and spectral norm, parametrizations, averaging, quantisation."""
import copy

import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils import parametrizations, prune
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(0)


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
average = AveragedModel(nn.Linear(8, 8), multi_avg_fn=get_ema_multi_avg_fn(0.9))
parametrize.register_parametrization(net[0], "weight", Symmetric())
parametrizations.weight_norm(net[2])
parametrizations.spectral_norm(net[4])
prune.l1_unstructured(net[2], name="bias", amount=0.5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for step in range(5):
    x = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(net(x), torch.randint(0, 4, (16,)), label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    other = copy.deepcopy(average.module)
    with torch.no_grad():
        other.weight.add_(0.1 * step)
    average.update_parameters(other)
    print(step, round(loss.item(), 4), torch.equal(net[0].weight, net[0].weight.T), int(net[2].bias_mask.sum()))
net.eval()
average.eval()
with torch.no_grad():
    for rows in (4, 4, 6, 3):
        x = torch.linspace(-1, 1, rows * 8).view(rows, 8)
        print(round(net(x).sum().item(), 4), round(average(x).sum().item(), 4))
    with parametrize.cached():
        print(round(net(x).sum().item(), 4), round(net(x).sum().item(), 4))
    plain = copy.deepcopy(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)))
    prune.global_unstructured([(plain[0], "weight"), (plain[2], "weight")], pruning_method=prune.L1Unstructured, amount=0.3)
    for _ in range(4):
        print(round(plain(x).sum().item(), 4))
    prune.remove(plain[0], "weight")
    print(round(plain(x).sum().item(), 4), sorted(plain.state_dict()))
    quantised = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)), {nn.Linear})
    for _ in range(4):
        print(tuple(quantised(x).shape))
