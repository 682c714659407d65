"""Writes through .data between forward and backward, which no version counts: backward takes what torch saved as it
stands in memory by then, and what torch computed from it in forward as it was."""
import types

import torch
import torch.nn.functional as F

torch.manual_seed(0)
ROUNDS = 4
w = (torch.arange(1.0, 13).view(3, 4) / 7).requires_grad_()
bias = (torch.arange(4.0) / 5 - 0.3).requires_grad_()
x = (torch.arange(12.0).view(3, 4) / 6 - 0.9).requires_grad_()
buffer = torch.arange(12.0).view(3, 4) / 9 + 0.2

# Each is called with buffer, weight, bias and x; what it gives last is gone backward from.
FUNCTIONS = {
    "both": lambda b, w, c, x: (torch.exp(b) * w).tanh() * x * b,
    "chain": lambda b, w, c, x: (torch.exp(b).sin() * w).sigmoid() * b.sqrt() * x,
    "from the weight": lambda b, w, c, x: ((w * w + 1).log() * x).tanh() * w,
    "from the bias": lambda b, w, c, x: ((x + c.exp()) * c).cos() * w,
    "views": lambda b, w, c, x: (b.t().exp() @ (w * 2)).tanh() * (b.t() @ x),
    "products": lambda b, w, c, x: F.gelu(x @ w.t() + b.sum(1)).exp() * (b @ x.t()),
    "linear": lambda b, w, c, x: F.silu(F.linear(x * b, w.t() @ w, c)) * F.linear(b, w.t() @ w, c),
    "norm": lambda b, w, c, x: F.layer_norm(x * w, (4,), c, b[0]) * c * b,
    "softmax": lambda b, w, c, x: F.softmax(x * b.exp(), -1) * b * w,
    "masks": lambda b, w, c, x: torch.where(b > 0.7, x * b, w * b.exp()).relu() * b,
    "reduced": lambda b, w, c, x: (x * b.mean(1, keepdim=True)).tanh() * b * w.sum(0).exp(),
    "casts": lambda b, w, c, x: (x.double() * b.double().exp()).tanh() * b.double() * w.double(),
    "a result": lambda b, w, c, x: (y := (x * b).exp(), (y * 2 + w).tanh() * y),
    "a result and its view": lambda b, w, c, x: (y := torch.sigmoid(x), y.t(), (y.t() * 3).sin() @ (w * y)),
    "promoted": lambda b, w, c, x: (b.double() * w) * x / (c.double() + 3) + w * torch.arange(1, 5),
    "one formula": lambda b, w, c, x: F.silu(x) + F.gelu(w) * F.glu(w, 0 if len(w) % 2 == 0 else 1).sum() + x / w,
    "same in forward": lambda b, w, c, x: (x.cos(), (x.cos() + x.sin() * w)),
    "spread": lambda b, w, c, x: w.var(1) * (b * c).logsumexp(1) + F.mse_loss(x, b * w) + F.huber_loss(x, w),
    "shares": lambda b, w, c, x: (y := F.softmax(x * w, -1), z := F.log_softmax(x + c, -1), y * 2 + z * w),
    "parts": lambda b, w, c, x: (x * b[1, :1]).tanh() * w.view(12)[7] + x.t().unbind()[1].sum() * w.chunk(3)[2][:, 1:2] * c,
    "blocks": lambda b, w, c, x: torch.kron(x * c, w[:1]).tanh().sum() * F.logsigmoid(x) * w[:, 1:2] + torch.kron(b, c[:1]),
    "two results": lambda b, w, c, x: (y := x.exp(), z := (y + b).tanh(), (z * w).sin() * y * b),
}


def writes(count):
    """What is written, by a name: an input or a result but the last."""
    yield "nothing", lambda inputs, results: None
    for i in range(4):
        yield ("buffer", "weight", "bias", "x")[i], lambda inputs, results, i=i: inputs[i].data.mul_(1.5).add_(0.1)
    for i in range(count - 1):
        yield f"result {i}", lambda inputs, results, i=i: results[i].data.mul_(-0.5)


