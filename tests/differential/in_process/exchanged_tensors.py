"""Tensors that are exchanged (torch.utils.swap_tensors) below a module that entries serve; weak references of the program."""
import torch, weakref
torch.manual_seed(0)
def net(): return torch.nn.Sequential(torch.nn.Linear(8, 300), torch.nn.ReLU(), torch.nn.Linear(300, 4))
def show(t): return [round(v, 4) for v in t.double().flatten().tolist()[:4]]
def run(m, x):
    with torch.no_grad(): return m(x)
m = net(); x = torch.ones(2, 8)
for i in range(4): print(show(run(m, x)))
print(weakref.getweakrefs(m[0].weight), weakref.getweakrefcount(m[0].weight))
for i in range(3):
    other = torch.nn.Parameter(torch.randn(300, 8))
    torch.utils.swap_tensors(m[0].weight, other)
    del other
    for i in range(3): print(show(run(m, x)))
torch.__future__.set_swap_module_params_on_conversion(True)
ids = [id(p) for p in m.parameters()]
m.to(torch.float64)
print([id(p) for p in m.parameters()] == ids)
for i in range(4): print(show(run(m, x.double())), run(m, x.double()).dtype)
state = {k: torch.randn_like(v) for k, v in m.state_dict().items()}
m.load_state_dict(state)
for i in range(4): print(show(run(m, x.double())))
m.load_state_dict({k: v * 2 for k, v in state.items()}, assign=True)
for i in range(4): print(show(run(m, x.double())))
m.float(); m.bfloat16(); 
for i in range(4): print(show(run(m, x.bfloat16())))
n = x.numpy(); print(weakref.getweakrefcount(x))
y = torch.zeros(2, 8)
torch.utils.swap_tensors(x, y)
print(x.sum(), y.sum())
r = weakref.ref(m[0].weight); print(weakref.getweakrefcount(m[0].weight), weakref.getweakrefs(m[0].weight) == [r])
try: torch.utils.swap_tensors(m[0].weight, torch.nn.Parameter(torch.zeros(1)))
except RuntimeError as e: print(e)
# swapped back and forth between calls
a = torch.nn.Parameter(torch.full((3,), 2.0)); b = torch.nn.Parameter(torch.full((3,), 5.0))
class K(torch.nn.Module):
    def __init__(s): super().__init__(); s.p = a
    def forward(s, x): return s.p * x + 1
k = K()
for i in range(8):
    print(run(k, torch.ones(3)).tolist())
    torch.utils.swap_tensors(a, b)
    if i == 4:
        with torch.no_grad(): b.mul_(3)
