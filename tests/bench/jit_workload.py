"""One side of the in-process bench: prints nanoseconds per call of small workloads as JSON. Run by
jit_calls.py, plainly, with torch.compile ("dynamo") and under `penstock run`."""
import json
import statistics
import sys
import time

import torch

side = sys.argv[1]
torch.set_grad_enabled(False)
torch.manual_seed(0)
torch.set_num_threads(1)


def compiled(function):
    return torch.compile(function, backend="eager") if side == "dynamo" else function


def one_op(x, y):
    return x + y


def eight_breaks(x):
    x = x + x
    note()
    x = x + x
    note()
    x = x + x
    note()
    x = x + x
    note()
    x = x + x
    note()
    x = x + x
    note()
    x = x + x
    note()
    x = x + x
    note()
    return x


def note():
    sys.stdout.write("")


tree = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(20)]).eval()


def modules(x):
    return tree(x)


def time_per_call(function, arguments, calls):
    for _ in range(30):
        function(*arguments)
    rounds = []
    for _ in range(9):
        start = time.perf_counter_ns()
        for _ in range(calls):
            function(*arguments)
        rounds.append((time.perf_counter_ns() - start) / calls)
    return statistics.median(rounds)


x = torch.randn(8, 8)
scalar = torch.zeros(())
rows = {
    "one op": (one_op, (x, x), 2000),
    "20 layers": (modules, (x,), 200),
    "8 breaks": (eight_breaks, (scalar,), 200),
}
result = {name: time_per_call(compiled(f), arguments, calls)
          for name, (f, arguments, calls) in rows.items()}
with open(sys.argv[2], "w") as out:
    json.dump(result, out)
