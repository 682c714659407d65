"""Functions that go backward themselves: what came to `.grad` before and comes to it again, leaves that something hangs
on, tensors that are left behind a backward(), and what goes backward in another way than once through everything."""
import torch
from torch import nn

torch.set_grad_enabled(True)


def make(seed, *widths):
    torch.manual_seed(seed)
    layers = [module for a, b in zip(widths, widths[1:]) for module in (nn.Linear(a, b), nn.Tanh())]
    return nn.Sequential(*layers[:-1]).double()


def data(seed, rows=5):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(rows, 6, generator=generator, dtype=torch.float64),
            torch.randint(0, 3, (rows,), generator=generator))


def shown(*tensors):
    return " ".join("None" if one is None else f"{round(one.double().sum().item(), 7) + 0.0:.7f}/{tuple(one.stride())}"
                    for one in tensors)


def gradients(module):
    return shown(*(parameter.grad for parameter in module.parameters()))


X, Y = data(1)


# -- one step after the other, gradients dropped before and behind

def dropped_before(net, optimizer, x, y, to_none):
    optimizer.zero_grad(set_to_none=to_none)
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def dropped_behind(net, optimizer, x, y, to_none):
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=to_none)
    return loss


for step in (dropped_before, dropped_behind):
    for to_none in (True, False):
        net = make(2, 6, 8, 3)
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        for turn in range(6):
            loss = step(net, optimizer, X, Y, to_none)
            print(step.__name__, to_none, turn, shown(loss), loss.requires_grad, loss.is_leaf, loss.grad_fn is None,
                  gradients(net))


# -- gradients that add up, and what holds them

def adds_up(net, x, y):
    first = nn.functional.cross_entropy(net(x), y)
    first.backward()
    second = net(x * 2).square().mean()
    second.backward()
    return first.detach(), second.detach()


net = make(3, 6, 8, 3)
held = None
for turn in range(5):
    # (Of a new gradient that is a sum, torch's engine tells a version that depends on how it came about.)
    print("adds up", turn, shown(*adds_up(net, X, Y)), gradients(net), [one.grad._version for one in net.parameters()])
    first = next(net.parameters())
    print(held is first.grad)
    held = first.grad
    if turn == 3:
        net.zero_grad()


# -- leaves: frozen, tied, not reached, inputs, in other layouts

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.first = nn.Linear(6, 6, bias=False).double()
        self.second = nn.Linear(6, 6).double()
        self.unused = nn.Linear(6, 6).double()
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.ones(6, 3, dtype=torch.float64).t())
        self.floored = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, x):
        hidden = torch.relu(self.second(torch.tanh(self.first(x)))) + self.floored.floor()
        return (hidden * self.scale[0]).sum(1) * self.scale.sum()


def tied(net, x):
    loss = net(x).square().mean()
    loss.backward()
    return loss.item()


net = Tied()
for turn in range(6):
    print("tied", turn, f"{tied(net, X):.8f}", gradients(net))
    if turn == 2:
        net.first.weight.requires_grad_(False)
        net.zero_grad()
    if turn == 4:
        net.first.weight.requires_grad_(True)


def of_input(x, weight):
    loss = (x * weight).sum() + x.sum()
    loss.backward()
    return x.grad


for turn in range(4):
    given = X.clone().requires_grad_(turn != 2)
    weight = torch.full((6,), 2.0, dtype=torch.float64, requires_grad=True)
    print("of input", turn, shown(of_input(given, weight), given.grad, weight.grad))

same = torch.ones(6, dtype=torch.float64, requires_grad=True)
for turn in range(3):
    print("two others", shown(of_input(torch.ones(6, dtype=torch.float64, requires_grad=True), same)))
for turn in range(3):
    print("twice the same", shown(of_input(same, same)))
