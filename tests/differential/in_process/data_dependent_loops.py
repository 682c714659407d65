import torch
torch.manual_seed(0)
def newton(a, tol):
    x = torch.ones_like(a); n = 0
    while True:
        nx = 0.5 * (x + a / x); n += 1
        if (nx - x).abs().max() < tol: break
        x = nx
    return nx, n
for v in (2., 9., 1e4): print(newton(torch.tensor([v, v + 1]), 1e-5))
def greedy(w, start, n):
    out = [start]
    for _ in range(n):
        logits = w[out[-1]]
        out.append(int(logits.argmax()))
        if out[-1] == 0: break
    return out
w = torch.randn(8, 8)
for s in range(8): print(greedy(w, s, 6))
def kmeans(x, k):
    c = x[:k].clone()
    for it in range(5):
        d = torch.cdist(x, c); a = d.argmin(1)
        for j in range(k):
            m = a == j
            if m.any(): c[j] = x[m].mean(0)
    return c, a
x = torch.randn(40, 2)
c, a = kmeans(x, 3); print(c.round(decimals=4), a.bincount())
