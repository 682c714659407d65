"""The interpreter shuts down while compiled functions live, a daemon thread runs, and atexit raises."""

import atexit
import sys
import threading
import time

import torch


@torch.compile(backend="eager")
def work(x):
    return (x + 1).relu() * 2


@torch.compile(backend="eager", fullgraph=True)
def whole(x):
    return x.exp().sum()


class Keeper:
    compiled = staticmethod(torch.compile(lambda x: x.cos() + 1, backend="eager"))

    def __init__(self, name):
        self.name, self.x = name, torch.zeros(3)
        self.compiled(self.x)

    def __del__(self):
        # A compiled one fails here in torch; and what is not flushed here is lost in some orders of teardown.
        print(self.name, (self.x.cos() + 1).sum().item(), flush=True)


def spin(started):
    x = torch.ones(16)
    for _ in range(5):
        x = work(x) * 0.1 + whole(x) * 0
    started.set()
    while True:  # where a daemon thread computes on, torch itself aborts
        time.sleep(0.01)


@atexit.register
def leave():
    print("atexit", work(torch.ones(2)))
    sys.exit(3)


for _ in range(3):
    print(work(torch.ones(2)), whole(torch.zeros(2)))
started = threading.Event()
threading.Thread(target=spin, args=(started,), daemon=True).start()
started.wait()
kept = Keeper("module attribute")
torch.kept_by_torch = Keeper("kept by torch")
sys.modules["kept"] = Keeper("kept as a module")
