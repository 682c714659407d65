"""Tensors that share memory until one is written (torch._lazy_clone): reading leaves it shared."""
import torch
cow = torch._C._is_cow_tensor
def read(x, y): return (x * 2 + y).sum()
def write(x, y): x.add_(y); return x * 2
def out(x): return x.view(-1)[1:] * 3
for i in range(5):
    base = torch.arange(12.).view(3, 4) + i; c = torch._lazy_clone(base)
    print(read(c, base), cow(c), cow(base), out(c).sum(), cow(c))
    print(write(c, base).sum(), cow(c), cow(base), base.sum(), c.sum())
    base.mul_(2); print(base.sum(), c.sum())
    d = torch._lazy_clone(c); w = write(c, torch.ones(3, 4)); print(d.sum(), c.sum(), w.sum())
m = torch.nn.Linear(4, 3)
torch.nn.init.constant_(m.weight, 0.5); torch.nn.init.zeros_(m.bias)
with torch.no_grad():
    for i in range(5):
        x = torch.ones(2, 4) * i; l = torch._lazy_clone(x)
        print(m(l).sum(), cow(l), cow(x), l.sum())
