"""Loads a network and classifies a few images, once: what a command-line tool does."""

import torch
import torchvision


def main():
    torch.manual_seed(0)
    network = torchvision.models.resnet18(num_classes=10)
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(weights)
    network.eval()
    images = torch.rand(2, 3, 128, 128)
    images = (images - images.mean((2, 3), keepdim=True)) / images.std((2, 3), keepdim=True)
    with torch.inference_mode():
        scores = network(images).softmax(-1)
    best = scores.topk(3, -1)
    print(best.values.shape, [len(row) for row in best.indices.tolist()])


main()
