import torch
l = torch.nn.Linear(4, 4)
with torch.no_grad():
    for p in l.parameters(): p.fill_(0.25)
def f(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = l(x)
    return y.dtype, y.float().sum()
for i in range(3): 
    with torch.no_grad(): print(f(torch.ones(2, 4)))
def g(x):
    with torch.no_grad(): a = x * 2
    with torch.enable_grad(): b = x * 3
    return a.requires_grad, b.requires_grad, torch.is_grad_enabled()
for i in range(3): print(g(torch.ones(2, requires_grad=True)))
@torch.inference_mode()
def h(x): return (x + 1).is_inference()
for i in range(3): print(h(torch.ones(2)))
def dd(x): 
    torch.set_default_dtype(torch.float64); y = torch.ones(2) + x; torch.set_default_dtype(torch.float32); return y.dtype, torch.zeros(1).dtype
for i in range(3): print(dd(torch.ones(2)))
def made(x):
    return torch.ones(2) + x, x.long() / 2, torch.is_inference_mode_enabled()
for dtype in (torch.float32, torch.float64, torch.float32):
    torch.set_default_dtype(dtype)
    print([value.dtype if torch.is_tensor(value) else value for value in made(torch.ones(2, dtype=torch.float32))])
torch.set_default_dtype(torch.float32)
with torch.inference_mode(): print(made(torch.ones(2)))
print(made(torch.ones(2)))
def imaginary(z): return z.imag * 2 + 1, (z * 2).sum()
for z in (torch.complex(torch.ones(2), torch.arange(2.)),) * 2 + (torch.complex(torch.ones(2), torch.arange(2.)).conj(),): print(imaginary(z))
def negated(x): return x + 1
print(negated(torch.ones(2)), negated(torch._neg_view(torch.ones(2))), negated(torch.ones(2)))
try:
    with torch.device("meta"): print(made(torch.ones(2, device="cpu")))
except RuntimeError as e: print(e)


def unfilled(x):
    return torch.empty(3), torch.empty_like(x), x.new_empty(2, dtype=torch.int64), torch.empty_strided((2, 2), (1, 2))


# Memory that is not asked to be filled is, where everything is to be deterministic.
for deterministic in (False, True, True, False, True):
    torch.use_deterministic_algorithms(deterministic)
    for _ in range(3):
        made = unfilled(torch.ones(4))
        print([(tuple(t.shape), t.isnan().all().item() or t.eq(2**63 - 1).all().item()) for t in made] if deterministic else len(made))
torch.use_deterministic_algorithms(False)
