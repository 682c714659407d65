"""Image classifiers from timm: mixup, EMA, schedules, feature extraction, a training and a validation loop."""
import numpy
import timm
import torch
from timm.data import Mixup, create_transform, resolve_data_config
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, ModelEmaV2, accuracy

torch.manual_seed(0)
numpy.random.seed(0)
torch.set_num_threads(2)
for name, keywords in (("resnet10t", {}), ("vit_tiny_patch16_224", {"img_size": 64, "depth": 2}), ("mobilenetv3_small_050", {})):
    model = timm.create_model(name, pretrained=False, num_classes=5, **keywords)
    ema = ModelEmaV2(model, decay=0.9)
    mixup = Mixup(mixup_alpha=0.4, cutmix_alpha=0.0, label_smoothing=0.1, num_classes=5)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    scheduler = CosineLRScheduler(optimizer, t_initial=3, warmup_t=1, warmup_lr_init=1e-5)
    criterion = SoftTargetCrossEntropy()
    for epoch in range(2):
        model.train()
        losses = AverageMeter()
        images, labels = torch.randn(8, 3, 64, 64), torch.randint(0, 5, (8,))
        images, targets = mixup(images, labels)
        loss = criterion(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        losses.update(loss.item(), images.size(0))
        scheduler.step(epoch + 1)
        print(name, epoch, round(losses.avg, 3), round(optimizer.param_groups[0]["lr"], 6))
    model.eval()
    with torch.no_grad():
        for batch in (4, 4, 2):
            x = torch.randn(batch, 3, 64, 64)
            out = ema.module.eval()(x)
            print(tuple(out.shape), round(out.std().item(), 2), tuple(model.forward_features(x).shape),
                  [round(float(v), 1) for v in accuracy(out, torch.zeros(batch, dtype=torch.long), topk=(1, 2))])
    config = resolve_data_config({}, model=model)
    print(len(create_transform(**config, is_training=False).transforms))
