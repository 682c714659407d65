"""A network of two layers, called once: what `penstock export` makes a file of."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
with torch.no_grad():
    print(net(torch.randn(3, 16)).sum())
