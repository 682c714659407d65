"""One process of the cost bench: times one function and prints one JSON object.

Usage: costs.py CASE SIDE [CALLS]
SIDE: program (the program as it is: ours under `penstock run --profile`), peer (torch.compile beside eager, in one
process). CALLS: call the function so often and time nothing.

All that measures stands at the top level of this file: a `<module>` is never a region, so that the
loop runs natively under `penstock run` too, and a function that is called from it is a region of its
own, as in any script. What the calls give is used: printed, for the bench to compare with eager.
"""

import importlib
import json
import sys
import time

import torch

BATCHES = 40
BATCH_SECONDS = 0.005
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


class Peer:
    """torch.compile, whose code generation is timed by itself and whose code can be called directly."""

    def __init__(self):
        self.dynamo = importlib.import_module("torch._dynamo")
        self.dynamo.config.cache_size_limit = 64
        self.inductor = importlib.import_module("torch._inductor.compile_fx")
        importlib.import_module("torch._functorch.config").enable_autograd_cache = False
        self.to_code = 0  # nanoseconds from captured graphs to loaded code
        self.within = 0   # nanoseconds in generated code

    def compiled(self, function, backend):
        self.dynamo.reset()
        return torch.compile(function, backend=backend)

    def inductor_timed(self, graph, examples):
        start = time.perf_counter_ns()
        code = self.inductor.compile_fx(graph, examples)
        self.to_code += time.perf_counter_ns() - start
        return code

    def inductor_watched(self, graph, examples):
        """Inductor, with the time kept that calls spend in the generated code."""
        def compile_inner(inner, inner_examples, **options):
            code = self.inductor.compile_fx_inner(inner, inner_examples, **options)
            code.current_callable = self.watched(code.current_callable)
            return code
        return self.inductor.compile_fx(graph, examples, inner_compile=compile_inner)

    def watched(self, code):
        def run(inputs):
            start = time.perf_counter_ns()
            outputs = code(inputs)
            self.within += time.perf_counter_ns() - start
            return outputs
        return run


case, side = sys.argv[1:3]
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
torch.ones(4) + 1  # torch's own first-call work
for _ in range(calls):
    function(argument)
if calls:
    sys.exit()

record = {"case": case, "side": side}
subjects = [("program", function)]
peer = None
if side == "peer":
    peer = Peer()
    subjects = [("eager", function), ("dynamo", None), ("inductor", None)]
for name, subject in subjects:
    if name == "dynamo":
        subject = peer.compiled(function, "eager")
    elif name == "inductor":
        subject = peer.compiled(function, peer.inductor_timed)
    start = time.perf_counter_ns()
    result = subject(argument)
    first = time.perf_counter_ns() - start
    if name == "program":
        result = subject(argument)  # the gate has plain Python run it
    start = time.perf_counter_ns()
    result = subject(argument)
    second = time.perf_counter_ns() - start
    record[name] = {"first": first, "second": second, "result": result.flatten().tolist()}
    if name == "dynamo":
        continue
    for _ in range(20):
        result = subject(argument)
    start = time.perf_counter_ns()
    result = subject(argument)
    batch = max(1, int(BATCH_SECONDS * 1e9 / max(time.perf_counter_ns() - start, 200)))
    means = []
    for _ in range(BATCHES):
        start = time.perf_counter_ns()
        for _ in range(batch):
            result = subject(argument)
        means.append((time.perf_counter_ns() - start) / batch)
    with torch.profiler.profile() as profile:
        result = subject(argument)
    ops = {event.name.removeprefix("aten::") for event in profile.events() if event.name.startswith("aten::")}
    record[name] |= {"steady": min(means), "means": means, "compute": sorted(ops - NO_COMPUTE)}
# What a call takes besides its kernels: those are timed within the calls that are measured, on both sides, and what
# that takes is taken off. Of the batch where it is least.
to_take, measuring = [], 0
if peer is not None:
    record["inductor"]["to_code"] = peer.to_code
    within = lambda: peer.within
    to_take = [("watching", peer.watched(lambda inputs: inputs)),
               ("inductor", peer.compiled(function, peer.inductor_watched))]
elif profile := sys.modules.get("penstock_profile"):
    within, measuring = profile.kernel_nanoseconds, profile.measuring_nanoseconds()
    to_take = [("program", function)]
for name, subject in to_take:
    for _ in range(20):
        result = subject(argument)
    costs = []
    for _ in range(BATCHES):
        before = within()
        start = time.perf_counter_ns()
        for _ in range(batch):
            result = subject(argument)
        passed = time.perf_counter_ns() - start
        kernels = within() - before
        costs.append(((passed - kernels) / batch, kernels / batch))
    besides, work = min(costs)
    if name == "watching":
        measuring = besides
    else:
        record[name] |= {"call": besides - measuring, "work": work}
print(json.dumps(record))
