"""Fast neural style: a transformer net with instance norm, Gram matrices, images of several sizes."""
from collections import namedtuple

import torch
import torch.nn.functional as F
from torchvision import models


class ConvLayer(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride):
        super().__init__()
        self.reflection_pad = torch.nn.ReflectionPad2d(kernel_size // 2)
        self.conv2d = torch.nn.Conv2d(in_channels, out_channels, kernel_size, stride)

    def forward(self, x):
        return self.conv2d(self.reflection_pad(x))


class ResidualBlock(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = ConvLayer(channels, channels, 3, 1)
        self.in1 = torch.nn.InstanceNorm2d(channels, affine=True)
        self.conv2 = ConvLayer(channels, channels, 3, 1)
        self.in2 = torch.nn.InstanceNorm2d(channels, affine=True)
        self.relu = torch.nn.ReLU()

    def forward(self, x):
        residual = x
        out = self.relu(self.in1(self.conv1(x)))
        out = self.in2(self.conv2(out))
        return out + residual


class UpsampleConvLayer(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, upsample=None):
        super().__init__()
        self.upsample = upsample
        self.reflection_pad = torch.nn.ReflectionPad2d(kernel_size // 2)
        self.conv2d = torch.nn.Conv2d(in_channels, out_channels, kernel_size, stride)

    def forward(self, x):
        if self.upsample:
            x = F.interpolate(x, mode="nearest", scale_factor=self.upsample)
        return self.conv2d(self.reflection_pad(x))


class TransformerNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.in1 = ConvLayer(3, 8, 9, 1), torch.nn.InstanceNorm2d(8, affine=True)
        self.conv2, self.in2 = ConvLayer(8, 16, 3, 2), torch.nn.InstanceNorm2d(16, affine=True)
        self.res = torch.nn.Sequential(*[ResidualBlock(16) for _ in range(3)])
        self.deconv1, self.in4 = UpsampleConvLayer(16, 8, 3, 1, upsample=2), torch.nn.InstanceNorm2d(8, affine=True)
        self.deconv3 = ConvLayer(8, 3, 9, 1)
        self.relu = torch.nn.ReLU()

    def forward(self, X):
        y = self.relu(self.in1(self.conv1(X)))
        y = self.relu(self.in2(self.conv2(y)))
        y = self.res(y)
        y = self.relu(self.in4(self.deconv1(y)))
        return self.deconv3(y)


class Features(torch.nn.Module):
    def __init__(self):
        super().__init__()
        features = models.vgg11(weights=None).features
        self.slices = torch.nn.ModuleList([features[:2], features[2:5], features[5:10]])
        for param in self.parameters():
            param.requires_grad = False

    def forward(self, X):
        Outputs = namedtuple("VggOutputs", ["relu1", "relu2", "relu3"])
        found = []
        for part in self.slices:
            X = part(X)
            found.append(X)
        return Outputs(*found)


def gram_matrix(y):
    (b, ch, h, w) = y.size()
    features = y.view(b, ch, w * h)
    return features.bmm(features.transpose(1, 2)) / (ch * h * w)


torch.manual_seed(42)
transformer, vgg = TransformerNet(), Features()
optimizer = torch.optim.Adam(transformer.parameters(), 1e-3)
mse = torch.nn.MSELoss()
gram_style = [gram_matrix(y) for y in vgg(torch.rand(1, 3, 32, 32).repeat(2, 1, 1, 1))]
for step in range(4):
    optimizer.zero_grad()
    x = torch.rand(2, 3, 32, 32)
    y = transformer(x)
    features_y, features_x = vgg(y), vgg(x)
    content_loss = mse(features_y.relu2, features_x.relu2)
    style_loss = sum(mse(gram_matrix(ft_y), gm_s[: len(x), :, :]) for ft_y, gm_s in zip(features_y, gram_style))
    total_loss = content_loss + 1e3 * style_loss
    total_loss.backward()
    optimizer.step()
    print("%d content %.4f style %.4f" % (step, content_loss.item(), style_loss.item()))
transformer.eval()
with torch.no_grad():
    for size in ((32, 32), (40, 36), (64, 48), (40, 36), (36, 52)):
        out = transformer(torch.rand(1, 3, *size))
        print(tuple(out.shape), "%.3f %.3f" % (out.mean().item(), out.std().item()))
