"""Object detection (torchvision): a training step and predictions of Faster R-CNN, RetinaNet, SSD and Mask R-CNN."""
import torch
from torchvision.models import detection, mobilenet_v3_small
from torchvision.models.detection.rpn import AnchorGenerator
from torchvision.ops import MultiScaleRoIAlign, box_iou, generalized_box_iou

torch.manual_seed(0)


def backbone():
    features = mobilenet_v3_small(weights=None).features[:5]
    features.out_channels = 40
    return features


anchors = AnchorGenerator(sizes=((16, 32, 64),), aspect_ratios=((0.5, 1.0, 2.0),))
roi = MultiScaleRoIAlign(featmap_names=["0"], output_size=7, sampling_ratio=2)
models = {
    "faster": detection.FasterRCNN(backbone(), num_classes=4, rpn_anchor_generator=anchors, box_roi_pool=roi, min_size=96, max_size=128,
                                   rpn_post_nms_top_n_test=50, rpn_post_nms_top_n_train=50),
    "retina": detection.RetinaNet(backbone(), num_classes=4, anchor_generator=anchors, min_size=96, max_size=128),
    "mask": detection.MaskRCNN(backbone(), num_classes=3, rpn_anchor_generator=anchors, box_roi_pool=roi, min_size=96, max_size=128,
                               rpn_post_nms_top_n_test=50, rpn_post_nms_top_n_train=50),
}


def sample(h, w, boxes):
    x = torch.rand(boxes, 2) * 40
    boxes = torch.cat([x, x + 10 + torch.rand(boxes, 2) * 30], dim=1)
    return torch.rand(3, h, w), {"boxes": boxes, "labels": torch.randint(1, 3, (len(boxes),)),
                                 "masks": (torch.rand(len(boxes), h, w) > 0.5).to(torch.uint8)}


for name, model in models.items():
    model.train()
    images, targets = zip(*(sample(90, 110, 3), sample(100, 84, 2)))
    losses = model(list(images), list(targets))
    sum(losses.values()).backward()
    print(name, {key: round(value.item(), 2) for key, value in sorted(losses.items())})
    model.eval()
    with torch.no_grad():
        for shape in ((90, 110), (100, 84), (77, 77)):
            found = model([torch.rand(3, *shape), torch.rand(3, 80, 120)])
            print([sorted(one) for one in found][0], [len(one["boxes"]) > 0 for one in found],
                  [tuple(one["boxes"].shape)[1:] for one in found])
a, b = sample(90, 90, 6)[1]["boxes"], sample(90, 90, 4)[1]["boxes"]
for n in (6, 3, 5, 6):
    print(round(box_iou(a[:n], b).sum().item(), 3), round(generalized_box_iou(a[:n], b).sum().item(), 3))
