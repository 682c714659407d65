import torch, torch.nn as nn
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(m.parameters(), lr=0.01)
x = torch.randn(64, 4); y = (x.sum(1, keepdim=True) > 0).float()
for epoch in range(30):
    opt.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(m(x), y)
    loss.backward(); opt.step()
    if epoch % 10 == 0: print(epoch, f"{loss.item():.4f}")
m.eval()
with torch.no_grad(): print(((m(x) > 0).float() == y).float().mean())
