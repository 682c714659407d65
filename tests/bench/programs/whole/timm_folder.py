"""Classifies a folder of pictures, in batches, with a vision transformer of timm."""

import timm
import torch

torch.manual_seed(0)
model = timm.create_model("vit_tiny_patch16_224", pretrained=False, num_classes=100).eval()
config = timm.data.resolve_model_data_config(model)
mean, std = torch.tensor(config["mean"]).view(3, 1, 1), torch.tensor(config["std"]).view(3, 1, 1)
best = []
with torch.inference_mode():
    for batch in range(16):
        pictures = [torch.rand(3, 224, 224) for _ in range(4 if batch != 15 else 3)]
        scores = model(torch.stack([(picture - mean) / std for picture in pictures]))
        best += scores.softmax(-1).topk(5).indices.tolist()
print(len(best), len(best[0]))
