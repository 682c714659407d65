"""What was prepared of weights and statistics follows them: written through `.data` and NumPy, replaced,
gone and others in their place, updated by batch normalisation (which torch counts in no version)."""
import gc

import torch
from torch import nn


def show(*models):
    with torch.no_grad():
        print(*[f"{model(x).sum():.2f}" for model, x in models])


def dense():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, 2)), torch.randn(8, 192) + 1


def image():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    return model.eval(), torch.randn(2, 3, 6, 6) + 1


def statistics():
    m, x = dense()
    m.insert(1, nn.BatchNorm1d(192))
    c, y = image()
    for _ in range(3):
        m.eval(), c.eval()
        for _ in range(2):
            show((m, x), (c, y))
        m.train(), c.train()
        show((m, x), (c, y))


def through_data():
    (m, x), (c, y) = dense(), image()

    def twice():
        for _ in range(2):
            show((m, x), (c, y))

    twice()
    for p in [*m.parameters(), *c.parameters()]:
        p.data.mul_(0.5)
    twice()
    kept = m[0].weight.data
    twice()
    kept += 0.25
    twice()
    part = m[0].weight.data.view(-1)[:1000]
    del kept
    part.zero_()
    twice()
    del part
    twice()
    for p in m.parameters():
        p.data = p.data * 2
    twice()
    for p in m.parameters():
        p.data = p.data * 2
    twice()
    for p in m.parameters():
        with torch.no_grad():
            p.set_(p * 0.5)
    twice()


def through_numpy():
    (m, x), (c, y) = dense(), image()
    show((m, x), (c, y))
    weight, mean = m[0].weight.detach().numpy(), c[1].running_mean.numpy()
    for _ in range(3):
        weight *= 0.5
        mean += 0.125
        show((m, x), (c, y))
    del weight
    show((m, x), (c, y))
    c[1].reset_running_stats()
    m[0].weight.detach()[3:].zero_()
    show((m, x), (c, y))


def by_kernels_that_count_nothing():
    """torch's kernels for whole optimizers write without a word in any version."""
    (m, x), (c, y) = dense(), image()
    parameters = [*m.parameters(), *c.parameters()]
    for make in (torch.optim.AdamW, torch.optim.Adam, torch.optim.Adagrad):
        optimizer = make(parameters, lr=0.05, fused=True)
        for step in range(3):
            show((m, x), (c, y))
            for parameter in parameters:
                parameter.grad = torch.ones_like(parameter) * (step - 0.5)
            optimizer.step()
            show((m, x), (c, y))
    # Asked for or not: what has saved a weight hears that it was written.
    loss = (torch.tanh(m(x)) ** 2).sum()
    torch.optim.SGD(parameters, lr=0.1, momentum=0.9).step()
    optimizer = torch.optim.AdamW(parameters)
    optimizer.step()
    try:
        loss.backward()
    except RuntimeError as error:
        print(str(error)[:90])


@torch.no_grad()
def doubled(weight):
    """What is compiled calls no getter of torch's: that a graph wrote uncounted is said by who runs it."""
    weight.detach().data.mul_(2)


def by_graphs_that_count_nothing():
    for rows in (1, 8, 64):
        model, x = nn.Sequential(nn.Linear(256, 256), nn.ReLU()).eval(), torch.ones(rows, 256)
        with torch.no_grad():
            model[0].weight.fill_(0.25), model[0].bias.zero_()
        for _ in range(3):
            show((model, x))
        for _ in range(5):
            doubled(model[0].weight)
            show((model, x))


def others_in_their_place():
    x = torch.ones(4, 16, 8, 8)
    for seed in range(6):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Conv2d(16, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 36, 10))
        show((model, x))
        show((model, x))
        del model
        gc.collect()


def main():
    statistics()
    through_data()
    through_numpy()
    by_kernels_that_count_nothing()
    by_graphs_that_count_nothing()
    others_in_their_place()


if __name__ == "__main__":
    main()
