"""One process of the cost bench: times small functions and prints one JSON object.

Usage: costs.py CASE eager|compile|dynamo    (run under `penstock run` with `eager` for ours)
`dynamo` is torch.compile with backend="eager": capture and guards without code generation.
"""

import importlib
import json
import sys
import time

import torch


def one_op(x):
    return x + 1


def make_breaks(count):
    """A straight line of `count` breaks, one op between each two."""
    lines = ["def breaks(x):"]
    for _ in range(count):
        lines += ["    x = x + 1", "    if x.sum() < 0:", "        x = x * 2"]
    scope = {}
    exec("\n".join([*lines, "    return x + 1"]), scope)
    return scope["breaks"]


def make_add_loop(count):
    scope = {}
    exec("\n".join(["def add_loop(x):", *["    x = x + 1"] * count, "    return x"]), scope)
    return scope["add_loop"]


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.fc = torch.nn.LayerNorm(width), torch.nn.Linear(width, width)

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.fc(self.norm(x)))


def module_tree():
    return torch.nn.Sequential(*[Block(8) for _ in range(20)]).eval()


CASES = {
    "one_op": lambda: (one_op, torch.ones(4)),
    "module_tree": lambda: (module_tree(), torch.ones(2, 8)),
    "breaks_0": lambda: (make_breaks(0), torch.ones(4)),
    "breaks_8": lambda: (make_breaks(8), torch.ones(4)),
    "add_loop": lambda: (make_add_loop(300), torch.ones(4)),
    "mlp": lambda: (torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.LayerNorm(256),
                                        torch.nn.Linear(256, 8), torch.nn.Softmax(-1)).eval(),
                    torch.ones(16, 64)),
}


def seconds(function, argument):
    start = time.perf_counter()
    function(argument)
    return time.perf_counter() - start


def steady(function, argument):
    """Seconds a call: the least mean of ten batches of about 20 ms each."""
    for _ in range(5):
        function(argument)
    batch = max(1, int(0.02 / max(seconds(function, argument), 1e-7)))
    means = []
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(batch):
            function(argument)
        means.append((time.perf_counter() - start) / batch)
    return min(means)


def main():
    case, mode = sys.argv[1:3]
    torch.manual_seed(0)
    function, argument = CASES[case]()
    with torch.no_grad():
        if mode != "eager":
            dynamo = importlib.import_module("torch._dynamo")  # not part of the first call
            dynamo.config.cache_size_limit = 64
            function = torch.compile(function, backend="eager" if mode == "dynamo" else "inductor")
        else:
            torch.ones(4) + 1  # torch's own first-call work
        first = seconds(function, argument)
        print(json.dumps({"case": case, "mode": mode, "first": first, "steady": steady(function, argument)}))


if __name__ == "__main__":
    main()
