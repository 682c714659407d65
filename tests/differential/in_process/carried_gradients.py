"""Programs that go backward through compiled segments: everything that torch's engine, its hooks and its errors
make of them is as plain Python's."""
import gc
import threading
import weakref

import torch
import torch.nn.functional as F

torch.manual_seed(0)
W = torch.randn(6, 5)
X = torch.randn(4, 6)


def leaf(tensor):
    return tensor.clone().requires_grad_()


def rounded(number):
    return float(f"{number:.4g}") if abs(number) > 1e-5 else 0.0


def show(name, *tensors):
    print(name, [None if t is None else [rounded(float(t.double().sum())), tuple(t.shape), t.requires_grad] for t in tensors])


def raised(name, call):
    try:
        call()
    except RuntimeError as error:
        print(name, str(error).split(":")[0].split(" at ")[0][:60])


def layer(x, w):
    return torch.tanh(x @ w)


def two(x, w, v):
    return torch.sigmoid(x @ w), torch.cos(x * v)


def chained(x, w):
    hidden = torch.tanh(x @ w)
    return hidden, (hidden * hidden).sum()


def views(x, w):
    y = x @ w
    return y.view(-1), y[1], y.t(), y.detach()


def split(x, w):
    return torch.tanh(x @ w).chunk(2, 1)


def branches(x, w, scale):
    y = x @ w
    if scale > 1:
        print("a break")
        y = y * scale
    return F.gelu(y).mean()


def constants(x, w):
    with torch.no_grad():
        center = (x @ w).mean()
    return (x @ w - center) * w.detach().sum(), center


def floors(x, w):
    return torch.floor(x @ w) + x[:, :1]


def written(x, w, buffer):
    y = x @ w
    buffer.mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
    return y * buffer.detach().clone()


def gated(x, w, buffer):
    y = torch.tanh(x @ w) * (buffer * 2)
    buffer.mul_(3)
    return y


def normed(x, w, mean, variance):
    return torch.tanh(F.batch_norm(x @ w, mean, variance, training=True))


def in_place(x, w):
    y = x @ w
    y.add_(1)
    y[0] = 1.0
    return y * 2


def scores(x, w):
    return torch.log(torch.cosh(x @ w) + 1)


def centered(x, w, center):
    return torch.relu(x @ w - center) * 2 + x[:, :5] * center.sum()


def exponent(x, w):
    return torch.exp(x @ w)


def dropped(x, w):
    return F.dropout(x @ w, 0.5).sum()


def index(table, at):
    return F.embedding(at, table).sum(1)


def half(x, w):
    return F.relu(x.bfloat16() @ w.bfloat16()).float().sum()


def several(times, step):
    for _ in range(times):
        step()


def plain_uses():
    x, w = leaf(X), leaf(W)
    layer(x, w).sum().backward()
    show("layer", x.grad, w.grad)
    layer(x.detach(), w).sum().backward()  # accumulates
    show("accumulated", x.grad, w.grad)
    a, b = two(leaf(X), w, leaf(X))
    a.sum().backward()
    x, v = leaf(X), leaf(X)
    a, b = two(x, w, v)
    b.sum().backward()
    show("one of two", x.grad, v.grad, w.grad)
    w = leaf(W)
    a, b = two(X, w, v)
    b.sum().backward()
    show("not reached", w.grad, v.grad)
    x, w = leaf(X), leaf(W)
    hidden, loss = chained(x, w)
    hidden.retain_grad()
    loss.backward()
    show("chained", hidden.grad, x.grad, w.grad)
    hidden, loss = chained(x, w)
    show("between", *torch.autograd.grad(loss, [hidden, w]))
    x, w = leaf(X), leaf(W)
    outs = views(x, w)
    print("views", [(o.requires_grad, o.is_leaf, o._base is not None, o.shape) for o in outs])
    (outs[0].sum() + outs[1].sum() * 2 + outs[2].sum() * 3).backward()
    show("views", x.grad, w.grad)
    first, second = split(leaf(X), w)
    second.sum().backward()
    show("split", w.grad)
    for scale in (0.5, 2.0):
        w = leaf(W)
        branches(X, w, scale).backward()
        show("branches", w.grad)
    w = leaf(W)
    out, center = constants(X, w)
    out.sum().backward()
    show("constants", w.grad, center)
    w, x = leaf(W), leaf(X)
    floors(x, w).sum().backward()
    show("floors", w.grad, x.grad)
    w, buffer = leaf(W), torch.zeros(5)
    written(X, w, buffer).sum().backward()
    show("written", w.grad, buffer)
    w = leaf(W)
    in_place(X, w).sum().backward()
    show("in place", w.grad)
    torch.manual_seed(3)
    w = leaf(W)
    dropped(X, w).backward()
    show("dropped", w.grad, torch.rand(3))
    w = leaf(W)
    index(w, torch.tensor([[0, 2], [2, 5]])).sum().backward()
    show("index", w.grad)
    w = leaf(W)
    half(X, w).backward()
    show("half", w.grad)


