"""Segmentation networks: torchvision's LR-ASPP and DeepLab, segmentation-models-pytorch's U-Net and FPN."""
import segmentation_models_pytorch as smp
import torch
from torchvision.models import segmentation

torch.manual_seed(0)
models = {
    "lraspp": segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4),
    "unet": smp.Unet("resnet18", encoder_weights=None, classes=3, decoder_channels=(64, 32, 16, 8, 8)),
    "fpn": smp.FPN("mobilenet_v2", encoder_weights=None, classes=3),
}
for name, model in models.items():
    model.eval()
    with torch.no_grad():
        for shape in ((64, 64), (96, 64), (64, 96), (64, 64)):
            out = model(torch.randn(2, 3, *shape))
            out = out["out"] if isinstance(out, dict) else out
            print(name, tuple(out.shape), round(out.mean().item(), 3), round(out.std().item(), 3))
loss_function = smp.losses.DiceLoss("multiclass")
model = models["unet"].train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(3):
    x, y = torch.randn(2, 3, 64, 64), torch.randint(0, 3, (2, 64, 64))
    out = model(x)
    loss = loss_function(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tp, fp, fn, tn = smp.metrics.get_stats(out.argmax(1), y, mode="multiclass", num_classes=3)
    print(step, round(loss.item(), 3), round(smp.metrics.iou_score(tp, fp, fn, tn, reduction="micro").item(), 2))
