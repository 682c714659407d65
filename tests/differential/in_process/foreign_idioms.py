"""What code of others does besides tensor code, all of it inside one graph: cached functions, weak references, named
tuples, sets, subclasses of list, partials, masks, modules that are made where they are called. Each with the fact changed
that decided it."""
import collections
import functools
import logging
import weakref

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_grad_enabled(False)
log = logging.getLogger("foreign")
CALLS = 4


# -- functions of functools.lru_cache with arguments

SETTINGS = {"scale": 2.0}
asked = []


@functools.lru_cache(maxsize=None)
def setting(name, default=1.0, *, typed=False):
    asked.append((name, default, typed))
    return SETTINGS.get(name, default) if not typed else type(default).__name__


@functools.lru_cache(maxsize=None, typed=True)
def kind_of(value):
    return type(value).__name__


class Told:
    def __init__(self, name):
        self.name = name

    @functools.lru_cache(None)
    def once(self, text):
        asked.append((self.name, text))
        return self.name == "first"


ALWAYS = Told("first")


def cached(x, told, name):
    known = told.once("cached") and ALWAYS.once("cached")
    y = x * setting(name) + setting("offset", 3.0) if known else x - setting("offset", default=4.0)
    return y, kind_of(1), kind_of(True), kind_of(1.0), setting("kind", 1, typed=True)


def run_cached():
    for told in (Told("first"), Told("second"), Told("first")):
        for call in range(CALLS):
            if call == 2:
                SETTINGS["scale"] += 1
                setting.cache_clear()
            print(cached(torch.ones(3), told, "scale" if call != 1 else "other"))
    print(asked, setting.cache_info().currsize)


# -- weak references


