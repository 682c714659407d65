"""Tensors that take each other's contents, and their own at other places: all is read before anything is written."""
import torch

FUNCTIONS = """
t = a.clone(); a.copy_(b); b.copy_(t); return a + b
a.copy_(a.t().clone()); b.copy_(b.flip(0)); return a - b
a[1:].copy_(a[:-1].clone()); b[:, :-1] = b[:, 1:].clone(); return a * b
t = a.clone(); a.copy_(b[0]); b.copy_(t.t()); return t
t = a.clone(); a += 1; b.copy_(t); return t
t, u = a + 0, b.clone(); a.copy_(u); b.copy_(t); a[0] = b[1]; return t - u
a.copy_(b); b.copy_(a.t()); return a
t = a.t().clone(); a.copy_(b.t()); b.copy_(t); return a
r = a[0].clone(); a[0] = a[1]; a[1] = r; c = b[:, 0].clone(); b[:, 0] = a[:, 1]; a[:, 1] = c; return r
r = a.view(-1)[:3].clone(); a.view(-1)[3:6] = r; b.copy_(a); a.zero_(); return r * 2
b.copy_(b[torch.tensor(list(range(len(b)))[::-1])]); a.copy_(a.roll(1, 0)); return a + b
b.copy_(b.cumsum(0)); a.copy_(a.t() + a); c.copy_(c.softmax(0)); return a + b
b.copy_(b.flip(0) + 1); a.copy_(torch.rot90(a)); c.copy_(c.flip(0, 1).t()); return a + b
a.copy_(a.triu() + b.flip(1)); b.copy_(a.flip(0)); return a
t = b.clone(); b.copy_(a); a.copy_(c); c.copy_(t); return a
""".strip().splitlines()


def told(tensor):
    """Read by a graph of its own, behind the one that wrote."""
    return (tensor * 2 - tensor).tolist()


def function_of(body):
    names = {"torch": torch}
    exec(f"def f(a, b, c):\n    {body}", names)
    return names["f"]


for body in FUNCTIONS:
    function = function_of(body)
    for size in (3, 3, 3, 4, 5):
        a = torch.arange(float(size * size)).view(size, size)
        b, c = -2 * a, a * 10 + 1
        result = function(a, b, c)
        print(body, size, told(result), told(a), told(b), told(c), [t._version for t in (a, b, c)])
    whole = torch.arange(18.0).view(2, 3, 3)  # two arguments in one memory
    for _ in range(3):
        print(body, function(whole[0], whole[1], torch.ones(3, 3)).tolist(), whole.tolist())