for turn in range(9):
    one, other = (torch.full((6,), value, dtype=torch.float64, requires_grad=True) for value in (2.0, 3.0))
    gradient = of_input(one, one if turn > 4 else other)  # torch's engine sums in place: a version more
    print("new ones", gradient.sum().item(), shown(other.grad))


# -- parameters whose .grad is set, read and dropped by the program

def by_hand(weights, x):
    for weight in weights:
        weight.grad = None
    loss = sum((x @ weight).square().sum() for weight in weights)
    loss.backward()
    with torch.no_grad():
        for weight in weights:
            weight -= 0.001 * weight.grad
    kept = weights[0].grad
    weights[0].grad = None
    return loss.detach(), kept, weights[1].grad


weights = [torch.full((6, 2), 0.1 * i + 0.1, dtype=torch.float64, requires_grad=True) for i in range(3)]
for turn in range(5):
    print("by hand", turn, shown(*by_hand(weights, X)), shown(*(weight.grad for weight in weights)))
    if turn == 2:
        weights[2] = weights[1]
print(shown(*weights))


# -- somebody sees the engine at work

def plain(net, x, y):
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    return loss.detach()


net = make(5, 6, 8, 3)
seen = []
for turn in range(14):
    parameters = list(net.parameters())
    if turn == 2:
        handle = parameters[0].register_hook(lambda gradient: gradient * 2)
    if turn == 4:
        handle.remove()
        handle = parameters[1].register_post_accumulate_grad_hook(lambda parameter: seen.append(shown(parameter.grad)))
    if turn == 6:
        handle.remove()
        edge = torch.autograd.graph.get_gradient_edge(parameters[2]).node
        handle = edge.register_hook(lambda *_: seen.append("node"))
    if turn == 8:
        handle.remove()
        del edge
    if turn == 10:
        with torch.autograd.graph.saved_tensors_hooks(lambda saved: seen.append("saved") or saved, lambda saved: saved):
            plain(net, X, Y)
    if turn == 12:
        with torch.autograd.set_detect_anomaly(True):
            plain(net, X, Y)
    print("seen", turn, shown(plain(net, X, Y)), gradients(net), seen)


# -- in another way than once through everything

def again(net, x, y, **options):
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward(**options)
    return loss


net = make(6, 6, 8, 3)
for turn in range(3):
    loss = again(net, X, Y, retain_graph=True)
    loss.backward()
    print("retained", gradients(net))
for turn in range(3):
    loss = again(net, X, Y, create_graph=True)
    print("created", gradients(net), net[0].weight.grad.requires_grad)
    net.zero_grad()
for turn in range(3):
    loss = again(net, X, Y, inputs=[net[0].weight])
    print("some inputs", gradients(net))
    net.zero_grad()
for turn in range(3):
    loss = again(net, X, Y, gradient=torch.tensor(2.0, dtype=torch.float64))
    print("given", gradients(net))
for turn in range(4):
    loss = again(net, X, Y)
    try:
        loss.backward()
    except RuntimeError as error:
        print("a second time", str(error)[:48], gradients(net))
    try:
        (loss * 2).backward()
    except RuntimeError as error:
        print("and through an op", str(error)[:48])


def hands_on(net, x, y):
    logits = net(x)
    other = logits.sum()
    nn.functional.cross_entropy(logits, y).backward()
    return logits, other, x + 1


for turn in range(3):
    logits, other, more = hands_on(net, X, Y)
    print("hands on", logits.requires_grad, other.requires_grad, more.requires_grad, shown(logits, other, more))
    for tensor in (logits.sum(), other):
        try:
            tensor.backward()
        except RuntimeError as error:
            print(str(error)[:48])


def keeps_one(net, x, y):
    hidden = net[0](x)
    apart = net[0].bias.square().sum()
    nn.functional.cross_entropy(net[2](torch.tanh(hidden)), y).backward()
    return apart


for turn in range(3):
    net.zero_grad()
    apart = keeps_one(net, X, Y)
    apart.backward()
    print("keeps one", gradients(net))


