"""Control flow whose conditions mix tensors and Python data; with, finally and return across breaks."""
import contextlib
import torch


@contextlib.contextmanager
def scaled(box, by):
    old = box["scale"]
    box["scale"] = old * by
    try:
        yield box
    except ArithmeticError as error:
        box["error"] = str(error)
    finally:
        box["scale"] = old


def uses(x, box):
    with scaled(box, 2), torch.no_grad():
        y = x * box["scale"]
        if y.sum() > 6:
            raise ArithmeticError(f"sum {y.sum():.1f}")
        box["y"] = y
    return box.get("error"), box["scale"], torch.is_grad_enabled()


for v in (1.0, 2.0, 0.5, 3.0):
    print(uses(torch.ones(2) * v, {"scale": 1.5}))


def returns_from_finally(x):
    for i in range(3):
        try:
            if (x + i).sum() > 4:
                return "try", x + i
        finally:
            if i == 1:
                return "finally", x - i
    return "end", x


for v in (0.0, 1.0, 5.0):
    print(returns_from_finally(torch.ones(2) * v))


def stack(x):
    with contextlib.ExitStack() as stack:
        log = []
        for i in range(3):
            stack.callback(lambda i=i: log.append(i))
            x = x * 2
            if x.sum() > 10:
                stack.pop_all().close()
                break
        y = x + len(log)
    return y, log


for _ in range(2):
    print(stack(torch.ones(2)), stack(torch.ones(1)))


def matches(command, x):
    match command:
        case ["add", n] if x.sum() > 0:
            return x + n
        case ["add", n]:
            return x - n
        case {"op": "mul", "by": by, **rest}:
            return x * by, rest
        case (a, b) | [a, b, _]:
            return x, a, b
        case None:
            return x.neg()
        case torch.Tensor() as t:
            return t @ x
        case _:
            return "?"


for _ in range(2):
    for command in (["add", 2], {"op": "mul", "by": 3, "k": 1}, ("p", "q"), [1, 2, 3], None, torch.ones(2), 7):
        print(matches(command, torch.ones(2)), matches(command, -torch.ones(2)))


def walrus(xs):
    out = []
    while (n := len(xs)) and (y := xs.pop() * n).sum() < 30:
        out.append(y)
    return out, n, any((z := x).sum() > 3 for x in out), z


for _ in range(2):
    print(walrus([torch.ones(2) * i for i in (40, 5, 2, 1)]))


def formatted(x, i):
    return f"{i:>3}|{x.sum():.2f}|{x.shape}|{x.mean().item():8.3f}|{x!r}"


print(formatted(torch.ones(2), 1), formatted(torch.ones(2), 2))


def asserts(x, n):
    assert x.dim() == 1, "one dim"
    assert (x > 0).all(), f"positive, not {x.min().item()}"
    assert len(x) == n, (len(x), n)
    return x.sqrt()


for x, n in ((torch.ones(2), 2), (-torch.ones(2), 2), (torch.ones(2), 3), (torch.ones(1, 1), 1)):
    try:
        print(asserts(x, n))
    except AssertionError as error:
        print(repr(error))


def chained(a, b, c):
    return (a < b.sum() < c), not (a and b.any()), (b if b.numel() > 1 else a) is b


print(chained(1, torch.ones(2), 3), chained(1, torch.ones(2), 2), chained(3, torch.zeros(1), 5))


def star(*xs, first=None, **named):
    y = sum(xs) if first is None else first
    return y + sum(named.values()), sorted(named)


def calls_star(x):
    args, named = [x, x + 1], {"p": x, "q": x * 2}
    if x.sum() > 1:
        args = args[::-1]
        named["first"] = x
    return star(*args, **named), star(*args, x, r=x)


for v in (0.1, 1.0):
    print(calls_star(torch.ones(2) * v))
