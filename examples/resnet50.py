"""timm's resnet50 as it is, with random weights: images in, classes out."""
import statistics
import time

import timm
import torch

torch.manual_seed(0)
model = timm.create_model("resnet50").eval()
images = torch.randn(8, 3, 224, 224)
with torch.no_grad():
    for _ in range(3):
        logits = model(images)
    print("checksum", round(logits.abs().mean().item(), 4))
    times = []
    for _ in range(10):
        begin = time.perf_counter()
        model(images)
        times.append(time.perf_counter() - begin)
    print(f"{statistics.median(times) * 1000:.1f} ms per call")