class Flat(nn.Module):
    """Looks, as torch's recurrent modules do, whether its weights are still those that it knew."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(2))
        self.known = [weakref.ref(self.weight), weakref.ref(self.bias)]

    def changed(self):
        for ref, name in zip(self.known, ["weight", "bias"]):
            weight = getattr(self, name)
            if ref() is not weight:
                return name
        return None

    def forward(self, x):
        return F.linear(x, self.weight, self.bias), self.changed()


def run_weak():
    flat = Flat()
    for call in range(CALLS):
        if call == 2:
            flat.bias = nn.Parameter(torch.zeros(2))
        print(flat(torch.ones(1, 2)))


# -- named tuples

Pair = collections.namedtuple("Pair", "left right")


class Named(Pair):
    @property
    def both(self):
        return self.left + self.right


def fields(pair, x):
    made = Pair(x + 1, right=pair.right)
    return pair.left * made.left, made.right + 1, made._replace(left=x).left, getattr(pair, "both", None)


def run_named():
    for pair in [Pair(torch.ones(2), 3), Pair(torch.ones(2), 4), Named(torch.ones(2), 5), Named(torch.zeros(2), 5)] * 2:
        print(fields(pair, torch.full((2,), 2.0)))


# -- sets in order, dicts united

PLACES = {17, 1}  # of whole numbers, whose order is the same in every process


def in_order(d, x):
    total = x * 0
    for place, key in enumerate(PLACES):
        total = total + d[key] * place
    for key in {1, 9} | set(d):
        total = total * 2 + d[key]
    for key in sorted(PLACES):
        total = total - d[key]
    return total, len({*d, *PLACES}), list(({2: 1, 17: 2} | d).keys())


def run_sets():
    d = {1: torch.ones(2), 17: torch.full((2,), 5.0), 9: torch.full((2,), 7.0)}
    for call in range(CALLS):
        if call == 2:
            PLACES.add(9)
        print(in_order(d, torch.ones(2)))


# -- subclasses of list


class Chain(list):
    def __call__(self, x):
        for function in self:
            x = function(x)
        return x


class Backwards(list):
    def __iter__(self):
        return reversed(self)


class Counted(list):
    def __len__(self):
        return 1


def through(chain, x):
    y = chain(x)
    first, last = chain[0], chain[-1]
    for function in reversed(chain):
        y = function(y)
    return y + first(x) - last(x), len(chain), bool(chain), torch.tanh in chain


def run_lists():
    functions = [torch.tanh, torch.neg, torch.exp]
    for made in (Chain, Backwards, Counted):
        chain = made(functions) if made is Chain else type("Of", (made, Chain), {})(functions)
        for call in range(CALLS):
            if call == 2:
                chain.append(torch.sin)
            print(made.__name__, through(chain, torch.full((2,), 0.5)))


# -- partials that are made and called at once


def partials(x, slope):
    leaky = functools.partial(F.leaky_relu, negative_slope=slope)
    add = functools.partial(torch.add, x, alpha=2)
    return leaky(-x), leaky(-x, negative_slope=0.5), add(x), add(x, alpha=3), functools.partial(leaky, -x)()


def run_partials():
    for slope in (0.1, 0.1, 0.2, 0.1):
        print(partials(torch.ones(2), slope))


# -- masks


def masked(x, mask, value):
    y = x.clone()
    y[mask] = 0
    y[x > 1] = -1.5
    y[mask & (x < 0)] += 2 if y.dim() == 1 else 0
    z = x.clone()
    z[:, 0][mask[:, 0]] = 7
    z[mask,] = value
    w = torch.zeros(2, 3, 2)
    w[mask[:2, :3]] = True
    n = torch.zeros(4, 4, dtype=torch.int64)
    n[mask] = 3.7
    return y, z, w, n


def run_masks():
    torch.manual_seed(1)
    for call in range(CALLS):
        print(masked(torch.randn(4, 4), torch.rand(4, 4) > 0.4, torch.tensor(4.0) if call % 2 else 5.0))
    for mask in (torch.ones(5, dtype=torch.bool), torch.ones(4, 4, 1, dtype=torch.bool)):
        try:
            masked(torch.randn(4, 4), mask, 1.0)
        except IndexError as error:
            print(type(error).__name__)


# -- modules that are made where they are called


class Makes(nn.Module):
    def forward(self, x):
        y = nn.Softmax(dim=-1)(nn.ReLU()(x))
        y = nn.Sequential(nn.Tanh(), nn.Flatten())(y)
        return nn.CrossEntropyLoss()(y, torch.zeros(x.size(0), dtype=torch.long)), nn.MaxPool1d(2)(y.unsqueeze(0)), y


class Keeps(nn.Module):
    def forward(self, x):
        if not hasattr(self, "act"):
            self.act = nn.LeakyReLU(0.25)
        made = nn.Linear(2, 2, bias=False)
        made.weight.fill_(0.5)
        return made(self.act(x)), self.act, made.weight.requires_grad


def run_modules():
    torch.manual_seed(2)
    makes, keeps = Makes(), Keeps()
    for _ in range(CALLS):
        print(makes(torch.randn(2, 2, 2)), keeps(torch.tensor([[-1.0, 2.0]])))
    print([name for name, _ in keeps.named_modules()], nn.Dropout(0.3))


# -- results that torch does not give


def attends(module, x):
    y, weights = module(x, x, x, need_weights=False)
    return y * 2, weights


def run_attention():
    torch.manual_seed(3)
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    for _ in range(CALLS):
        y, weights = attends(module, torch.ones(1, 3, 8))
        print(y.shape, weights)


# -- data


def of_data(x):
    y = x.data * 2
    y.data.add_(1)
    return y, x.data is x, x.data.requires_grad


for run in (run_cached, run_weak, run_named, run_sets, run_lists, run_partials, run_masks, run_modules, run_attention):
    print("--", run.__name__)
    run()
for _ in range(CALLS):
    print(of_data(torch.ones(2)))
torch.set_grad_enabled(True)
for _ in range(CALLS):
    print(of_data(torch.ones(2, requires_grad=True)))
