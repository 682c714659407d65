import torch, traceback
def inner(x, n):
    y = x * 2
    if n > 2:
        raise ValueError(f"bad {n}")
    return y + n
def outer(x, n):
    try:
        z = inner(x, n)
    except ValueError as e:
        print("caught", e); z = x - 1
    finally:
        print("finally", n)
    return z.sum()
for i in range(5):
    print(outer(torch.ones(3), i))
def boom(x):
    y = x + 1
    return y @ torch.ones(7)
for i in range(2):
    try: boom(torch.ones(3))
    except RuntimeError as e: print(str(e)); print([ (f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__)])
def idx(d, x): 
    return d["missing"] + x
try: idx({}, torch.ones(2))
except KeyError as e: print(repr(e), [(f.name,f.lineno) for f in traceback.extract_tb(e.__traceback__)])
