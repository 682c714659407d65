"""Style transfer: the picture itself is what L-BFGS moves, through a network that stays as it is."""

import torch
from torch import nn

torch.manual_seed(0)


def gram(x):
    a, b, c, d = x.size()
    features = x.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class Watched(nn.Module):
    def __init__(self, target, measure):
        super().__init__()
        self.measure, self.target = measure, measure(target).detach()

    def forward(self, x):
        self.loss = nn.functional.mse_loss(self.measure(x), self.target)
        return x


style, content = torch.rand(1, 3, 64, 64), torch.rand(1, 3, 64, 64)
model, watched, width = nn.Sequential(), [], 3
for number in range(5):
    model.add_module(f"conv_{number}", nn.Conv2d(width, 32, 3, padding=1))
    width = 32
    watched.append(Watched(model(style), gram))
    model.add_module(f"style_{number}", watched[-1])
    if number == 3:
        watched.append(Watched(model(content), nn.Identity()))
        model.add_module(f"content_{number}", watched[-1])
    model.add_module(f"relu_{number}", nn.ReLU())
model.eval().requires_grad_(False)
picture = content.clone().requires_grad_(True)
optimizer, run = torch.optim.LBFGS([picture]), [0]
while run[0] <= 60:
    def closure():
        with torch.no_grad():
            picture.clamp_(0, 1)
        optimizer.zero_grad()
        model(picture)
        loss = sum(one.loss for one in watched)
        loss.backward()
        run[0] += 1
        return loss
    optimizer.step(closure)
print(picture.shape)
