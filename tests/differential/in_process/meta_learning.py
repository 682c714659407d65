"""Learning to learn: the weights that torch.func.functional_call takes are steps of gradients that are gone through again. Weights
that are tied or handed over twice, a module left as it was where its forward raises, and a step of learning around the steps that
were called alone before."""
import torch
from torch import nn
from torch.func import functional_call

torch.set_grad_enabled(True)


class Net(nn.Module):
    def __init__(self, tied=False):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))
        if tied:
            self.second.weight = self.first.weight

    def forward(self, x):
        if x.shape[-1] != 4:
            raise ValueError("no rows of four")
        self.count.add_(1)
        return self.second(torch.tanh(self.first(x)))


def make(seed, tied=False):
    torch.manual_seed(seed)
    return Net(tied).double()


def shown(one):
    return f"{one.detach().sum().item():.8f} {one.detach().square().sum().item():.8f}"


NET, TIED = make(1), make(2, True)


def called(net, values, x):
    x = x + 1
    return functional_call(net, values, (x,)) * 2


def values_of(net, scale):
    return {name: (value * scale).detach() for name, value in net.named_parameters()}


for scale in (1, 2, 3, 4):
    x = torch.full((2, 4), 0.1 * scale, dtype=torch.float64)
    for net in (NET, TIED):
        values = values_of(net, scale)
        print(shown(called(net, values, x)), sorted(values), shown(net.first.weight), net.count.item())
    counted = {**values_of(NET, scale), "count": torch.ones((), dtype=torch.float64)}
    print(shown(called(NET, counted, x)), counted["count"].item(), NET.count.item())
    twice = {**values_of(TIED, scale), "second.weight": torch.ones(4, 4, dtype=torch.float64)}
    for net, values, rows in ((TIED, twice, x), (NET, values_of(NET, 2), x[:, :3]), (NET, {"third": x}, x)):
        try:
            print(shown(called(net, values, rows)))
        except (ValueError, RuntimeError, KeyError) as error:
            print(type(error).__name__, str(error).splitlines()[0], shown(net.first.weight))


def adapted(values, x, y):
    """A step of gradients, which is gone through again."""
    loss = nn.functional.mse_loss(functional_call(NET, values, (x,)), y)
    gradients = torch.autograd.grad(loss, tuple(values.values()), create_graph=True)
    return {name: value - 0.1 * gradient for (name, value), gradient in zip(values.items(), gradients)}


OPTIMIZER = torch.optim.SGD(NET.parameters(), 0.05)


def learned(tasks):
    """A step of learning over tasks, each with two steps of its own."""
    OPTIMIZER.zero_grad()
    total = 0.0
    for x, y in tasks:
        values = dict(NET.named_parameters())
        for _ in range(2):
            values = adapted(values, x, y)
        total = total + nn.functional.mse_loss(functional_call(NET, values, (x + 1,)), y)
    total.backward()
    OPTIMIZER.step()
    return total


TASKS = [(torch.rand(5, 4, dtype=torch.float64), torch.rand(5, 4, dtype=torch.float64)) for _ in range(3)]
for turn in range(4):
    print({name: shown(value) for name, value in adapted(dict(NET.named_parameters()), *TASKS[0]).items()})
for turn in range(5):
    print(shown(learned(TASKS)), shown(NET.first.weight), shown(NET.second.bias))
