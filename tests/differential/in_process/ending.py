"""Tensor code that runs while the interpreter shuts down, when modules are half gone."""

import atexit
import threading

import torch


def work(x):
    return (x + 1).relu().sum().item()


class Keeper:
    def __init__(self, name, work=work):
        self.name, self.work, self.x = name, work, torch.ones(4)

    def __del__(self):
        print(self.name, self.work(self.x))


@atexit.register
def last():
    print("atexit", work(torch.ones(3)))


for _ in range(3):
    print(work(torch.ones(4)))
thread = threading.Thread(target=lambda: print("thread", work(torch.ones(5))))
thread.start()
thread.join()
kept = Keeper("module attribute")
cycle = Keeper("cycle")
cycle.itself = cycle
torch.kept_by_torch = Keeper("kept by torch")
