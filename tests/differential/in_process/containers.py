import torch
from dataclasses import dataclass
from collections import OrderedDict, namedtuple, defaultdict
@dataclass
class Out:
    logits: torch.Tensor
    hidden: list
P = namedtuple("P", "a b")
def run(x, log):
    hidden = []
    d = OrderedDict()
    for i in range(3):
        x = torch.sin(x) + i
        hidden.append(x)
        d[f"k{i}"] = x.mean()
        log.append(i)
    cnt = defaultdict(int)
    for k in d: cnt[k[0]] += 1
    return Out(x, hidden), P(a=d, b=dict(cnt)), {k: v for k, v in d.items() if k != "k1"}
log = []
for i in range(3):
    o, p, d = run(torch.arange(4.) * (i + 1), log)
    print(o, p, d, len(log))


from itertools import repeat


def repeated(x, count):
    both = tuple(repeat(x, count))
    for factor in repeat(2, count):
        x = x * factor
    for again in repeat(both[0], count):
        x = x + again
        if x.sum() > 20:  # the rest of the iterator is on its way over a break
            x = x - 1
    return x, both[0] is both[-1], len(both), [y.shape for y in repeat(x, count)]


for count in (1, 3, 3):
    print(repeated(torch.ones(2), count))
