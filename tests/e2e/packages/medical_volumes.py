"""Volumes: a 3-d U-Net, dice loss, sliding windows (monai)."""
import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.utils import set_determinism

set_determinism(0)
model = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1)
loss_function = DiceCELoss(to_onehot_y=True, softmax=True)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(3):
    x = torch.randn(2, 1, 16, 16, 16)
    y = (x > 0.5).float()
    loss = loss_function(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 3))
model.eval()
metric = DiceMetric(include_background=False, reduction="mean")
with torch.no_grad():
    for shape in ((24, 24, 24), (20, 28, 16), (24, 24, 24)):
        x = torch.randn(1, 1, *shape)
        out = sliding_window_inference(x, (16, 16, 16), 2, model, overlap=0.25)
        labels = torch.nn.functional.one_hot(out.argmax(1), 2).permute(0, 4, 1, 2, 3)
        metric(y_pred=labels, y=torch.cat([(x <= 0.5), (x > 0.5)], 1).float())
        print(tuple(out.shape), round(out.mean().item(), 3))
print(round(metric.aggregate().item(), 2))
