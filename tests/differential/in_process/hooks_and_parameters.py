import torch, torch.nn as nn
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)); seen = []
h = m[0].register_forward_hook(lambda mod, i, o: seen.append(o.sum().item()))
p = m[2].register_forward_pre_hook(lambda mod, i: (i[0] * 2,))
with torch.no_grad():
    for i in range(3): print([round(v, 4) for v in m(torch.ones(1, 3) * i)[0].tolist()], [round(s, 3) for s in seen])
    h.remove(); p.remove()
    for i in range(3): print([round(v, 4) for v in m(torch.ones(1, 3) * i)[0].tolist()], len(seen))
    m[0].weight.mul_(2); print(m(torch.ones(1, 3)).tolist())
    m[0].weight = nn.Parameter(torch.zeros(3, 3)); print([round(v,4) for v in m(torch.ones(1, 3))[0].tolist()])
    m[1] = nn.Tanh(); print([round(v,4) for v in m(torch.ones(1, 3))[0].tolist()])
    sd = m.state_dict(); sd["2.bias"].fill_(7); print([round(v,4) for v in m(torch.ones(1, 3))[0].tolist()])
    m.double(); print(m(torch.ones(1, 3).double()).dtype)
