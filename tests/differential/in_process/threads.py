import torch, threading
from concurrent.futures import ThreadPoolExecutor
lin = torch.nn.Linear(4, 4)
with torch.no_grad():
    for p in lin.parameters(): p.fill_(0.5)
def work(i):
    with torch.no_grad():
        x = torch.full((2, 4), float(i))
        for _ in range(20): x = torch.tanh(lin(x))
        return round(x.sum().item(), 5)
with ThreadPoolExecutor(4) as ex: print(list(ex.map(work, range(16))))
