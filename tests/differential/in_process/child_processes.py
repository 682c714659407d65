"""Tensor code in children: forked, spawned, and a Python of its own."""

import multiprocessing
import os
import subprocess
import sys

import torch


def work(x):
    return (x * 2 + 1).relu().sum()


def child(queue, scale):
    with torch.no_grad():
        queue.put([work(torch.ones(4) * scale).item() for _ in range(3)])


def main():
    print(work(torch.ones(4)), work(torch.ones(4)))
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue, 2))
        process.start()
        print(method, queue.get(), process.join(), process.exitcode)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        print("forked", work(torch.ones(3)), work(torch.ones(4)), flush=True)
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), work(torch.ones(4)))
    done = subprocess.run([sys.executable, "-c", "import torch; print((torch.ones(2) + 1).sum())"],
                          capture_output=True, text=True, check=True)
    print(done.stdout, done.stderr)


if __name__ == "__main__":
    main()
