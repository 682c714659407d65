"""Branches on tensors: what a program can see of its locals on either side of them."""

import signal
import sys
import threading
import traceback
import weakref

import torch


def ladder(x):
    if x.sum() > 10:
        x = x - 3
        side = "big"
    elif (x > 0).all():
        x = x * 2
        side = "positive"
    elif not (x == 0).any():
        x = -x
        side = "negative"
    else:
        side = "zero"
    return x + 1, side


def climb(x, limit):
    steps = 0
    while x.sum() < limit:
        previous = x
        x = x * 2 + 1
        steps += 1
        if x.max() > 50:
            x = x - 40
            continue
        if (x - previous).max() > 20:
            break
    return x, steps


def nested(x, y):
    negative = x.sum() < 0
    both = y
    if negative:
        small = y.sum() < 0
        if small:
            both = x + y
        x = x.abs()
    both = both * 2
    return x, both, negative


def aliases(x):
    y = x = x + 1
    z = y
    if y.mean() > 2:
        y.mul_(10)
    return x, y, z, x is y, y is z


def writes(x, into):
    x = x + 1
    if x.sum() > 4:
        into.add_(x)
        x += 1
    else:
        into.sub_(x)
    versions = [t._version for t in (x, into)] if not torch.is_inference_mode_enabled() else []
    return x, into, versions


def deletes(x):
    t = x * 2
    u = t + 1
    if u.sum() > 8:
        del t
        t = "gone"
    else:
        del u
    return sorted(name for name in locals()), t if isinstance(t, str) else t.tolist()


def looks(x):
    before = x * 3
    if before.sum() > 20:
        x = x - 1
    seen = {name: tuple(value.shape) for name, value in sys._getframe().f_locals.items() if torch.is_tensor(value)}
    after = before + x
    return after, sorted(seen.items())


def fails(x, y):
    sign = x.sum() < 0
    shifted = x + 1
    if sign:
        shifted = shifted * 2
    return shifted @ y


def watched(x, log):
    kept = x + 1
    mark = weakref.ref(kept, lambda _: log.append("freed"))
    if kept.sum() > 6:
        kept = kept * 2
    log.append(mark() is None)
    return kept


def numbers(x):
    total = x.sum()
    if total:
        x = x / total
    if (x > 0).sum():
        x = x + 1
    return x


def closes(x, fns):
    scale = x.max()
    if scale > 2:
        fns.append(lambda: scale)
        x = x / scale
    scale = scale + 1
    return x


def effects(x, log, box):
    log.append("start")
    if x.sum() > 4:
        box["last"] = x
        log.append("big")
        x = x - 1
    box["count"] = box.get("count", 0) + 1
    if x.sum() > 2:
        log.append("still")
    return x


def tries(x):
    out = []
    for i in range(3):
        try:
            if x.sum() > i * 4:
                x = x - 1
                if x.min() < 0:
                    raise ValueError(f"below zero at {i}")
            out.append(float(x[0]))
        except ValueError as error:
            out.append(str(error))
        finally:
            x = x + 0.5
    return x, out


def loops(xs):
    kept = []
    for i, x in enumerate(xs):
        if x.sum() < 0:
            continue
        if (x > 5).any():
            kept.append((i, x * 2))
        else:
            kept.append((i, x + 1))
    return [(i, x.tolist()) for i, x in kept]


def items(i):
    yield i
    while i.sum() < 20:
        i = i * 2
        if i.max() > 6:
            yield i


def endless(x):
    rounds = 0
    while x.sum() > -1:
        x = x * 0.5
        rounds += 1
    return rounds


def fills(x, done, table, names):
    done.append(x + 1)
    done.extend([x, x])
    table["own"] = x
    names.add("own")
    y = x * (len(done) + 2 * len(table) + 3 * len(names))
    if table and names and done:
        y = y + done[0] + done[-3]
    last = done.pop()
    return y + last + len(done)


def pairs(x):
    """The first pair is one element twice, the others are not."""
    return [a + b for a in x for b in x if a != b], [a * b for a in x for b in x if (a == b).item()]


def turned(x):
    y = x.flip(0)
    return y, torch.stack([x, y]).flip(0, 1).t()


def seen_twice(a, b):
    return a == b, a - b


class Alarm(Exception):
    pass


def ring(*_):
    raise Alarm


def values(*tensors):
    return [t.tolist() if torch.is_tensor(t) else t for t in tensors]


def samples():
    return [torch.tensor(v) for v in ([1.0, 2, 3], [8.0, 9, 1], [-1.0, -2, -3], [0.0, 1, -1], [0.5, 0.25, 0.25])]


def run():
    for x in samples() * 3:
        print("ladder", values(*ladder(x)))
        print("climb", values(*climb(x.abs() + 0.1, 100)), values(*climb(x.abs() + 2, 30)))
        print("nested", values(*nested(x, x - 2)), values(*nested(x, -x)))
        print("aliases", values(*aliases(x)))
        print("writes", values(*writes(x, torch.ones(3))))
        print("deletes", deletes(x))
        print("looks", values(*looks(x)))
        print("numbers", values(numbers(x)))
        print("tries", values(*tries(x)))
        log, box, fns = [], {}, []
        print("watched", values(watched(x, log)), log)
        print("effects", values(effects(x, log, box)), log, values(*box.values()))
        print("closes", values(closes(x, fns)), values(*[fn() for fn in fns]))
        print("items", [values(i) for i in items(x.abs() + 1)])
        print("pairs", *[values(*each) for each in pairs(x)])
        print("turned", values(*turned(x)), turned(x)[1].stride())
        print("seen twice", values(*seen_twice(x, x[:])), values(*seen_twice(x, x[:] + 1)))
        for size in range(3):
            done, table, names = [x] * size, dict.fromkeys(range(size), x), {*range(size), *["own"] * (size % 2)}
            print("fills", values(fills(x, done, table, names)), len(done), len(table), len(names))
    print("loops", [loops(samples()) for _ in range(4)][-1])
    for x in samples() * 2:
        try:
            fails(x, torch.ones(2))
        except RuntimeError:
            error = sys.exc_info()[2]
            while error.tb_next is not None:
                error = error.tb_next
            seen = error.tb_frame.f_locals
            print("fails", error.tb_lineno, values(seen["sign"], seen["shifted"]))
            print(traceback.format_exc().splitlines()[-2])


def interrupts():
    endless(torch.tensor([-5.0]))
    for _ in range(3):
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            endless(torch.ones(3))
        except Alarm:
            print("interrupted")
    box = []
    thread = threading.Thread(target=lambda: box.append(climb(torch.ones(3), 100)[1]))
    thread.start()
    thread.join()
    print("thread", box)


def patched():
    own = torch.Tensor.__bool__
    asked = []
    torch.Tensor.__bool__ = lambda self: asked.append(1) or not own(self)
    try:
        print("patched", values(*ladder(torch.tensor([1.0, 2, 3]))), len(asked))
    finally:
        torch.Tensor.__bool__ = own
    print("restored", values(*ladder(torch.tensor([1.0, 2, 3]))))


def traced():
    lines = []

    def trace(frame, event, _):
        if frame.f_code is nested.__code__:
            lines.append((event, frame.f_lineno - frame.f_code.co_firstlineno, len(frame.f_locals)))
        return trace
    sys.settrace(trace)
    nested(torch.tensor([-1.0, -2]), torch.tensor([1.0, 2]))
    sys.settrace(None)
    print("traced", lines)


with torch.no_grad():
    run()
    interrupts()
    patched()
    traced()
with torch.inference_mode():
    run()
run()
