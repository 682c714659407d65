import torch, contextlib
def gen(x, n):
    for i in range(n):
        x = x * 1.5
        got = yield x.sum()
        if got: x = x + got
@contextlib.contextmanager
def scaled(t):
    print("enter"); t.mul_(2)
    try: yield t
    finally: t.div_(2); print("exit")
def use(x):
    s = 0
    for v in gen(x, 3): s = s + v
    with scaled(x) as t:
        s = s + t.sum()
    return s
for i in range(3):
    print(use(torch.ones(3) * i))
g = gen(torch.ones(2), 3); print(next(g)); print(g.send(5)); print(list(g))
