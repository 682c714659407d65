"""Augments pictures with torchvision's transforms, as the workers of a data loader do, and collects statistics."""

import torch
from torchvision import transforms
from torchvision.transforms import v2

torch.manual_seed(0)
old = transforms.Compose([transforms.RandomResizedCrop(96, antialias=True), transforms.RandomHorizontalFlip(),
                          transforms.ColorJitter(0.2, 0.2, 0.2), transforms.Normalize((0.5,) * 3, (0.25,) * 3),
                          transforms.RandomErasing(0.5)])
new = v2.Compose([v2.RandomCrop(112), v2.RandomVerticalFlip(), v2.RandomRotation(10), v2.GaussianBlur(3),
                  v2.ToDtype(torch.float32, scale=True)])
total, count = torch.zeros(3), 0
for number in range(250):
    picture = torch.rand(3, 128 + number % 7, 140)
    first, second = old(picture), new(picture)
    total += first.mean((1, 2)) + second.mean((1, 2))
    count += first[0].numel() + second[0].numel()
print(total.shape, count)
