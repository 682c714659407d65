"""torch.fx changes nn.Module while it traces, and puts it back: entries with modules go on; a class that stays changed is seen."""
import torch
import torch.fx

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # so that what is printed does not hang on the last digit
torch.nn.Module.scale = 2.0


class Net(torch.nn.Module):
    shift = 1.0

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def changed(self, x):
        return x

    def forward(self, x):
        return self.changed(self.inner(x)) * self.scale + self.shift


class Other(torch.nn.Module):
    def forward(self, x):
        return x.relu()


@torch.compiler.disable
def trace():
    return len(torch.fx.symbolic_trace(Other()).graph.nodes)


@torch.compiler.disable
def show(x):
    print([float(f"{number:.4g}") for number in x.flatten().tolist()])


def doubled(self, x):
    return x * 2


def halved(self, x):
    return x / 2


net = Net().eval()
with torch.no_grad():
    for turn in range(60):
        trace()
        show(net(torch.randn(2, 3)))
    # A base and a class that change, and stay so for some calls; another function may lie where the last one lay.
    for turn in range(8):
        torch.nn.Module.scale = float(turn)
        trace()
        show(net(torch.ones(2, 3)))
    for turn in range(8):
        Net.changed = doubled if turn % 2 else halved
        trace()
        show(net(torch.ones(2, 3)))
    for turn in range(6):
        del Net.changed
        Net.changed = lambda self, x, turn=turn: x + turn
        show(net(torch.ones(2, 3)))
    torch.nn.Module.scale = 2.0
    before = torch.nn.Module.__call__
    torch.nn.Module.__call__ = lambda self, *args: before(self, *args) + 1
    show(net(torch.ones(2, 3)))
    trace()
    show(net(torch.ones(2, 3)))
    torch.nn.Module.__call__ = before
    trace()
    show(net(torch.ones(2, 3)))
del torch.nn.Module.scale
