"""Arguments that are cells, of every kind, in frames of every kind, left in every way.

The functions are generated: a parameter of each kind is read (and where `writes` written) by an inner function and so
lies in a cell; the frame is a function, a generator, a context manager, a coroutine or an asynchronous generator; it
ends by returning, raising, closing, a thrown exception, or is let go of; with a graph break inside or without.
"""
import contextlib
import itertools

import torch

HEAD = {"self": "self, x", "positional": "x, p=2.0", "args": "x, *args", "keyword": "x, *, k=2.0", "kwargs": "x, **kwargs",
        "all": "x, p=2.0, *args, k=3.0, **kwargs"}
CALL = {"self": "OWNER, x", "positional": "x, 3.0", "args": "x, x * 2, 7", "keyword": "x, k=4.0", "kwargs": "x, a=x, b=5",
        "all": "x, 4.0, x, 6, k=5.0, a=x, b=7"}
READ = {"self": "self.scale", "positional": "p", "args": "args[1] + len(args)", "keyword": "k",
        "kwargs": "kwargs['b'] + len(kwargs)", "all": "p + args[1] + k + kwargs['b'] + len(kwargs)"}
WRITE = {"self": "self = self", "positional": "p = p + 1", "args": "args = args + (1,)", "keyword": "k = k + 1",
         "kwargs": "kwargs = {**kwargs, 'c': 1}", "all": "p = p + 1; args = args + (1,); kwargs = {**kwargs, 'c': 1}"}
NAMES = {"self": "self", "positional": "p", "args": "args", "keyword": "k", "kwargs": "kwargs", "all": "p, args, k, kwargs"}
KINDS = ("function", "generator", "manager", "coroutine", "asynchronous")
ENDS = ("returns", "raises", "stops early", "closed", "thrown into", "let go of")


class Owner:
    scale = 3.0


OWNER = Owner()
log = []


def body(kind, parameter, end, breaks, writes):
    """The source of one function, and of the one that calls it."""
    yields = kind in ("generator", "manager", "asynchronous")
    lines = [f"{'async ' if kind in ('coroutine', 'asynchronous') else ''}def inner({HEAD[parameter]}):",
             f"    read = lambda: {READ[parameter]}"]
    if writes:
        lines += ["    def write():", f"        nonlocal {NAMES[parameter]}", f"        {WRITE[parameter]}", "    write()"]
    lines.append("    y = x * read() + x")
    if breaks:
        lines.append("    log.append(round(float(y.sum()), 3))")
    if end == "stops early" and yields:
        lines += ["    if len(log) >= 0:", "        yield y + read()", "        return", "    yield y"]
    elif yields:
        lines += ["    try:", "        yield y + read()", "        y = y * read()", *(["        yield y"] if kind != "manager" else []),
                  "    except ValueError:", "        log.append(('caught', read()))", *(["        yield y * 3"] if kind != "manager" else []),
                  "    finally:", "        log.append(('left', read()))"]
    elif end == "raises":
        lines += ["    if len(log) >= 0:", "        raise ValueError(read())", "    return y"]
    else:
        lines.append("    return (y * read(), read)" if end == "returns" else "    return y + read()")
    if kind == "manager":
        lines[0] = "@contextlib.contextmanager\n" + lines[0]
    lines += ["def outer(x):", f"    before = x + 1", f"    made = inner({CALL[parameter]})", *use(kind, end)]
    return "\n".join(lines)


def use(kind, end):
    if kind == "function" and end == "raises":
        return []
    if kind == "function":
        return ["    if isinstance(made, tuple):", "        return before + made[0] + made[1]()", "    return before + made"]
    if kind == "coroutine":
        drop = ["    made.close()", "    return before"] if end in ("closed", "let go of") else []
        return drop or ["    try:", "        made.send(None)", "    except StopIteration as stop:",
                        "        value = stop.value", "    return before + (value[0] if isinstance(value, tuple) else value)"]
    if kind == "manager":
        inside = {"raises": "        raise KeyError('inside')", "thrown into": "        raise ValueError('inside')",
                  "closed": "        return before * y"}.get(end, "        before = before + y")
        return ["    with made as y:", inside, "    return before"]
    step = "next(made)" if kind == "generator" else "step(made.__anext__())"
    close = "made.close()" if kind == "generator" else "step(made.aclose())"
    throw = "made.throw(ValueError())" if kind == "generator" else "step(made.athrow(ValueError()))"
    if end == "closed":
        return [f"    y = {step}", f"    {close}", "    return before + y"]
    if end == "thrown into":
        return [f"    y = {step}", f"    z = {throw}", "    return before + y + z"]
    if end == "let go of" and kind == "generator":
        return [f"    y = {step}", "    made = None", "    return before * len(log) + y"]
    if kind == "generator":
        return ["    for y in made:", "        before = before + y", "    return before"]
    return ["    while True:", "        try:", "            before = before + step(made.__anext__())",
            "        except StopAsyncIteration:", "            return before"]


def step(awaitable):
    """Runs an awaitable that waits for nothing."""
    try:
        awaitable.send(None)
    except StopIteration as stop:
        return stop.value


def run(case):
    kind, parameter, end, breaks, writes = case
    exec(compile(body(*case), f"<{kind} {parameter} {end}>", "exec"), globals())
    for turn in range(5):
        log.clear()
        try:
            result = outer(torch.ones(3) * (turn + 1)).tolist()
        except (ValueError, KeyError) as error:
            result = repr(error)
        print(*case, turn, result, log)


for case in itertools.product(KINDS, HEAD, ENDS, (False, True), (False, True)):
    run(case)


# What peft's LoRA does: a keyword argument that is a cell, and a return after the first yield.
@contextlib.contextmanager
def hooks(*args, **kwargs):
    if kwargs.pop("a", None) is None:
        yield
        return
    f = lambda: kwargs
    yield f


def forward(x, **kwargs):
    with hooks(x, **kwargs):
        return x + 1


for i in range(4):
    print(forward(torch.ones(3)))
