"""Processes that children of one with a GPU are; and one that is shown no GPU."""
import os
import subprocess
import sys

import torch
import torch.multiprocessing as multiprocessing

HIDDEN = "import torch; print(torch.cuda.is_available(), (torch.arange(5.0) * 2).sum().item())"


def work(x):
    return (x * 2 + 1).sum()


def child(queue):
    queue.put(float(work(torch.ones(10, device="cuda"))))


def main():
    print(float(work(torch.ones(5, device="cuda"))), float(work(torch.ones(6))))
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    print(process.exitcode)
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES="")
    print(subprocess.run([sys.executable, "-c", HIDDEN], env=environment, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
