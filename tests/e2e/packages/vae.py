"""A variational autoencoder that saves grids of samples, in the style of PyTorch's VAE example."""
import torch
from torch import nn, optim
from torch.nn import functional as F
from torchvision.utils import make_grid, save_image


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc21 = nn.Linear(128, 20)
        self.fc22 = nn.Linear(128, 20)
        self.fc3 = nn.Linear(20, 128)
        self.fc4 = nn.Linear(128, 784)

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
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 784), reduction="sum")
    return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


torch.manual_seed(1)
images = torch.rand(320, 1, 28, 28).round()
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 4):
    model.train()
    train_loss = 0
    for data in images[:256].split(64):
        optimizer.zero_grad()
        loss = loss_function(*((r := model(data))[0], data, r[1], r[2]))
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print("====> Epoch: {} Average loss: {:.3f}".format(epoch, train_loss / 256))
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for i, data in enumerate(images[256:].split(32)):
            recon, mu, logvar = model(data)
            test_loss += loss_function(recon, data, mu, logvar).item()
            if i == 0:
                comparison = torch.cat([data[:8], recon.view(32, 1, 28, 28)[:8]])
                save_image(comparison, f"reconstruction_{epoch}.png", nrow=8)
    print("====> Test set loss: {:.3f}".format(test_loss / 64))
    with torch.no_grad():
        sample = model.decode(torch.randn(64, 20)).view(64, 1, 28, 28)
        save_image(sample, f"sample_{epoch}.png")
        for count in (3, 24, 64):
            grid = make_grid(sample[:count], nrow=6, normalize=True, value_range=(0, 1), pad_value=0.5)
            print(tuple(grid.shape), "{:.4f}".format(grid.mean().item()))
