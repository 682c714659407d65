"""Views whose base comes to require gradients behind them: whether they do, and what writing them does."""
import torch

torch.set_grad_enabled(True)


def scaled(view):
    return (view * 3).sum()


class Holds(torch.nn.Module):
    def __init__(self, view):
        super().__init__()
        self.view = view

    def forward(self, x):
        return (self.view * x).sum()


def marked():
    """The same view in every call, of a base that is marked and unmarked."""
    base = torch.zeros(3)
    view, module, x = base[1:], Holds(base[:2]), torch.ones(2)
    for _ in range(10):
        scaled(view), module(x)
    for i in range(6):
        base.requires_grad_(i % 2 == 0)
        print(i, view.requires_grad, scaled(view).requires_grad, module(x).requires_grad)


def written():
    """The base is written with what requires gradients, behind the view."""
    for _ in range(4):
        base, x = torch.zeros(4), torch.ones(4, requires_grad=True)
        view = base[:2]
        before = scaled(view).requires_grad
        base.mul_(2).add_(x)
        result = scaled(view)
        result.backward()
        print(before, result.requires_grad, view.requires_grad, x.grad)


def fill(x):
    both, doubled = torch.zeros(5), x * 2
    first, second = both[1:], both[:2]
    first[..., :] = doubled
    second[..., :] = doubled[:2]  # torch refuses it as long as nobody has asked `second` for its grad_fn
    return both


def fill_and_look(x):
    both, doubled = torch.zeros(5), x * 2
    first, second = both[1:], both[:2]
    first[..., :] = doubled
    name = type(second.grad_fn).__name__
    second[..., :] = doubled[:2]
    return both, name


def refused():
    for _ in range(3):
        x = torch.arange(1.0, 5.0).requires_grad_()
        try:
            print(fill(x))
        except RuntimeError as error:
            print(error)
        both, name = fill_and_look(x)
        both.sum().backward()
        print(name, both, x.grad)
        with torch.no_grad():
            print(fill(x))


marked()
written()
refused()
