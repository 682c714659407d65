"""Segments the frames of a film and smooths the result over time."""

import torch
import torchvision

torch.manual_seed(0)
network = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=6).eval()
smooth, counts = None, torch.zeros(6, dtype=torch.long)
with torch.inference_mode():
    for number in range(60):
        frame = torch.rand(1, 3, 128, 160)
        scores = network((frame - 0.45) / 0.22)["out"].softmax(1)
        smooth = scores if smooth is None else 0.8 * smooth + 0.2 * scores
        counts += torch.bincount(smooth.argmax(1).flatten(), minlength=6)
print(counts.sum().item())
