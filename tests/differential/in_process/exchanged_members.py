"""Operators, subscripts and attributes of tensors for which the program puts its own into torch.Tensor, and takes them out
again: before its first call, between calls, and by what calls torch's in turn."""
import functools

import torch

torch.set_grad_enabled(False)
CALLS = 4


def replaced(name, make):
    """Sets what `make` gives of torch's own, and gives what puts that back."""
    own = torch.Tensor.__dict__.get(name)
    setattr(torch.Tensor, name, make(getattr(torch.Tensor, name)))
    if own is None:
        return lambda: delattr(torch.Tensor, name)
    return lambda: setattr(torch.Tensor, name, own)


def calls_torchs(of_torch):
    @functools.wraps(of_torch)
    def method(*given):
        return -of_torch(*given)
    return method


def shown(value):
    return (value.double() * 1000).round().tolist() if isinstance(value, torch.Tensor) else value


def stored(x):
    y = x * 1
    y[0] = 5
    return y


CASES = {
    "__add__": (lambda x: x + 1, calls_torchs),
    "__radd__": (lambda x: 1 + x, calls_torchs),
    "__rsub__": (lambda x: 3 - x, calls_torchs),
    "__iadd__": (lambda x: stored(x).__iadd__(1) * 2, calls_torchs),
    "__mul__": (lambda x: x * x, lambda own: torch.Tensor.add),
    "__matmul__": (lambda x: x @ x, calls_torchs),
    "__pow__": (lambda x: x ** 2, calls_torchs),
    "__lt__": (lambda x: x < 1, lambda own: lambda self, other: other),
    "__eq__": (lambda x: (x == 1, 1 == x), lambda own: lambda self, other: 7),
    "__invert__": (lambda x: ~(x > 0), lambda own: lambda self: self * 3),
    "__getitem__": (lambda x: x[0] + x[:, 1], calls_torchs),
    "__setitem__": (stored, lambda own: lambda self, key, value: None),
    "__len__": (lambda x: (x.exp(), len(x)), lambda own: lambda self: 9),
    "T": (lambda x: x.T + 1, lambda own: property(lambda self: torch.zeros(2))),
    "mT": (lambda x: x.mT + 1, lambda own: property(lambda self: self * 4)),
    "shape": (lambda x: (x + 1, x.shape), lambda own: property(lambda self: (8, 8))),
    "sum": (lambda x: (x + 1).sum(), calls_torchs),
    "sigmoid": (lambda x: x.sigmoid(), lambda own: lambda self: self + 1),
}
for name, (function, make) in CASES.items():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for turn in range(2):
        for _ in range(CALLS):
            given = function(x + turn) if name != "__add__" else function(x * (turn + 1))
            print(name, "of torch", [shown(one) for one in given] if isinstance(given, tuple) else shown(given))
        put_back = replaced(name, make)
        results = []
        for _ in range(CALLS):
            results.append(function(x))
        put_back()
        for given in results:
            print(name, "exchanged", [shown(one) for one in given] if isinstance(given, tuple) else shown(given))

# A method of the program's own, which changes; and that becomes one of torch's under another name.
def helped(x):
    return (x + 1).helper() * 2


def helped_by_value(x):
    helper = (x + 1).helper
    return helper() * 2


def helped_by_name(x):
    return getattr(x + 1, "helper")()


for function in (helped, helped_by_value, helped_by_name):
    for method in (lambda self: self * 2, lambda self: self * 3, torch.Tensor.neg, lambda self: self - 1):
        torch.Tensor.helper = method
        for _ in range(CALLS):
            print(function.__name__, shown(function(x)))
    del torch.Tensor.helper
