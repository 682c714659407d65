"""What transformers' models ask on every call, of objects that stay as they are: a configuration with a
`__getattribute__` of its own that looks into its `__dict__`, and the names of a wrapped function's variables. The first
call's graph serves all others."""
import functools

import torch


class Config:
    def __init__(self, **settings):
        self.__dict__.update(settings)

    def __getattribute__(self, key):
        special = super().__getattribute__("__dict__").get("_special")
        if special is not None and key in special:
            return special[key]
        return super().__getattribute__(key)


def with_defaults(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        for name in ("scale", "shift"):
            if name in function.__code__.co_varnames:
                at = function.__code__.co_varnames.index(name) - 1
                if len(args) <= at and name not in kwargs:
                    kwargs[name] = getattr(self.config, name, None)
        return function(self, *args, **kwargs)
    return wrapper


class Model(torch.nn.Module):
    def __init__(self, **settings):
        super().__init__()
        self.config = Config(**settings)
        self.layer = torch.nn.Linear(6, 6)

    @with_defaults
    def forward(self, x, scale=None, bias=None):
        x = self.layer(x) * scale
        return x if bias is None else x + bias


torch.manual_seed(0)
model = Model(scale=2.0, shift=1.0)
with torch.no_grad():
    for _ in range(60):
        out = model(torch.ones(3, 6))
    print(f"{out.sum():.4f}")
    model.config.__dict__["_special"] = {"scale": 3.0}
    print(f"{model(torch.ones(3, 6)).sum():.4f}")
    print(f"{model(torch.ones(3, 6), 0.5, torch.ones(6)).sum():.4f}")
