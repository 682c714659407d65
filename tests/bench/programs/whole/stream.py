"""Listens to a stream: a window at a time through features and a recurrent network whose state goes on."""

import torch
from torch import nn


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(1, 32, 16, 8), nn.ReLU(), nn.Conv1d(32, 64, 8, 4), nn.ReLU())
        self.memory, self.out = nn.GRUCell(64, 128), nn.Linear(128, 8)

    def forward(self, window, state):
        features = self.front(window).mean(-1)
        state = self.memory(features, state)
        return self.out(state).log_softmax(-1), state


class Detector:
    def __init__(self, network):
        self.network, self.state, self.recent = network, torch.zeros(1, 128), []

    def feed(self, samples):
        window = torch.tensor(samples).view(1, 1, -1)
        window = (window - window.mean()) / (window.std() + 1e-3)
        scores, self.state = self.network(window, self.state)
        self.recent = (self.recent + [scores.argmax().item()])[-5:]
        return len(set(self.recent)) == 1 and len(self.recent) == 5


torch.manual_seed(0)
detector, found = Detector(Listener().eval()), 0
noise = torch.randn(1600).tolist()
with torch.inference_mode():
    for turn in range(1500):
        start = turn * 37 % 1000
        found += detector.feed(noise[start:start + 400])
print(found >= 0)
