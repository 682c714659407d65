"""Two optimisers, two schedulers and clipped gradients in one training step."""
import torch, torch.nn as nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), lr=0.001, betas=(0.5, 0.9))
od = torch.optim.RMSprop(D.parameters(), lr=0.001)
bce = nn.BCEWithLogitsLoss()
sched = torch.optim.lr_scheduler.StepLR(og, 3, 0.5)
cos = torch.optim.lr_scheduler.CosineAnnealingLR(od, 10)


def step(real):
    z = torch.randn(real.size(0), 4)
    fake = G(z)
    od.zero_grad()
    ld = bce(D(real), torch.ones(real.size(0), 1)) + bce(D(fake.detach()), torch.zeros(real.size(0), 1))
    ld.backward()
    n = torch.nn.utils.clip_grad_norm_(D.parameters(), 0.5)
    od.step()
    og.zero_grad(set_to_none=False)
    lg = bce(D(fake), torch.ones(real.size(0), 1))
    lg.backward()
    torch.nn.utils.clip_grad_value_(G.parameters(), 0.1)
    og.step()
    return (ld.item(), lg.item(), n.item())


for i in range(8):
    r = torch.randn(8, 2) * 0.5 + 1
    print(i, ['%.3f' % v for v in step(r)], sched.get_last_lr(), ['%.5f' % v for v in cos.get_last_lr()])
    sched.step()
    cos.step()
D.eval()
with torch.no_grad():
    print(['%.3f' % v for v in D(G(torch.ones(3, 4))).flatten().tolist()])