def own(function, name):
    """The same function with code of its own: entries of one function do not crowd out another's."""
    code = function.__code__.replace(co_name="".join(c if c.isalnum() else "_" for c in name))
    return types.FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)


def gradients(f, write, apart):
    """`apart`: what is made and what is written is Python's, and only the call of f is compiled."""
    inputs = made() if apart else [buffer.clone(), *leaves()]
    results = f(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    if apart:
        write_apart(write, inputs, results)
    else:
        write(inputs, results)
    found = torch.autograd.grad(results[-1].sum(), inputs[1:], allow_unused=True)
    return [None if g is None else float(f"{summed(g):.3g}") for g in found]


def summed(gradient):
    """Weighed by place: the gradients of a row may add up to nothing but roundings."""
    places = torch.arange(1.0, gradient.numel() + 1)
    return round(float((gradient.double().flatten() * places).sum()), 3)


def leaves():
    return [t.detach().clone().requires_grad_() for t in (w, bias, x)]


@torch.compiler.disable
def made():
    return [buffer.clone(), *leaves()]


@torch.compiler.disable
def write_apart(write, inputs, results):
    write(inputs, results)


lstm, gru = torch.nn.LSTMCell(4, 4), torch.nn.GRUCell(4, 4)
with torch.no_grad():
    for parameter in [*lstm.parameters(), *gru.parameters()]:
        parameter.copy_((torch.arange(float(parameter.numel())) / 9).sin().view_as(parameter))


def recurrent(cell, x, state):
    for _ in range(2):
        state = cell(x, state)
    return (state[0] * state[-1]).sum()


for cell, state in ((lstm, (torch.zeros(3, 4), torch.ones(3, 4))), (gru, torch.zeros(3, 4))):
    for written in cell.parameters():
        found = []
        for _ in range(ROUNDS):
            loss = recurrent(cell, x, state)
            written.data.mul_(2)
            gradients_of_cell = torch.autograd.grad(loss, list(cell.parameters()))
            written.data.div_(2)
            found.append([float(f"{g.double().sum():.3g}") for g in gradients_of_cell])
        print(type(cell).__name__, tuple(written.shape), found)


for name, f in FUNCTIONS.items():
    results = f(buffer, w, bias, x)
    for apart in (True, False):
        for what, write in writes(len(results) if isinstance(results, tuple) else 1):
            found = own(gradients, f"{name} {what if not apart else ''}")
            print(name, "|", what, apart, [found(f, write, apart) for _ in range(ROUNDS)])
    found = own(gradients, f"{name} of other memory")
    for i in range(4):
        if name == "linear" and i == 1:
            continue  # torch keeps the weight and a view of it as well
        exchange = lambda inputs, results: setattr(inputs[i], "data", inputs[i].detach() * 2)
        print(name, "| other memory", i, [found(f, exchange, True) for _ in range(ROUNDS)])


# Of a weight torch keeps a view, which shows the memory that the weight had.
layer = torch.nn.Linear(4, 3)
with torch.no_grad():
    layer.weight.copy_(w)
    layer.bias.zero_()
for turn in range(ROUNDS):
    given = x.detach().clone().requires_grad_()
    loss = layer(given).tanh().sum()
    layer.weight.data = layer.weight.data * 2
    loss.backward()
    print([float(f"{g:.3g}") for g in given.grad.flatten()])
    layer.weight.data = layer.weight.data / 2


class Codebook(torch.nn.Module):
    """A buffer that is a running mean, kept by .data between the steps' halves."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        return ((x - self.mean.exp()) * self.scale).tanh() * self.mean * x


book = Codebook()
for step in range(6):
    batch = (torch.arange(12.0).view(3, 4) + step) / 10
    loss = book(batch).square().sum()
    book.mean.data.mul_(0.9).add_(batch.mean(0), alpha=0.1)
    loss.backward()
    with torch.no_grad():
        book.scale -= 0.1 * book.scale.grad
    print(step, round(loss.item(), 4), [round(float(g), 4) for g in book.scale.grad])
    book.scale.grad = None
