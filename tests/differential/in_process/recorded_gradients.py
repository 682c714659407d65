"""What torch records for gradients is known for every value: writes that it does not see, ops whose
derivative is not known, and what a program asks of its tensors."""
import torch

torch.manual_seed(0)
a, b = torch.randn(3, 4), torch.randn(3, 4)
leaf = torch.randn(3, 4, requires_grad=True)


def gradients(f, *tensors):
    """What f gives, and the gradient of its sum, three times over: recorded, and twice by what was made."""
    for _ in range(3):
        inputs = [t.clone().requires_grad_() for t in tensors]
        out = f(*inputs)
        out.sum().backward()
        print(f.__name__, out.requires_grad, out.is_leaf, round(float(out.sum().detach()), 4),
              [None if t.grad is None else round(float(t.grad.sum()), 4) for t in inputs])


def write_behind_autograd(x, y):
    h = x * 2 + y
    with torch.no_grad():
        h.mul_(3)
    return h * y


def write_into_detached(x, y):
    h = x * 2 + y
    h.detach().mul_(3)
    return h + x


def store_behind_autograd(x, y):
    h = x * 2
    with torch.no_grad():
        h[0] = y[0]
    return h * y


def store_what_requires_grad(x, y):
    h = torch.zeros(3, 4)
    h[1] = x[1] * y[1]
    h[0] += 1
    return h * 2


def constant_part(x, y):
    with torch.no_grad():
        scale = y * 2
    return x * scale + y.detach()


def without_derivative(x, y):
    z = torch.as_strided(torch.tanh(x * y), x.shape, (1,) * x.dim())
    return z + x


def turned_on_inside(x, y):
    with torch.no_grad():
        h = x * y
        with torch.enable_grad():
            k = x * h
        return_ = k * 1
    return k + return_


for function in (write_behind_autograd, write_into_detached, store_behind_autograd,
                 store_what_requires_grad, constant_part, without_derivative, turned_on_inside):
    gradients(function, a, b)


def leaf_or_not(x):
    return x * 2 if x.is_leaf else x * 3


for x in (leaf, leaf * 1, a, leaf, leaf * 1):
    print("is_leaf", float(leaf_or_not(x).sum().detach()), leaf_or_not(x).requires_grad)


def name_of_node(x):
    y = x * 2
    node = y.grad_fn
    return y + 1, None if node is None else type(node).__name__


for x in (leaf, leaf, a, leaf):
    y, name = name_of_node(x)
    print("grad_fn", name is not None, float(y.sum().detach()), y.requires_grad)


def modes(x):
    outer = torch.is_grad_enabled(), (x * 2).requires_grad
    with torch.no_grad():
        inner = torch.is_grad_enabled(), (x * 2).requires_grad, (x * 2).is_leaf
    return outer, inner, x.detach().requires_grad, x.data.requires_grad


for x in (leaf, a, leaf, a):
    print("modes", modes(x))
    with torch.no_grad():
        print("modes under no_grad", modes(x))
    with torch.inference_mode():
        print("modes under inference_mode", modes(x))


def writes_an_input(h, n):
    """What an input was made of gets its gradients through the write, which torch records: the graphs end around it."""
    y = h * 2
    h.div_(n)
    return (h + y) * 3


for _ in range(3):
    begun = leaf.detach().requires_grad_()
    out = writes_an_input(begun * 2, 4.0)
    out.sum().backward()
    print("an input", float(out.sum().detach()), float(begun.grad.sum()))
