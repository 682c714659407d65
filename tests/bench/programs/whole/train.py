"""Trains a small convolutional network on images made up, and evaluates it after every epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        self.classes = nn.Linear(512, 10)

    def forward(self, images):
        return self.classes(self.features(images).flatten(1))


def evaluate(network, loader):
    network.eval()
    right = 0
    with torch.no_grad():
        for images, labels in loader:
            right += (network(images).argmax(1) == labels).sum().item()
    network.train()
    return right


def main():
    torch.manual_seed(0)
    images = torch.randn(1600, 1, 20, 20)
    labels = images.mean((1, 2, 3)).mul(400).long().remainder(10)
    data = TensorDataset(images, labels)
    loader = DataLoader(data, batch_size=64, shuffle=True)
    network = Network()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.7)
    for epoch in range(4):
        total = 0.0
        for batch, wanted in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(batch), wanted)
            loss.backward()
            optimizer.step()
            total += loss.item()
        schedule.step()
        print(epoch, f"{total / len(loader):.2f}", evaluate(network, loader) >= 0)


main()
