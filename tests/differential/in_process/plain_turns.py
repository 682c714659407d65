"""Calls that plain Python runs while entries are measured: whole functions, with all that they call."""
import threading

import torch


def raises(x, limit):
    if x.shape[0] > limit:
        raise ValueError(f"{tuple(x.shape)} is more than {limit}")
    return x * 2


def recursive(x, depth):
    return x if depth == 0 else recursive(x + 1, depth - 1)


def calls_a_generator(x):
    def parts():
        for part in x:
            yield part * 2
    return sum(parts(), torch.zeros(3))


def compiles_within(x):
    return torch.compile(lambda y: y * 3 + 1)(x).sum()


def disables_within(x):
    return torch.compiler.disable(lambda y: y - 1)(x) * 2


class Counting(torch.nn.Module):
    """Its calls change it, whoever runs them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.seen += x.sum()
        return x / (1 + self.seen)


def with_effects(x, log):
    y = x + 1
    log.append(y.shape)
    return {"y": y, "log": len(log)}


@torch.compile(fullgraph=True)
def whole(x):
    return (x * x).sum()


def needs_gradients(x, w):
    return torch.tanh(x @ w).sum()


def show(name, *values):
    print(name, *[value.tolist() if isinstance(value, torch.Tensor) else value for value in values])


x = torch.arange(6.0).reshape(2, 3)
module, log = Counting().eval(), []
w = torch.eye(3, requires_grad=True)
for call in range(20):
    with torch.no_grad():
        for size in (1, 2):
            try:
                show("raises", raises(x[:size], 1 + call % 2))
            except ValueError as error:
                show("raised", str(error), error.__traceback__.tb_next is not None)
        show("recursive", recursive(x, 3))
        show("generator", calls_a_generator(x))
        show("compiles", compiles_within(x))
        show("disables", disables_within(x))
        show("module", module(x), module.calls, module.seen)
        show("effects", *with_effects(x, log).values(), log[-1])
        show("whole", whole(x))
    loss = needs_gradients(x, w)
    loss.backward()
    show("gradients", round(loss.item(), 4), w.grad.mul(1e3).round().div(1e3))


def in_thread(results, index):
    with torch.no_grad():
        for _ in range(20):
            results[index] = recursive(x + index, 4)


results = [None] * 4
threads = [threading.Thread(target=in_thread, args=(results, index)) for index in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
show("threads", *results)
