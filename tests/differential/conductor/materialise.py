"""Makes inlined frames real at every place and compares with plain evaluation.

Frames: each call of `f` in inlined.py is rehearsed for k instructions, abandoned, and performed with its
frames' states put in place, for every k; left to the evaluator or conducted on. Generators: a suspended
generator's state is moved into a fresh one after every action of random scripts. Compared: result,
exception text and traceback lines, log, frame chains, sys.exc_info(), generator state.
"""

import gc
import inspect
import random
import sys

import inlined
import penstock_harness

MAX_AFTER = 140


def observe(function):
    log = []
    try:
        outcome = ("result", function(log))
    except Exception as error:  # noqa: BLE001
        trace, lines = error.__traceback__.tb_next, []
        while trace is not None:
            lines.append((trace.tb_frame.f_code.co_name, trace.tb_lineno, trace.tb_lasti))
            trace = trace.tb_next
        outcome = (repr(error), repr(error.__context__), lines)
    return repr((outcome, log, sys.exc_info()))


def frames():
    passed = failed = 0
    for name, source in inlined.SOURCES.items():
        for warm in (False, True):
            for conduct_on in (False, True):
                for after in range(MAX_AFTER):
                    namespace = {}
                    exec(compile(source, name, "exec"), namespace)
                    function = namespace["f"]
                    expected = observe(function)
                    for _ in range(10 if warm else 0):
                        observe(function)
                    penstock_harness.materialise(function.__code__, after, conduct_on)
                    seen = observe(function)
                    penstock_harness.release()
                    if seen == expected:
                        passed += 1
                    else:
                        failed += 1
                        if failed < 6:
                            print(f"FAILED {name} after {after} conducted {conduct_on}\n  expected {expected}\n"
                                  f"  seen     {seen}")
    real, unclaimed = penstock_harness.materialised()
    print(f"{real} frames made real, {unclaimed} states unclaimed")
    return passed, failed + unclaimed + (real == 0)


def leaks():
    """Blocks allocated must not grow with the number of runs."""
    namespaces = []
    for name, source in inlined.SOURCES.items():
        namespace = {}
        exec(compile(source, name, "exec"), namespace)
        namespaces.append(namespace["f"])

    def rotate(runs):
        for run in range(runs):
            function = namespaces[run % len(namespaces)]
            penstock_harness.materialise(function.__code__, run // 8 % 60, run % 3 == 0)
            observe(function)
        penstock_harness.release()
        gc.collect()
        return sys.getallocatedblocks()

    rotate(2000)
    growth = -rotate(2000) + rotate(20000)
    print(f"{growth} blocks more after 20,000 runs")
    return (1, 0) if growth < 200 else (0, 1)


def delegate(log, n):
    try:
        for i in range(n):
            log.append((yield ("d", i)))
    except KeyError as error:
        log.append(repr(error))
        yield repr(sys.exc_info()[1])
    return n


def worker(log, *values, scale=1):
    held = []

    def keep(value):
        held.append(value)
        return value * scale

    try:
        for value in values:
            log.append((yield keep(value)))
        log.append((yield from delegate(log, 2)))
    except ValueError as error:
        log.append(repr(error))
        log.append((yield "handling"))
        log.append(repr(sys.exc_info()[1]))
    finally:
        log.append(("closing", tuple(held)))
    return len(held)


def act(generator, action, value):
    try:
        if action == "send":
            return generator.send(value)
        if action == "throw":
            return generator.throw(value)
        if action == "close":
            return generator.close()
        return next(generator)
    except StopIteration as stop:
        return ("stop", stop.value)
    except Exception as error:  # noqa: BLE001
        return repr(error)


def state(generator):
    frame = generator.gi_frame
    return (inspect.getgeneratorstate(generator), frame and frame.f_lineno,
            frame and sorted(k for k in frame.f_locals), generator.gi_yieldfrom is not None)


def play(script, take_over_after):
    log, seen = [], []
    generator = worker(log, 1, 2, scale=3)
    moved = 0
    for index, (action, value) in enumerate(script):
        seen.append((act(generator, action, value), state(generator)))
        if index == take_over_after:
            fresh = worker(log, 1, 2, scale=3)
            if penstock_harness.take_over(generator, fresh):
                generator = fresh
                moved = 1
    return repr((seen, log)), moved


def generators():
    passed = failed = moves = 0
    chooser = random.Random(7)
    for _ in range(300):
        script = [("next", None)]
        for _ in range(8):
            action = chooser.choice(["next", "next", "send", "send", "throw", "close"])
            value = chooser.choice([KeyError(1), ValueError(2)]) if action == "throw" else chooser.randrange(9)
            script.append((action, value if action in ("send", "throw") else None))
        for error in (value for _, value in script):
            if isinstance(error, Exception):
                error.__context__ = error.__traceback__ = None
        expected, _ = play(script, -1)
        for after in range(len(script)):
            for _, error in script:
                if isinstance(error, Exception):
                    error.__context__ = error.__traceback__ = None
            seen, moved = play(script, after)
            moves += moved
            if seen == expected:
                passed += 1
            else:
                failed += 1
                if failed < 4:
                    print(f"FAILED generator {script} moved after {after}\n  expected {expected}\n  seen     {seen}")
    print(f"{moves} generators moved")
    return passed, failed + (moves == 0)


def main():
    frames_passed, frames_failed = frames()
    generators_passed, generators_failed = generators()
    leak_passed, leak_failed = leaks()
    failed = frames_failed + generators_failed + leak_failed
    print(f"{frames_passed + generators_passed + leak_passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
