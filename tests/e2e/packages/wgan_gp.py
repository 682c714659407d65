"""A Wasserstein GAN with a gradient penalty (gradients of gradients) and a grid of samples."""
import numpy as np
import torch
import torch.nn as nn
from torch import autograd
from torchvision.utils import save_image

torch.manual_seed(0)
np.random.seed(0)
shape = (1, 12, 12)


def block(in_feat, out_feat, normalize=True):
    layers = [nn.Linear(in_feat, out_feat)]
    if normalize:
        layers.append(nn.BatchNorm1d(out_feat, 0.8))
    layers.append(nn.LeakyReLU(0.2, inplace=True))
    return layers


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(*block(10, 32, normalize=False), *block(32, 64), nn.Linear(64, int(np.prod(shape))), nn.Tanh())

    def forward(self, z):
        img = self.model(z)
        return img.view(img.shape[0], *shape)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(int(np.prod(shape)), 64), nn.LeakyReLU(0.2, inplace=True), nn.Linear(64, 1))

    def forward(self, img):
        return self.model(img.view(img.shape[0], -1))


def gradient_penalty(critic, real, fake):
    alpha = torch.tensor(np.random.random((real.size(0), 1, 1, 1)), dtype=torch.float32)
    interpolates = (alpha * real + ((1 - alpha) * fake)).requires_grad_(True)
    d = critic(interpolates)
    gradients = autograd.grad(outputs=d, inputs=interpolates, grad_outputs=torch.ones_like(d), create_graph=True,
                              retain_graph=True, only_inputs=True)[0]
    return ((gradients.view(gradients.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()


generator, critic = Generator(), Critic()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.9))
optimizer_D = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.9))
data = torch.rand(128, *shape) * 2 - 1
done = 0
for epoch in range(3):
    for i, real in enumerate(data.split(32)):
        optimizer_D.zero_grad()
        fake = generator(torch.tensor(np.random.normal(0, 1, (real.shape[0], 10)), dtype=torch.float32))
        d_loss = -torch.mean(critic(real)) + torch.mean(critic(fake)) + 10 * gradient_penalty(critic, real.data, fake.data)
        d_loss.backward()
        optimizer_D.step()
        optimizer_G.zero_grad()
        if i % 2 == 0:
            fake = generator(torch.tensor(np.random.normal(0, 1, (real.shape[0], 10)), dtype=torch.float32))
            g_loss = -torch.mean(critic(fake))
            g_loss.backward()
            optimizer_G.step()
            print("[%d/%d] D %.4f G %.4f" % (epoch, i, d_loss.item(), g_loss.item()))
            if done % 4 == 0:
                save_image(fake.data[:25], "%d.png" % done, nrow=5, normalize=True)
            done += 2
