"""Attributions of a classifier's predictions (captum)."""
import numpy
import torch
from captum.attr import DeepLift, GradientShap, IntegratedGradients, LayerConductance, Occlusion, Saliency

torch.manual_seed(0)


class Toy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.relu1 = torch.nn.ReLU()
        self.pool = torch.nn.AvgPool2d(2)
        self.lin = torch.nn.Linear(4 * 5 * 5, 3)

    def forward(self, x):
        return self.lin(self.pool(self.relu1(self.conv(x))).flatten(1))


model = Toy().eval()
x, baseline = torch.rand(2, 1, 10, 10), torch.zeros(2, 1, 10, 10)
for target in (0, 1, 2):
    ig, delta = IntegratedGradients(model).attribute(x, baseline, target=target, n_steps=20, return_convergence_delta=True)
    print("ig", round(ig.sum().item(), 3), tuple(delta.shape))
    print("saliency", round(Saliency(model).attribute(x, target=target).sum().item(), 3))
    print("deeplift", round(DeepLift(model).attribute(x, baseline, target=target).sum().item(), 3))
    print("layer", round(LayerConductance(model, model.conv).attribute(x, baseline, target=target, n_steps=10).sum().item(), 3))
    with torch.no_grad():
        print("occlusion", round(Occlusion(model).attribute(x, target=target, sliding_window_shapes=(1, 3, 3), strides=(1, 2, 2)).sum().item(), 3))
torch.manual_seed(1)
numpy.random.seed(1)
print("shap", round(GradientShap(model).attribute(x, baselines=baseline, n_samples=4, target=0, stdevs=0.01).sum().item(), 3))
