"""Programs that use both devices, and move tensors between them."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def across(x, y):
    on_gpu = x.cuda() * 2
    return (on_gpu + y.cuda()).cpu() + 1


def scalars(x, scale, count):
    return x * scale + count, x / scale


def made(x):
    return x + torch.ones(x.shape, device=x.device) + torch.arange(x.shape[-1], device="cuda") + torch.tensor(3.0, device="cuda")


def decided(x):
    if (x > 0).any():
        return x * 2
    return x - 1


def item(x):
    return x * x.sum().item()


def indexed(x, index):
    x = x.clone()
    x[index] = 0
    return x[index.flip(0)] + x.index_select(0, index)


def in_place(x, y):
    x.add_(y).mul_(2)
    x[0] = 7
    return x.sum()


def main():
    torch.manual_seed(0)
    x, y = torch.randn(8, 8), torch.randn(8, 8)
    for _ in range(3):
        print(f"{across(x, y).sum().item():.4f}")
        for part in scalars(x.cuda(), torch.tensor(0.5), torch.tensor(3)):
            print(part.device, part.dtype, f"{part.sum().item():.4f}")
        for part in scalars(x.cuda(), 0.25, 2):
            print(part.device, part.dtype, f"{part.sum().item():.4f}")
        for part in scalars(x, 0.25, 2):
            print(part.device, part.dtype, f"{part.sum().item():.4f}")
        print(f"{made(x.cuda()).sum().item():.4f}", f"{decided(x.cuda()).sum().item():.4f}", f"{decided(-x.abs().cuda()).sum().item():.4f}")
        print(f"{item(x.cuda()).sum().item():.3f}", f"{indexed(x.cuda(), torch.tensor([1, 3], device='cuda')).sum().item():.4f}")
        target = x.cuda()
        print(f"{in_place(target, y.cuda()).item():.4f}", f"{target.sum().item():.4f}", target._version)
    with torch.device("cuda"):
        model = nn.Linear(8, 3)
        print(model.weight.device, torch.zeros(3).device)
    data = DataLoader(TensorDataset(torch.arange(64.0).view(32, 2), torch.arange(32)), batch_size=8, pin_memory=True, num_workers=1)
    layer = nn.Linear(2, 2).cuda()
    nn.init.constant_(layer.weight, 0.5)
    nn.init.zeros_(layer.bias)
    for batch, labels in data:
        print(batch.is_pinned(), f"{(layer(batch.cuda(non_blocking=True)) + labels.cuda()[:, None]).sum().item():.2f}")
    try:
        scalars(x.cuda(), y, 1)
    except RuntimeError as error:
        print(str(error).split("!")[0])


main()
