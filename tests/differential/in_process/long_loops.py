"""`while` loops whose turns are long: each turn is a segment, shared by all turns, whether the program knows when the
loop ends or asks tensors that are known. Short ones stay in one graph."""
import torch


class Stop:
    def __call__(self, unfinished):
        return bool(unfinished.max() == 0)


def turn(x):
    for _ in range(40):
        x = (x * 1.01).sin() + 0.1
    return x


def until_number(x, count):
    done, at = False, 0
    while not done:
        x = turn(x)
        at += 1
        done = at >= count
    return x


def until_break(x, count):
    kept = []
    while True:
        x = turn(x)
        kept.append(x.sum())
        if len(kept) == count:
            break
    return x, sum(kept)


def until_known(x, count):
    unfinished, at, stop, done = torch.ones(2, dtype=torch.bool), 1, Stop(), False
    while not done:
        y = x * 2
        x = turn(y)
        unfinished = unfinished & ~torch.full((2,), at >= count)
        done = stop(unfinished.long())
        at += 1
        del y
    return x


@torch.no_grad()
def within(x, count):
    return until_number(x * 2, count) + until_known(x, count)


def short(x):
    at = 0
    while at < 8:
        x = x * 1.5 + at
        at += 1
    return x


for count in (12, 12, 20, 20):
    x = torch.tensor([0.5, -0.25])
    print([[round(number, 4) for number in value.flatten().tolist()] for value in
           (until_number(x, count), *until_break(x, count), until_known(x, count), within(x, count), short(x))])
