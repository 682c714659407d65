"""A loop of a graph's that would run for ever, and a signal in its middle: the program's handler ends it, as it ends Python's."""
import signal

import torch


class Enough(Exception):
    pass


def enough(number, frame):
    raise Enough


def count(limit):
    return torch.while_loop(lambda i, limit: i < limit, lambda i, limit: (i + 1, limit.clone()), (torch.tensor(0), limit))


signal.signal(signal.SIGALRM, enough)
for _ in range(3):
    print(count(torch.tensor(5)), count(torch.tensor(3000)))
for _ in range(2):
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        count(torch.tensor(2**62))
    except Enough:
        print("enough")
print(count(torch.tensor(7)))
