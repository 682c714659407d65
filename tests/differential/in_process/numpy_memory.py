import torch, numpy as np
def f(x):
    y = x.relu()
    z = y.numpy()
    z += 1
    w = torch.from_numpy(np.sort(z)[::-1].copy())
    return (w + y).cumsum(0), z.mean()
for i in range(3): print(f(torch.randn(5, generator=torch.Generator().manual_seed(i))))
