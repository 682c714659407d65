"""What torch's ops warn of: shown at every call where Python's filters let it through, and never printed past them."""
import warnings

import torch


def complex_to_real(a):
    return (a + 1j).to(torch.float32) * 2


def transposed_vector(a):
    return a.T + 1


def deviation_of_one(a):
    return torch.std(a[:1]) + 1


def variance_of_one(a):
    return (a * 2)[:1].var(0)


def out_of_range(a):
    return a.half().random_(-42, 5000) * 0 + a


def searched(a):
    return torch.searchsorted(torch.arange(10.0), torch.arange(20.0)[::2]) + a[0]


def indexed_by_bytes(a):
    return a[torch.tensor([1, 0, 1], dtype=torch.uint8)] + 1


def copied_tensor(a):
    return torch.tensor(a * 2) + 1


def grid(a):
    return torch.meshgrid(a, a * 2)


def below(a):
    return deviation_of_one(a * 2) + a


FUNCTIONS = [complex_to_real, transposed_vector, deviation_of_one, variance_of_one, out_of_range, searched, indexed_by_bytes, copied_tensor, grid, below]


def told(function, action):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        try:
            function(torch.ones(3))
            ended = "returned"
        except UserWarning as error:
            ended = f"raised {str(error)[:30]}"
    print(function.__name__, action, ended, [(str(w.message)[:40], w.category.__name__, w.lineno) for w in seen])


for always in (True, False):
    torch.set_warn_always(always)
    for function in FUNCTIONS:
        for action in ("always", "always", "always", "default", "ignore", "always", "error", "error", "always"):
            told(function, action)
torch.set_warn_always(False)
