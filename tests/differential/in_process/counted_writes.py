"""How often torch counts what a graph writes: not at all through `.data`, which counts on its own, and as often as dropout's parts do."""
import torch
import torch.nn.functional as F

WRITES = """
x.data.add_(1); x.data[1:].mul_(2).sub_(1); x.detach().mul_(2); x.data.lerp_(torch.ones(4), 0.5); x[1].data.zero_(); x.data.t().data[0].fill_(3)
x.add_(x.data.mul_(2)); x.data.copy_(x * 2); x.detach().data.add_(1); x.data.detach().add_(1); x.data.data.add_(1); torch.relu_(x.data); x.data[x > 3] = 0
F.dropout(x, 0.0, True, True); F.dropout(x, 0.5, False, True); F.dropout(x, 0.5, True, True); F.dropout(x, 1.0, True, True)
F.alpha_dropout(x, 0.5, True, True); F.alpha_dropout(x, 0.0, True, True); F.alpha_dropout(x, 1.0, True, True); F.alpha_dropout(x, 0.5, False, True)
F.feature_alpha_dropout(x, 0.5, True, True); F.feature_alpha_dropout(x, 0.5, False, True); F.dropout1d(x, 0.0, True, True); F.dropout2d(x[None, None], 0.5, True, True)
F.relu(x, inplace=True); F.hardtanh(x, inplace=True)
""".replace("\n", "; ").strip("; ").split("; ")

# What is given away behind it.
GIVEN = ("x", "x.data", "x.detach()", "(x.data, x[0].data, x[1:])")


def run(source, before):
    names = {"torch": torch, "F": F}
    exec(compile(f"@torch.no_grad()\ndef written(x):\n    {before}\n    {source}", source, "exec"), names)
    for turn in range(4):
        torch.manual_seed(turn)
        x = torch.arange(16.0).view(4, 4) + turn
        given = names["written"](x)
        tensors = [x, *(given if isinstance(given, tuple) else [given])]
        first = [t._version for t in tensors]
        tensors[1].add_(1)
        print(source, first, [t._version for t in tensors], [t.tolist() for t in tensors])
    names.clear()  # the function ends here, and with it what was compiled for it, not when the collector comes


for write in WRITES:
    for given in GIVEN:
        run(f"{write}; return {given}", "pass")
    run(f"{write}; return x", "x = x * 2")
for given in ("y, y[1:], x", "y[0], y[1], y.data"):
    run(f"y = x.data; y.add_(1); return {given}", "pass")
    run(f"y = x.data; y.add_(1); return {given}", "x = x * 2")


# What torch saved for a backward of its own may be written uncounted.
def average(buffer, values):
    with torch.no_grad():
        buffer.data.lerp_(values, 0.25)
        buffer.detach().data.mul_(1.5)


class Codes(torch.nn.Module):
    """Vector quantisation, whose codes follow what they are used for."""

    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.arange(12.0).view(4, 3) / 8)
        self.register_buffer("uses", torch.ones(4))

    def choose(self, x):
        near = x @ self.codes.t()
        return near, near.argmax(1)

    def forward(self, x):
        near, index = self.choose(x)
        print(index.tolist())
        if self.training:
            hot = F.one_hot(index, 4).to(x.dtype)
            self.uses.data.mul_(0.9).add_(hot.sum(0), alpha=0.1)
            self.codes.data.mul_(0.9).add_((hot.t() @ x.detach()) * 0.1 / self.uses.unsqueeze(1))
        return x + (F.embedding(index, self.codes) - x).detach(), near.sum()


for turn in range(5):
    buffer, x = torch.ones(4), torch.ones(4, requires_grad=True)
    loss = (buffer * x).sum()
    average(buffer, torch.arange(4.0))
    loss.backward()
    print(x.grad.tolist(), buffer.tolist(), buffer._version)

model, encoder = Codes(), torch.nn.Linear(3, 3)
with torch.no_grad():
    encoder.weight.copy_(torch.eye(3))
    encoder.bias.zero_()
for turn in range(6):
    quantised, near = model(encoder(torch.arange(15.0).view(5, 3).remainder(4) / 4))
    (quantised.sum() + near).backward()
    print([round(v, 4) for v in encoder.weight.grad.flatten().tolist()], model.codes._version, model.uses._version)


# What is prepared of weights is prepared again.
@torch.no_grad()
def scaled(weight):
    weight.data.mul_(2)


@torch.no_grad()
def product(x, weight):
    return F.linear(x, weight)


weight = torch.ones(256, 256) / 1024
for turn in range(8):
    print(product(torch.ones(8, 256), weight)[0, :2].tolist(), weight._version)
    scaled(weight)


# Statistics of instances are copied into, and counted where they are; those of batches are not.
def normed(x, mean, variance, from_batch):
    return F.instance_norm(x, mean, variance, use_input_stats=from_batch)


for from_batch in (True, False):
    mean, variance = torch.zeros(3), torch.ones(3)
    for turn in range(4):
        normed(torch.arange(30.0).view(2, 3, 5).sin(), mean, variance, from_batch)
        print(from_batch, mean._version, variance._version, round(mean.sum().item(), 4))
for norm in (torch.nn.InstanceNorm1d(3, track_running_stats=True), torch.nn.BatchNorm1d(3)):
    for turn in range(4):
        norm(torch.arange(30.0).view(2, 3, 5).cos())
        print(norm.running_mean._version, norm.running_var._version, norm.num_batches_tracked._version)
