"""Spoken commands: spectrogram features, augmentation, a raw-waveform CNN and a Conformer (torchaudio)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchaudio


class M5(nn.Module):
    def __init__(self, n_input=1, n_output=6, stride=16, n_channel=16):
        super().__init__()
        self.conv1, self.bn1, self.pool1 = nn.Conv1d(n_input, n_channel, 80, stride=stride), nn.BatchNorm1d(n_channel), nn.MaxPool1d(4)
        self.conv2, self.bn2, self.pool2 = nn.Conv1d(n_channel, n_channel, 3), nn.BatchNorm1d(n_channel), nn.MaxPool1d(4)
        self.fc1 = nn.Linear(n_channel, n_output)

    def forward(self, x):
        x = self.pool1(F.relu(self.bn1(self.conv1(x))))
        x = self.pool2(F.relu(self.bn2(self.conv2(x))))
        x = F.avg_pool1d(x, x.shape[-1])
        return F.log_softmax(self.fc1(x.permute(0, 2, 1)), dim=2)


def wave(length, pitch):
    t = torch.arange(length) / 8000.0
    return (torch.sin(2 * math.pi * pitch * t) + 0.1 * torch.randn(length))[None]


torch.manual_seed(5)
model = M5()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(5):
    target = torch.randint(0, 6, (8,))
    batch = torch.stack([wave(8000, 200 + 100 * int(t)) for t in target])
    loss = F.nll_loss(model(batch).squeeze(1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 3))
model.eval()
mel = torchaudio.transforms.MelSpectrogram(sample_rate=8000, n_fft=256, n_mels=24)
to_db = torchaudio.transforms.AmplitudeToDB()
mask = torch.nn.Sequential(torchaudio.transforms.FrequencyMasking(4), torchaudio.transforms.TimeMasking(8))
conformer = torchaudio.models.Conformer(input_dim=24, num_heads=2, ffn_dim=48, num_layers=2, depthwise_conv_kernel_size=7).eval()
resample = torchaudio.transforms.Resample(8000, 4000)
mfcc = torchaudio.transforms.MFCC(sample_rate=8000, n_mfcc=12, melkwargs={"n_fft": 256, "n_mels": 24})
with torch.no_grad():
    for length in (8000, 6000, 7000, 8000, 4800):
        x = wave(length, 330)
        features = to_db(mel(x))
        masked = mask(features)
        out, lengths = conformer(features.transpose(1, 2), torch.tensor([features.shape[-1]]))
        print(length, tuple(features.shape), round(features.mean().item(), 2), tuple(masked.shape), tuple(out.shape),
              round(out.std().item(), 3), lengths.tolist(), tuple(resample(x).shape), round(mfcc(x).mean().item(), 2))
        if length >= 4800:
            print(model(x[None]).argmax(-1).tolist())
