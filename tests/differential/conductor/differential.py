"""Leaves conducted frames everywhere and compares what happens with plain evaluation.

Every program of programs.py runs under the harness with an exit after the k-th instruction for every k,
with the error left pending whenever one is raised, with each instruction in a window of its own, and
with random windows; cold and warm (quickened) code. Compared: result or exception with its chain,
traceback entries (name, line, last instruction, current line), the log of side effects, and
sys.exc_info() afterwards. The reference is the same code with the hook installed and idle.
"""

import gc
import sys

import penstock_harness
import programs

MAX_EXIT = 400
WARM_RUNS = 12
RANDOM_SEEDS = range(1, 41)


def describe(error, seen=()):
    """An exception as data: type, text, traceback, context and cause."""
    if error is None or id(error) in seen:
        return None
    entries = []
    trace = error.__traceback__
    while trace is not None:
        entries.append((trace.tb_frame.f_code.co_name, trace.tb_lineno, trace.tb_lasti, trace.tb_frame.f_lineno))
        trace = trace.tb_next
    seen = (*seen, id(error))
    return (type(error).__name__, str(error), entries, error.__suppress_context__,
            describe(error.__context__, seen), describe(error.__cause__, seen))


def observe(namespace, entry):
    log = []
    namespace["log"] = log
    try:
        outcome = ("result", eval(entry, namespace))
    except Exception as error:  # noqa: BLE001
        outcome = ("raised", describe(error))
        error.__traceback__ = None
    return repr((outcome, log, sys.exc_info()))


def load(source):
    namespace = {}
    exec(compile(source, "program", "exec"), namespace)
    return namespace


def warmed(source, entry):
    namespace = load(source)
    for _ in range(WARM_RUNS):
        observe(namespace, entry)
    return namespace


def run_plan(name, plan, warm):
    """The observation under a plan, and how often the plan came into play."""
    source, entry, target = programs.SOURCES[name]
    namespace = warm if warm is not None else load(source)
    before = penstock_harness.counts()
    penstock_harness.select(namespace[target].__code__, **plan)
    try:
        seen = observe(namespace, entry)
    finally:
        penstock_harness.release()
    after = penstock_harness.counts()
    return seen, [b - a for a, b in zip(before, after)]


def plans_for(name):
    """Plans until exits come later than the longest activation."""
    yield {}
    yield {"exit_when_raised": True}
    yield {"windows": True}
    for seed in RANDOM_SEEDS:
        yield {"random_windows": seed}
    for exit_after in range(MAX_EXIT):
        for raised in (False, True):
            yield {"exit_after": exit_after, "exit_when_raised": raised}


def leaks():
    """Blocks allocated must not grow with the number of runs. (Windows keep one copy per set of exits.)"""
    loaded = [(load(source), entry, target) for name, (source, entry, target) in programs.SOURCES.items()
              if name not in ("coroutines", "async_generator", "awaited", "imports")]

    def rotate(runs):
        for run in range(runs):
            namespace, entry, target = loaded[run % len(loaded)]
            plan = {"windows": True} if run % 5 == 0 else {"exit_after": run // len(loaded) % 150,
                                                           "exit_when_raised": run % 2 == 0}
            penstock_harness.select(namespace[target].__code__, **plan)
            observe(namespace, entry)
        penstock_harness.release()
        gc.collect()
        return sys.getallocatedblocks()

    rotate(3000)
    growth = -rotate(1500) + rotate(10000)
    print(f"{growth} blocks more after 10,000 runs")
    return growth < 200


def main():
    passed = failed = exits = windows = 0
    only = sys.argv[1:]
    for name, (source, entry, target) in programs.SOURCES.items():
        if only and name not in only:
            continue
        expected = observe(load(source), entry)
        warm = warmed(source, entry)
        assert observe(warm, entry) == expected, f"{name} does not repeat itself"
        for plan in plans_for(name):
            idle = 0
            for namespace in (None, warm):
                seen, used = run_plan(name, plan, namespace)
                exits += used[0]
                windows += used[2]
                idle += used[0] == 0 and "exit_after" in plan
                if seen == expected:
                    passed += 1
                    continue
                failed += 1
                if failed <= 10:
                    print(f"FAILED {name} {plan} {'warm' if namespace else 'cold'}\n"
                          f"  expected {expected}\n  seen     {seen}")
            if idle == 2:
                break  # no frame lives that long
    print(f"{exits} exits, {windows} windows")
    if leaks():
        passed += 1
    else:
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