def saves_nothing(x, weight):
    moved = x + weight
    moved.sum().backward()
    return moved


for turn in range(6):
    moved = saves_nothing(X, net[2].bias[:1].expand(6)) if turn == 5 else saves_nothing(X, same)
    moved.sum().backward()
    print("saves nothing", shown(same.grad, net[2].bias.grad))


def modified(net, x, kept):
    hidden = net(x).exp()
    if not kept:
        hidden.add_(1)
    hidden.sum().backward()
    return hidden.detach()


for turn in range(5):
    net.zero_grad()
    try:
        print("modified", shown(modified(net, X, turn % 2 == 1)), gradients(net))
    except RuntimeError as error:
        print("modified", str(error)[:60], gradients(net))


def raises(net, x, y, late):
    loss = nn.functional.cross_entropy(net(x), y)
    if not late:
        loss = loss.detach()
    loss.backward()
    return loss.detach() + torch.zeros(2 if late else 1, dtype=torch.float64)


for turn in range(4):
    try:
        print("raises", shown(raises(net, X, Y, turn % 2 == 0)))
    except RuntimeError as error:
        print("raised", str(error)[:60])


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        seen.append("doubled")
        return gradient * 2


def own_function(net, x):
    loss = Doubled.apply(net(x)).square().mean()
    loss.backward()
    return loss.detach()


seen.clear()
for turn in range(3):
    print("own function", shown(own_function(net, X)), gradients(net), seen)


def from_outside(hidden, net):
    loss = net[2](torch.tanh(hidden)).square().mean()
    loss.backward()
    return loss.detach()


for turn in range(4):
    print("from outside", shown(from_outside(net[0](X), net)), gradients(net))


def written_between(net, x, y):
    loss = (net[0](x) + net[0].bias).square().mean()
    with torch.no_grad():
        net[0].bias.mul_(0.5)
    loss.backward()
    return loss.detach()


for turn in range(3):
    net.zero_grad()
    print("written between", shown(written_between(net, X, Y)), gradients(net), shown(net[0].bias))


# -- around it

def reports(net, x, y, total):
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    total += loss.item()
    with torch.no_grad():
        right = (net(x).argmax(1) == y).sum().item()
    return total, right


total = 0.0
for turn in range(4):
    total, right = reports(net, X, Y, total)
    print("reports", f"{total:.8f}", right, gradients(net))
for rows in (5, 7, 9, 5):
    print("rows", rows, shown(plain(net, *data(7, rows))), gradients(net))

generator, judge = make(8, 6, 8, 6), make(9, 6, 8, 1)
optimizers = [torch.optim.SGD(module.parameters(), 0.05) for module in (generator, judge)]


def adversaries(noise, real):
    fake = generator(noise)
    optimizers[1].zero_grad()
    told = nn.functional.softplus(-judge(real)).mean() + nn.functional.softplus(judge(fake.detach())).mean()
    told.backward()
    optimizers[1].step()
    optimizers[0].zero_grad()
    fooled = nn.functional.softplus(-judge(fake)).mean()
    fooled.backward()
    optimizers[0].step()
    return told.item(), fooled.item()


for turn in range(5):
    print("adversaries", "{:.8f} {:.8f}".format(*adversaries(X, X + 1)), gradients(generator), gradients(judge))

normed = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3)).double()
torch.manual_seed(11)
for turn in range(4):
    print("normed", shown(plain(normed, X, Y)), gradients(normed), shown(normed[1].running_mean), torch.rand(1).item())


def by_function(net, x, y):
    loss = nn.functional.cross_entropy(net(x), y)
    torch.autograd.backward(loss)
    first, second = torch.autograd.grad(net(x).sum(), [net[0].weight, net[0].bias])
    return first, second


for turn in range(3):
    print("by function", shown(*by_function(net, X, Y)), gradients(net))
