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


# Sorting compares in Python's own code, which raises there.
class Unordered:
    def __init__(self, tensor):
        self.tensor = tensor

    def __lt__(self, other):
        raise KeyError("no order")


def in_order(x):
    return sorted(x)


def by_object(x):
    return sorted([Unordered(x), Unordered(x * 2)])


for made in (torch.ones(2, 3), torch.tensor([2.0, 1.0])):
    for _ in range(3):
        for function in (in_order, by_object):
            try:
                print(function(made))
            except (RuntimeError, KeyError) as error:
                print(type(error).__name__, error)
