"""Steps of training on the GPU: optimizers, autocast with a scaler, gradients of gradients."""
import torch
import torch.nn.functional as F
from torch import nn


def main():
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    for make in (lambda p: torch.optim.SGD(p, 0.05, momentum=0.9), lambda p: torch.optim.AdamW(p, 0.01)):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4)).cuda()
        optimizer = make(model.parameters())
        inputs, targets = torch.randn(64, 16).cuda(), torch.randint(4, (64,)).cuda()
        for step in range(6):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(step, f"{loss.item():.3f}", f"{model[0].weight.grad.norm().item():.3f}")
    model = nn.Linear(8, 8).cuda()
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.01), torch.amp.GradScaler("cuda")
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.ones(4, 8, device="cuda")).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    print(f"{loss.item():.2f}", loss.dtype)
    x = torch.linspace(-1, 1, 10, device="cuda", requires_grad=True)
    (first,) = torch.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    print(f"{first.sum().item():.3f} {second.sum().item():.3f}")


main()
