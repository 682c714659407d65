"""Trains a variational autoencoder and reconstructs a test set after every epoch."""

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
        self.fc3, self.fc4 = nn.Linear(20, 400), nn.Linear(400, 784)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 784), reduction="sum")
    return BCE - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


def train(model, loader, optimizer):
    model.train()
    train_loss = 0
    for (data,) in loader:
        optimizer.zero_grad()
        loss = loss_function(*[(recon := model(data))[0], data, *recon[1:]])
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    return train_loss


def test(model, loader):
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for (data,) in loader:
            recon, mu, logvar = model(data)
            test_loss += loss_function(recon, data, mu, logvar).item()
        sample = model.decode(torch.randn(64, 20))
    return test_loss, sample.view(64, 1, 28, 28).shape


def main():
    torch.manual_seed(0)
    images = torch.rand(4096, 1, 28, 28)
    loader = DataLoader(TensorDataset(images), batch_size=128, shuffle=True)
    tests = DataLoader(TensorDataset(images[:1024]), batch_size=128)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(8):
        loss = train(model, loader, optimizer)
        print(epoch, loss > 0, test(model, tests)[1])


main()