def engine_uses():
    w = leaf(W)
    y = layer(X, w)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    show("retained", w.grad)
    raised("twice", lambda: y.sum().backward())
    w = leaf(W)
    y = exponent(X, w)
    y.add_(1)
    raised("output written", lambda: y.sum().backward())
    w, x, center = leaf(W), leaf(X), torch.ones(5)
    y = centered(x, w, center)
    center.mul_(3)  # torch keeps its sum, not itself
    y.sum().backward()
    show("centered", x.grad, w.grad)
    w = leaf(W)
    grads = torch.autograd.grad(constants(X, w)[0].square().sum(), [w], create_graph=True)
    grads[0].sum().backward()
    show("constants twice", w.grad)
    w = leaf(W)
    out = scores(X, w)
    out.div_(2)  # nor what comes out of a product
    out.sum().backward()
    show("scores", w.grad)
    w = leaf(W)
    y = layer(X, w)
    with torch.no_grad():
        w.mul_(2)
    x = leaf(X)
    y = layer(x, w)
    with torch.no_grad():
        w.mul_(0.5)
    raised("input written", lambda: y.sum().backward())
    w, x = leaf(W), leaf(X)
    grads = torch.autograd.grad(layer(x, w).sum(), [x, w], create_graph=True)
    show("created", *grads)
    (grads[0].square().sum() + grads[1].sum()).backward()
    show("twice differentiated", x.grad, w.grad)
    w = leaf(W)
    y = layer(X, w)
    seen = []
    y.register_hook(lambda g: seen.append(round(float(g.sum()), 4)))
    handle = w.register_hook(lambda g: g * 2)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(round(float(p.grad.sum()), 4)))
    y.sum().backward()
    handle.remove()
    show("hooked", w.grad)
    print(seen)
    unused = leaf(X)
    print("unused", torch.autograd.grad(layer(X, leaf(W)).sum(), [unused], allow_unused=True))
    show("odd tangents", *torch.autograd.grad(layer(X, w), [w], torch.ones(4, 1).expand(4, 5)))
    show("odd tangents", *torch.autograd.grad(layer(X, w), [w], torch.randn(5, 4).t().abs() * 0 + 1))
    show("zero tangents", *torch.autograd.grad(layer(X, w), [w], torch.zeros(4, 5)))
    jacobian = torch.autograd.functional.jacobian(lambda t: layer(X, t).sum(0), W)
    show("jacobian", jacobian)
    show("hessian", torch.autograd.functional.hessian(lambda t: layer(X, t).sum(), W[:, :1].clone()))
    show("batched", *torch.autograd.grad(layer(X, w), [w], torch.ones(3, 4, 5), is_grads_batched=True))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = layer(X, w)
    show("saved hooks", *torch.autograd.grad(y.sum(), [w]))
    with torch.autograd.detect_anomaly(check_nan=False):
        show("anomaly", *torch.autograd.grad(layer(X, w).sum(), [w]))
    w = leaf(W)
    out = torch.utils.checkpoint.checkpoint(layer, X, w, use_reentrant=False)
    out.sum().backward()
    show("checkpoint", w.grad)
    y = layer(X, w)
    thread = threading.Thread(target=lambda: y.sum().backward())
    thread.start()
    thread.join()
    show("thread", w.grad)


def names():
    w = leaf(W)
    y, shown = layer(X, w), scores(X, w)
    loss = (y ** 2).sum()
    print(loss.shape, type(loss.grad_fn).__name__, y.grad_fn.name(), str(shown).split("=")[-1])
    hidden, total = chained(X, w)
    print(hidden.grad_fn.name(), total.grad_fn.name())
    shown = floors(X, w)
    print(shown.grad_fn.name(), repr(y.sum())[-30:])


def lifetimes():
    w = leaf(W)
    x = X.clone()
    alive = weakref.ref(x)
    y = layer(x, w)
    del x
    gc.collect()
    y.sum().backward()
    del y
    gc.collect()
    print("let go", alive() is None)
    y = layer(X.clone(), w)
    again = layer(y @ W.t(), w)
    del y
    again.sum().backward()
    show("through", w.grad)


import warnings

warnings.filterwarnings("ignore")
several(4, plain_uses)
several(4, engine_uses)
several(4, names)
several(4, lifetimes)
# Calls that torch records by itself, with other tensors, between calls of one entry.
for turn in range(8):
    w, x = leaf(W), torch.randn(4 + turn % 2, X.shape[1])
    layer(x, w).sum().backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        other = layer(torch.randn(x.shape), leaf(W * 2)).sum()
    layer(x, w).sum().backward()
    other.backward()
    show("between", w.grad)
# A module is no root: what `gated` writes comes from outside of its segment.
for _ in range(8):
    w, buffer = leaf(W), torch.ones(5)
    grads = torch.autograd.grad(gated(X, w, buffer).sum(), [w], create_graph=True)
    grads[0].sum().backward()
    show("written before twice", w.grad, buffer)
# Running statistics move on once, however often the gradients are made.
mean, variance = torch.zeros(5), torch.ones(5)
for _ in range(8):
    w = leaf(W)
    grads = torch.autograd.grad(normed(X, w, mean, variance).square().sum(), [w], create_graph=True)
    grads[0].square().sum().backward()
    show("statistics twice", w.grad, mean, variance)
