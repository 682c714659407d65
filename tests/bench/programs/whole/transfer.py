"""Trains a new last layer on a network that stays as it is, then saves it and loads it again."""

import io

import torch
import torchvision
from torch import nn

torch.manual_seed(0)
model = torchvision.models.resnet18(weights=None)
for param in model.parameters():
    param.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, 2)
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.001, momentum=0.9)
for epoch in range(3):
    for phase in ("train", "val"):
        model.train(phase == "train")
        running, correct = 0.0, 0
        for batch in range(8):
            inputs, labels = torch.randn(4, 3, 96, 96), torch.randint(0, 2, (4,))
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                loss = nn.functional.cross_entropy(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
            running += loss.item() * inputs.size(0)
            correct += torch.sum(outputs.argmax(1) == labels.data)
        print(phase, running > 0, int(correct) >= 0)
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
print(model.load_state_dict(torch.load(file)))
