"""Loops in which entries run, and what can be seen of them: tracebacks, lines, names, tracers, signals, generators."""
import contextlib
import gc
import io
import pdb
import signal
import sys
import threading
import traceback
import weakref

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
values, weight = torch.rand(40, 40), torch.rand(40, 40) / 40


def fails(number, at):
    if number == at:
        raise ValueError(number)
    return number


def hot(x):
    return torch.tanh(x @ weight) + x * 0.5


def told(text):
    return [line.strip() for line in text.splitlines() if "File" in line or "Error" in line]


# A traceback out of a hot loop, and what its frame holds.
def raises():
    x = values
    for step in range(1500):
        x = hot(x).sin()
        fails(step, 1400)
    return x


try:
    raises()
except ValueError:
    print(told(traceback.format_exc()))
    frame = sys.exc_info()[2].tb_next.tb_frame
    print(sorted(frame.f_locals), frame.f_locals["step"], frame.f_lineno, f"{frame.f_locals['x'].sum():.4g}")
    del frame

# The same in the module, nested, with a `finally`, a `with` and an `else`.
ends = []
x = values
try:
    for epoch in range(3):
        for step in range(700):
            try:
                x = hot(x).cos()
                if step % 100 == 7:
                    continue
                fails(step + epoch * 1000, 2600)
            finally:
                ends.append(step)
        else:
            print("else", epoch, step, len(ends))
except ValueError:
    print(told(traceback.format_exc()), len(ends), f"{x.sum():.4g}")


# Lines that a callee sees, names that it reads and writes.
def line():
    return sys._getframe(1).f_lineno


def reads():
    caller = sys._getframe(1)
    return sum(isinstance(value, torch.Tensor) for value in caller.f_locals.values()), "x" in caller.f_locals


lines, found = set(), set()
x = values
for step in range(1200):
    x = hot(x)
    lines.add(line())
    y = x * 2
    lines.add(
        line()
    )
    if step % 100 == 0:
        found.add(reads())
        globals()["x"] = values * (step % 3)
print(sorted(lines), found, f"{x.sum():.4g} {y.sum():.4g}")


# A tracer that is set in the middle, and taken away.
def traced():
    seen, x = [], values
    for step in range(1500):
        x = hot(x).exp().clamp(max=1)
        if step == 1000:
            sys.settrace(lambda frame, event, argument: seen.append((event, frame.f_code.co_name)) or None)
            sys._getframe().f_trace = lambda frame, event, argument: seen.append((event, frame.f_lineno))
        if step == 1002:
            sys.settrace(None)
            break
    return seen[:6], len(seen) > 10, step, f"{x.sum():.4g}"


print(traced())


# A debugger.
def debugged():
    x = values
    for step in range(1300):
        x = hot(x) - 0.1
        if step == 1200:
            pdb.Pdb(stdin=io.StringIO("p step\nn\nn\np step, float(x.sum()) > 0\nc\n"), stdout=text, nosigint=True, readrc=False).set_trace()
    return step


text = io.StringIO()
print(debugged(), [line for line in text.getvalue().splitlines() if line.startswith("(Pdb)")])

# A signal's handler that raises. Where another thread gets the signal the main one waits for the next.
signal.signal(signal.SIGALRM, lambda *_: fails(1, 1))
x, turns = values, 0
try:
    while True:
        x = hot(x) * 0.9
        turns += 1
        if turns == 1500:
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.2)
except ValueError as error:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("interrupted", error, turns > 1500)


# What is let go of in each turn, and what a loop keeps.
class Kept:
    def __init__(self, tensor):
        self.tensor = tensor

    def __del__(self):
        freed.append(1)


freed, kept = [], None
x = values
for step in range(1000):
    kept = Kept(hot(x))
    x = kept.tensor * 0.7 + values * 0.1
    if step % 250 == 0:
        print(step, len(freed))
watched = weakref.ref(x)
del kept, x
gc.collect()
print(len(freed), watched() is None)


# A loop in a generator, one in a class's body, and one in code that is executed.
def generator():
    x = values
    for step in range(900):
        x = hot(x)
        yield x


print(f"{sum(part.sum().item() for part in generator()):.4g}")


class Body:
    x = values
    for step in range(900):
        x = hot(x) * 0.9


print(f"{Body.x.sum():.4g}", Body.step)
names = {"hot": hot, "x": values}
exec("for step in range(900): x = hot(x) * 0.8", names)
print(f"{names['x'].sum():.4g}", names["step"])

# Loops of several threads in one code.
results = {}


def work(name):
    x = values * name
    for step in range(800):
        x = hot(x) * 0.8 + 0.1
    results[name] = f"{x.sum():.4g}"


threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))

# Names that come and go, and one that is a builtin's.
x = values
for step in range(1500):
    x = hot(x) * 0.9
    if step == 1200:
        abs = lambda tensor: tensor * 0
    if step == 1300:
        del abs
    x = x + abs(values) * 0.01
    if step > 1400:
        del step
        break
print("step" in globals(), f"{x.sum():.4g}")

# What is printed in turns comes in order.
x = values
for step in range(1200):
    x = hot(x) * 0.9 + 0.01
    if step % 300 == 299:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            print("inside", step)
        print(step, text.getvalue().strip(), f"{x.mean().item():.4f}")
