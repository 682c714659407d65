"""Finds objects in pictures of changing sizes, with a detector of torchvision."""

import torch
import torchvision

torch.manual_seed(0)
network = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=12).eval()
with torch.no_grad():
    for number in range(24):
        picture = torch.rand(3, 200 + 20 * (number % 4), 260)
        found = network([picture])[0]
        print(sorted(found), found["boxes"].shape[1])
