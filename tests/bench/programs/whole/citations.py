"""Trains a graph network on citations made up, with dropout and an evaluation after every epoch."""

import torch
from torch import nn


class Convolution(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inside, outside))
        self.bias = nn.Parameter(torch.zeros(outside))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, source, target, scale):
        x = x @ self.weight
        gathered = torch.zeros_like(x).index_add_(0, target, x[source] * scale[:, None])
        return gathered + self.bias


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Convolution(128, 32), Convolution(32, 7)

    def forward(self, x, *graph):
        x = nn.functional.dropout(torch.relu(self.first(x, *graph)), 0.5, self.training)
        return self.second(x, *graph).log_softmax(1)


torch.manual_seed(0)
nodes, edges = 1500, 6000
source, target = torch.randint(0, nodes, (2, edges))
degree = torch.bincount(target, minlength=nodes).clamp(min=1).float()
graph = source, target, (degree[source] * degree[target]).rsqrt()
x, labels = torch.rand(nodes, 128), torch.randint(0, 7, (nodes,))
known = torch.rand(nodes) < 0.3
network = Network()
optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(150):
    network.train()
    optimizer.zero_grad()
    loss = nn.functional.nll_loss(network(x, *graph)[known], labels[known])
    loss.backward()
    optimizer.step()
    network.eval()
    with torch.no_grad():
        right = (network(x, *graph).argmax(1) == labels)[~known].float().mean()
    if epoch % 50 == 0:
        print(epoch, loss.item() > 0, right.item() <= 1)
