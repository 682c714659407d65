"""Training steps of small models, in which what stands between segments would cost more than they save: zero_grad and
the optimizer's step in a function with forward and backward; what a call has in it only later, or now and then; a root
that begins with what no segment can hold."""
import torch
from torch import nn

torch.set_grad_enabled(True)
torch.manual_seed(0)


def make(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)).double()


def train(name, optimizer_of, clip):
    model = make(1)
    optimizer = optimizer_of(model.parameters())
    inputs, labels = torch.rand(5, 6, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1])
    loss_function = nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad()
        loss = loss_function(model(inputs), labels)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        optimizer.step()
        return loss

    losses = [step().item() for _ in range(60 if clip else 300)]
    print(name, clip, f"{losses[0]:.8f} {losses[-1]:.8f}", f"{sum(p.sum().item() for p in model.parameters()):.8f}")


for clip in (False, True):
    train("SGD", lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9), clip)
    train("AdamW", lambda parameters: torch.optim.AdamW(parameters, 0.01), clip)


class Lion(torch.optim.Optimizer):
    """An optimizer of the program's own, which reads gradients and keeps state by parameter."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                mean = state.setdefault("mean", torch.zeros_like(parameter))
                parameter.add_(torch.sign(mean * 0.9 + parameter.grad * 0.1), alpha=-group["lr"])
                mean.mul_(0.99).add_(parameter.grad, alpha=0.01)


train("Lion", lambda parameters: Lion(parameters, 0.002), True)


# Below a root that is recorded: nothing in a call for long, and then something; in every tenth; and never.
def later(x, number):
    return x if number < 30 else torch.sin(x) * number


def seldom(x, number):
    return torch.cos(x) if number % 10 == 0 else x


def never(x, number):
    return [number, x.shape]


def mixed(x, number):
    y = torch.exp(x * 0.5)
    print(end="")
    z = later(y, number)
    print(end="")
    z = seldom(z, number)
    print(end="")
    return z + len(never(x, number))


with torch.no_grad():
    for number in range(80):
        result = mixed(torch.arange(4.0, dtype=torch.float64), number)
        if number % 7 == 0:
            print(number, [f"{value:.9f}" for value in result.tolist()])


# What gradients are read of: none, a tensor, another one, none again.
def norms(parameters):
    return [p.grad.norm() if p.grad is not None else p.norm() for p in parameters]


parameters = [nn.Parameter(torch.rand(n, dtype=torch.float64)) for n in (3, 4)]
for number in range(12):
    for place, parameter in enumerate(parameters):
        parameter.grad = None if (number + place) % 3 == 0 else torch.full_like(parameter, number + 1.0)
    print([f"{value.item():.6f}" for value in norms(parameters)])


# Many gradients that are written at once share no memory, and then two of them do.
@torch.no_grad()
def halve(parameters):
    for parameter in parameters:
        parameter.grad.mul_(0.5)
    return sum(parameter.grad.sum() for parameter in parameters)


many = [nn.Parameter(torch.rand(4, dtype=torch.float64)) for _ in range(12)]
memory = torch.arange(8.0, dtype=torch.float64)
for number in range(8):
    for parameter in many:
        parameter.grad = torch.ones_like(parameter)
    if number % 4 == 3:
        many[2].grad, many[7].grad = memory[:4], memory[2:6]
    print(number, halve(many).item(), memory.tolist())


# Behind backward, in gradient mode, parameters are written where that is off.
def finish(model, average, rate):
    norm = torch.stack([parameter.grad.norm() for parameter in model.parameters()]).norm()
    with torch.no_grad():
        for parameter, mean in zip(model.parameters(), average):
            parameter.add_(parameter.grad, alpha=-rate)
            mean.mul_(0.9).add_(parameter, alpha=0.1)
    return norm * 2


model = make(3)
average = [torch.zeros_like(parameter) for parameter in model.parameters()]
for number in range(200):
    model.zero_grad()
    model(torch.full((4, 6), number % 9 / 10, dtype=torch.float64)).square().mean().backward()
    norm = finish(model, average, 0.1)
    if number % 20:
        continue
    versions = [parameter._version for parameter in model.parameters()]
    print(f"{norm.item():.8f} {sum(mean.sum().item() for mean in average):.8f}", norm.requires_grad, versions)
