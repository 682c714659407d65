"""A module tree with hooks, buffers and attributes that change between calls. One break: the print of the third call's hook. Entries: the first and second call share one; a changed scale and an added hook are recompiles."""
import torch

class Gate(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = torch.nn.Linear(width, width, bias=False)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return torch.sigmoid(self.fc(x - self.mean)) * x

class Tree(torch.nn.Module):
    def __init__(self, width=16, depth=3):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Gate(width) for _ in range(depth))
        self.heads = torch.nn.ModuleDict({"a": torch.nn.Linear(width, 4), "b": torch.nn.Linear(width, 2)})
        self.scale = 1.0
        self.names = ("a", "b")

    def forward(self, x):
        for index, block in enumerate(self.blocks):
            x = block(x) * self.scale + index
        return {name: self.heads[name](x).relu() for name in self.names}

def show(module, args, output):
    print("hook", type(module).__name__, tuple(output.shape))
    return output + 1

def summary(outputs):
    return {name: round(value.sum().item(), 3) for name, value in outputs.items()}

torch.manual_seed(0)
model = Tree().eval()
with torch.no_grad():
    for step in range(6):
        x = torch.randn(8, 16)
        if step == 2:
            model.scale = 0.5
        if step == 3:
            handle = model.blocks[1].register_forward_hook(show)
        if step == 4:
            handle.remove()
        if step == 5:
            model.names = ("b",)
        print(step, summary(model(x)), model.blocks[0].count.item(), round(model.blocks[2].mean.sum().item(), 4))
    x = torch.randn(8, 16)
