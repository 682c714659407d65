"""What a program can notice of being conducted: prints a transcript that must be the same without.

Run by compare.py plainly and with every frame conducted. Each section is a function of its own.
"""

import _thread
import ctypes
import faulthandler
import gc
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import tracemalloc
import warnings
import weakref


def section(function):
    print("==", function.__name__)
    try:
        function()
    except BaseException as error:  # noqa: BLE001
        print("raised", type(error).__name__, error, trace_of(error))


def trace_of(error):
    return [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]


class Alarm(Exception):
    pass


def signals():
    def on_alarm(number, frame):
        print("handler sees", frame.f_code.co_name)
        raise Alarm("time is up")

    def spin():
        while True:
            pass

    def spin_with_calls():
        while True:
            len("abc")

    signal.signal(signal.SIGALRM, on_alarm)
    for loop in (spin, spin_with_calls):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            loop()
        except Alarm as error:
            print("caught", error, [name for name, _ in trace_of(error)])


def keyboard_interrupt():
    def spin():
        count = 0
        while True:
            count += 1

    threading.Timer(0.05, _thread.interrupt_main).start()
    try:
        spin()
    except KeyboardInterrupt as error:
        print("interrupted", [name for name, _ in trace_of(error)])


def asynchronous_exception():
    state = []

    def victim():
        try:
            while True:
                pass
        except Alarm as error:
            state.append([name for name, _ in trace_of(error)])

    thread = threading.Thread(target=victim)
    thread.start()
    time.sleep(0.05)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Alarm))
    thread.join(5)
    print(state, thread.is_alive())


def threads():
    totals = [0] * 4

    def work(index):
        for i in range(20000):
            totals[index] += i % 3

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(totals)


def recursion():
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    def depth(n=0):
        try:
            return depth(n + 1)
        except RecursionError:
            return n

    print(down(900), depth())
    sys.setrecursionlimit(12000)
    print(down(11000))
    sys.setrecursionlimit(1000)


def deep_recursion_in_small_stack():
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    results = []
    sys.setrecursionlimit(30000)
    threading.stack_size(1 << 20)
    thread = threading.Thread(target=lambda: results.append(down(20000)))
    thread.start()
    thread.join()
    threading.stack_size(0)
    sys.setrecursionlimit(1000)
    print(results)


def tracers():
    events = []

    def tracer(frame, event, argument):
        if frame.f_code.co_filename == __file__:
            events.append((event, frame.f_code.co_name, frame.f_lineno))
        return tracer

    def start_tracing():
        sys.settrace(tracer)
        sys._getframe(1).f_trace = tracer

    def traced_callee(x):
        y = x + 1
        return y

    def function():
        a = 1
        start_tracing()
        b = traced_callee(a)
        for i in range(2):
            b += i
        sys.settrace(None)
        return b

    def profiler(frame, event, argument):
        if frame.f_code.co_filename == __file__ or event.startswith("c_"):
            events.append((event, frame.f_code.co_name))

    def profiled():
        sys.setprofile(profiler)
        len("abc")
        traced_callee(1)
        sys.setprofile(None)

    print(function())
    profiled()
    print(events)


def looked_at():
    def local_names():
        frame = sys._getframe(1)
        return sorted(frame.f_locals), frame.f_lineno, frame.f_back.f_code.co_name

    def write_local(value):
        frame = sys._getframe(1)
        frame.f_locals["x"] = value
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))

    def looked():
        x = 1
        print(local_names())
        write_local(7)
        print(x, sorted(locals()))
        frame = sys._getframe()
        return frame

    frame = looked()
    print(frame.f_locals["x"], frame.f_lineno, frame.f_back is not None and frame.f_back.f_code.co_name)
    frame.clear()

    def warned():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("here", stacklevel=2)
        return caught[0].lineno

    def warn_caller():
        return warned()

    print(warn_caller())
    logger = logging.getLogger("x")
    print(logger.findCaller()[1:3])

    def running():
        try:
            sys._getframe().clear()
        except RuntimeError as error:
            return str(error)

    print(running())
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=False)
        file.seek(0)
        print([line.split(b" in ")[-1] for line in file.read().splitlines()[1:3]])
    tracemalloc.start()
    kept = bytearray(1 << 20)
    print(tracemalloc.get_object_traceback(kept)[0].lineno)
    tracemalloc.stop()


def lifetimes():
    class Thing:
        pass

    gone = []

    def use():
        thing = Thing()
        weakref.finalize(thing, gone.append, "thing")
        del thing
        print(gone)
        other = Thing()
        reference = weakref.ref(other)
        other = None
        return reference()

    print(use())

    def cycle():
        a = Thing()
        a.self = a
        return weakref.ref(a)

    reference = cycle()
    gc.collect()
    print(reference())
    before = sys.getrefcount(None), sys.getrefcount(Thing)

    def churn(n):
        return [Thing() for _ in range(n)]

    for _ in range(50):
        churn(10)
    print(abs(sys.getrefcount(Thing) - before[1]) <= 1)


def allocations():
    def work(n):
        total = 0
        for i in range(n):
            try:
                total += {"a": [i, (i, i)]}["a"][1][0]
                if i % 5 == 0:
                    raise ValueError(i)
            except ValueError as error:
                total += error.args[0]
        return total, list(x for x in range(n))

    for _ in range(20):
        work(20)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(300):
        work(20)
    gc.collect()
    print(abs(sys.getallocatedblocks() - before) < 60)


def forks():
    child = os.fork()
    if child == 0:
        os._exit(sum(i for i in range(5)))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


for each in (signals, keyboard_interrupt, asynchronous_exception, threads, recursion, deep_recursion_in_small_stack,
             tracers, looked_at, lifetimes, allocations, forks):
    section(each)
print("environment", sorted(k for k in os.environ if "PRELOAD" in k or "PENSTOCK" in k))
