"""Operators and subscripts called by their special methods, of tensors and through the class."""
import torch

GIVING = """
x.__getitem__([0, 1]); x.__getitem__((slice(0, 2), 1)); x.__getitem__(0); x.__getitem__(i); x.__getitem__((..., None, [1, 0])); torch.Tensor.__getitem__(x, -1)
x.__add__(1); x.__radd__(1); x.__sub__(x); x.__rsub__(1); x.__mul__(x); x.__rmul__(2); x.__truediv__(4); x.__rtruediv__(2); x.__floordiv__(2); x.__rfloordiv__(7)
x.__mod__(2); x.__rmod__(7); x.__pow__(2); x.__rpow__(2); x.__matmul__(x.t()); x.__rmatmul__(x.t()); x.__neg__(); x.__abs__(); x.__pos__(); x.__div__(2)
x.__eq__(x); x.__ne__(1); x.__lt__(1); x.__le__(x); x.__gt__(0); x.__ge__(2); x.bool().__invert__(); torch.Tensor.__add__(x, 1); torch.Tensor.__mul__(x, x)
n.__and__(3); n.__rand__(3); n.__or__(4); n.__ror__(4); n.__xor__(n); n.__rxor__(5); n.__lshift__(2); n.__rshift__(1); n & 3; 3 ^ n
x + x.__len__()
""".replace("\n", "; ").strip("; ").split("; ")
WRITING = """
y.__setitem__(0, 5); y.__setitem__([0, 2], 5.0); y.__setitem__((slice(None), 1), x[:, 0]); torch.Tensor.__setitem__(y, i, 2.0); y.__setitem__(y > 3, 0.0)
y.__iadd__(1); y.__isub__(x); y.__imul__(2); y.__itruediv__(4); y.__ifloordiv__(2); y.__ipow__(2); y.__idiv__(2)
m.__iand__(3); m.__ior__(4); m.__ixor__(m + 1); m.__ilshift__(1); m.__irshift__(1)
""".replace("\n", "; ").strip("; ").split("; ")
STATEMENTS = ["m &= 3", "m |= n", "m ^= 5", "m <<= 1", "m >>= 1", "y %= 2", "y //= 2"]


def function_of(body):
    """A function of its own for every method: each has few ways to be called."""
    names = {"torch": torch}
    exec(f"def f(x, n, i):\n    {body}", names)
    return names["f"]


def show(name, function):
    for turn, width in enumerate((3, 3, 3, 4)):
        x = torch.arange(3.0 * width).view(3, width) / 2 + turn
        results = function(x, x.long(), torch.tensor([2, 0]))
        print(name, [result if result is None else (result.dtype, result.tolist()) for result in results])


for call in GIVING:
    show(call, function_of(f"return {call} * 2, x + 1"))
for call in WRITING:
    show(call, function_of(f"y, m = x + 1, n + 1; r = {call}; y = y * 2; return y, m - 1, r"))
for statement in STATEMENTS:
    show(statement, function_of(f"y, m = x + 1, n + 1; {statement}; return y * 2, m - 1"))
