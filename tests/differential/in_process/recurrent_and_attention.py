import torch, torch.nn as nn
torch.manual_seed(0)
l = nn.LSTM(4, 8, 2, batch_first=True); e = nn.Embedding(10, 4); t = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
mha = nn.MultiheadAttention(8, 2, batch_first=True).eval()
@torch.no_grad()
def f(ids):
    o, (h, c) = l(e(ids)); a, w = mha(o, o, o); return t(o).sum(), h.shape, c.mean(), a.sum(), w.shape
for i in range(3):
    r = f(torch.randint(0, 10, (2, 5 + i))); print([round(v.item(), 3) if torch.is_tensor(v) else v for v in r])
