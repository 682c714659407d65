"""One process of the cost bench: times one function and prints one JSON object.

Usage: costs.py CASE MODE [CALLS]
MODE: eager (ours under `penstock run`), compile (torch.compile), dynamo (torch.compile with
backend="eager": capture and guards, no code generation), work (what Inductor's generated code takes
when it is called directly). CALLS: call the function so often and time nothing.

All that measures stands at the top level of this file: a `<module>` is never a region, so that the
loop runs natively under `penstock run` too, and a function that is called from it is a region of its
own, as in any script. What the calls give is used: printed, for the bench to compare with eager.
"""

import importlib
import json
import statistics
import sys
import time

import torch

BATCHES = 15
BATCH_SECONDS = 0.02
# What a reported break steps: reading one element of a tensor. Making empty tensors and windows on
# memory that is there computes nothing.
NO_COMPUTE = {"empty", "empty_strided", "view", "as_strided", "detach", "alias", "is_nonzero", "item",
              "_local_scalar_dense"}


def one_op(x):
    return x + 1


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.fc = torch.nn.LayerNorm(width), torch.nn.Linear(width, width)

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.fc(self.norm(x)))


def defined(name, lines):
    """A function with these lines: Python source, as a program would have it."""
    scope = {"torch": torch}
    exec("\n".join([f"def {name}(x):", *lines, "    return x"]), scope)
    return scope[name]


def branches(count, breaks):
    """`count` times the same ops, with a branch on a tensor or the same choice made by an op."""
    lines = []
    for _ in range(count):
        lines += ["    x = x + 1", "    negative = x.sum() < 0"]
        lines += ["    if negative:", "        x = x * 2"] if breaks else \
                 ["    x = torch.where(negative, x * 2, x)"]
    return defined("with_breaks" if breaks else "without_breaks", [*lines, "    x = x + 1"])


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.LayerNorm(256),
                               torch.nn.Linear(256, 8), torch.nn.Softmax(-1)).eval()


def compiled_by_peer(function, mode, recorded):
    """`function` under torch.compile; torch._dynamo's import is no part of its first call."""
    dynamo = importlib.import_module("torch._dynamo")
    dynamo.config.cache_size_limit = 64
    inductor = importlib.import_module("torch._inductor.compile_fx")
    if mode != "work":
        return torch.compile(function, backend="eager" if mode == "dynamo" else "inductor")
    importlib.import_module("torch._functorch.config").enable_autograd_cache = False

    def recording(graph, examples, **options):
        code = inductor.compile_fx_inner(graph, examples, **options)

        def run(inputs):
            recorded.append((code.current_callable, list(inputs)))
            return code(inputs)
        run._boxed_call = True
        return run

    return torch.compile(function, backend=lambda graph, examples: inductor.compile_fx(
        graph, examples, inner_compile=recording))


def report(**fields):
    print(json.dumps(fields))


case, mode = sys.argv[1:3]
calls = int(sys.argv[3]) if len(sys.argv) > 3 else 0
torch.manual_seed(0)
match case:  # here, where a tensor that is made belongs to no region
    case "one_op":
        function, argument = one_op, torch.ones(4)
    case "module_tree":
        function, argument = torch.nn.Sequential(*[Block(8) for _ in range(20)]).eval(), torch.ones(2, 8)
    case "breaks_0" | "breaks_8":
        function, argument = branches(8, breaks=case == "breaks_8"), torch.ones(4)
    case "add_loop":
        function, argument = defined("add_loop", ["    x = x + 1"] * 300), torch.ones(4)
    case "mlp":
        function, argument = mlp(), torch.ones(16, 64)
    case _:
        sys.exit(f"costs: no case {case}")
torch.set_grad_enabled(False)
torch.ones(4) + 1  # torch's own first-call work, in every mode
recorded = []
eager = None
if mode != "eager":
    function(argument)  # the peer finds torch's and oneDNN's caches filled
    start = time.perf_counter_ns()
    function(argument)
    eager = time.perf_counter_ns() - start
    function = compiled_by_peer(function, mode, recorded)

for _ in range(calls):
    function(argument)
if calls:
    sys.exit()

start = time.perf_counter_ns()
result = function(argument)
first = time.perf_counter_ns() - start
start = time.perf_counter_ns()
result = function(argument)
second = time.perf_counter_ns() - start
for _ in range(20):
    result = function(argument)

if mode == "work":  # the same kernels and allocations, by themselves
    recorded.clear()
    function(argument)
    work = []
    for code, inputs in recorded:
        times = []
        for _ in range(1000):
            passed = list(inputs)
            start = time.perf_counter_ns()
            code(passed)
            times.append(time.perf_counter_ns() - start)
        work.append(statistics.median(times))
    report(case=case, mode=mode, work=sum(work), graphs=len(work))
    sys.exit()

start = time.perf_counter_ns()
result = function(argument)
batch = max(1, int(BATCH_SECONDS * 1e9 / max(time.perf_counter_ns() - start, 200)))
means = []
for _ in range(BATCHES):
    start = time.perf_counter_ns()
    for _ in range(batch):
        result = function(argument)
    means.append((time.perf_counter_ns() - start) / batch)

with torch.profiler.profile() as profile:
    result = function(argument)
names = {event.name.removeprefix("aten::") for event in profile.events()
         if event.name.startswith("aten::")}
report(case=case, mode=mode, eager=eager, first=first, second=second, steady=min(means),
       means=means, compute=sorted(names - NO_COMPUTE), result=result.flatten().tolist())
