"""Python of the program's in the place of torch's own ops (torch.library): from its registration to its end, for
functions that were compiled before and for others, in backward, for one overload or for what an op is composed of."""
import sys
import types
import warnings

import torch
import torch.nn.functional as F

torch.set_grad_enabled(True)

warnings.simplefilter("ignore")
x = torch.tensor([-1.0, 2.0, 0.5])
w = torch.ones(3, requires_grad=True)


def rectified(x):
    return torch.relu(x) * 2 + x.sin()


def scored(x):
    return F.softplus(x).sum() + x.relu().max()


def trained(x):
    loss = (rectified(x * w) * w.exp()).sum()
    return torch.autograd.grad(loss, w)[0]


def show(*functions):
    for turn in range(4):
        print(*[[round(v, 3) for v in f(x).flatten().tolist()] for f in functions])


show(rectified, trained)

# The name of the op is what says it; a library lives until it is let go.
library = torch.library.Library("aten", "IMPL")
library.impl("relu", lambda x: x * 100, "CPU")
show(rectified, scored)
library._destroy()
show(rectified, scored, trained)

# For every tensor, and only as autograd sees it.
library = torch.library.Library("aten", "IMPL", "CompositeImplicitAutograd")
library.impl("sin", lambda x: x + 1)
show(rectified)
library._destroy()
library = torch.library.Library("aten", "IMPL", "AutogradCPU")
library.impl("softplus", lambda x, beta=1, threshold=20: x - 3)
show(scored, trained)
library._destroy()
show(scored, trained)

# What is no op of torch's, and what is for tensors that hold nothing, changes none of that.
own = torch.library.Library("in_process_overrides", "FRAGMENT")
own.define("twice(Tensor x) -> Tensor")
own.impl("twice", lambda x: x * 2, "CPU")
show(lambda x: torch.ops.in_process_overrides.twice(rectified(x)))
own._destroy()

# Kernels in Python that torch brings with it are torch's own: 2.13 and 2.14 note them by op and key, 2.15 by the
# namespace too. Where torch brings none, both forms are tried.
registry = sys.modules.setdefault("torch._native.registry", types.ModuleType("torch._native.registry"))
forms = [name for name in ("_aten_override_libs", "_override_libs") if hasattr(registry, name)] * 2
for form, op in zip(forms or ["_aten_override_libs", "_override_libs"], ("relu", "neg")):
    library = torch.library.Library("aten", "IMPL", "CPU")
    library.impl(op, {"relu": lambda x: x.clamp_min(0), "neg": lambda x: x * -1}[op])
    registry.__dict__.setdefault(form, {})[("aten", op, "CPU") if form == "_override_libs" else (op, "CPU")] = library
    for turn in range(20):
        show(rectified)
    library._destroy()
    del getattr(registry, form)[("aten", op, "CPU") if form == "_override_libs" else (op, "CPU")]
    if not forms:
        delattr(registry, form)
