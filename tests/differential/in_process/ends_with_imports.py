"""What programs do as they end, with libraries whose imports made much: finalisers run, each once, with the names that
they use, files are written, and callbacks of weak references are called as under plain Python. Each end is a child's."""
import gc
import os
import shutil
import sys
import tempfile
import threading
import time
import weakref

import torch

LIBRARY = """
import weakref
kept = [[i, (i, i), {}] for i in range(20000)]
WORD = "the library's name"

class Registry:
    items = []

class Item:
    pass

class Told:
    def __del__(self):
        print("told", WORD, flush=True)

def waits():
    try:
        yield 1
    finally:
        print("closed", WORD, flush=True)
"""
# An object of C whose binding counts what is left of its own when the interpreter has ended.
COUNTED = """
import ctypes, os

class Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]

class Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_int), ("item", ctypes.c_int), ("flags", ctypes.c_uint),
                ("slots", ctypes.POINTER(Slot))]

let_go = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(eval("lambda object: write(1, b'let go\\\\n') and None", {"write": os.write}))
ctypes.pythonapi.Py_IncRef(ctypes.py_object(let_go))
slots = (Slot * 2)(Slot(52, ctypes.cast(let_go, ctypes.c_void_p)), Slot(0, None))  # tp_dealloc
make = ctypes.pythonapi.PyType_FromSpec
make.restype = ctypes.py_object
kept.append([make(ctypes.byref(Spec(b"nanobind.nb_func", object.__basicsize__, 0, 0, slots)))()])
"""
NAME = "the program's name"


def model(x):
    return (x.relu() + 1).sum()


class Thing:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone", self.name, NAME, flush=True)


class Plain:
    pass


def in_a_global():
    globals()["held"] = Thing("held")


def in_a_cycle():
    thing = Thing("in a cycle")
    thing.itself = thing


def in_a_class_of_the_library():
    library.Registry.items.append(Thing("in a class"))


def below_a_class_of_the_library():
    library.Registry.items.append({"deep": [Plain()]})
    library.Registry.items[-1]["deep"][0].thing = Thing("below a class")


def functions_in_a_class():
    library.Registry.items.append(model)
    globals()["late"] = Thing("beside a function that a library holds")


def file_in_a_class():
    library.Registry.items.append(open(written, "w"))
    library.Registry.items[-1].write("all of it")


def generator_in_a_class():
    def waits():
        try:
            yield 1
        finally:
            print("closed", NAME, flush=True)
    library.Registry.items.append(waits())
    next(library.Registry.items[-1])


def watch(thing):
    """By what holds nothing of the program's."""
    exec("def told(ref): print('it is gone', flush=True)", scope := {})
    sys.watch = weakref.ref(thing, scope["told"])


def watched_class():
    watch(library.Registry)


def watched_item():
    library.Registry.items.append(Plain())
    watch(library.Registry.items[-1])


def told_library():
    import telling_library  # noqa: F401


def waiting_library():
    import waiting_library  # noqa: F401


def writing_library():
    import writing_library  # noqa: F401


def counting_library():
    import counting_library  # noqa: F401


def watched_collector():
    gc.callbacks.append(lambda phase, info: phase == "start" and print("collects", info["generation"], flush=True))


def collected():
    gc.collect()
    in_a_class_of_the_library()


def beside_a_thread():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    in_a_class_of_the_library()


def a_class_that_stays():
    class Inner(library.Item):
        thing = Thing("of a class that stays")
    library.Registry.items.append(Inner)


ENDS = (in_a_global, in_a_cycle, in_a_class_of_the_library, below_a_class_of_the_library, functions_in_a_class, file_in_a_class,
        generator_in_a_class, watched_class, watched_item, told_library, waiting_library, writing_library, counting_library, watched_collector,
        collected, beside_a_thread, a_class_that_stays)
folder = tempfile.mkdtemp()
packages, written = os.path.join(folder, "site-packages"), os.path.join(folder, "written")
os.mkdir(packages)
for name, more in {"library": "", "telling_library": "Told.one = Told()\n", "waiting_library": "Told.one = waits()\nnext(Told.one)\n",
                   "counting_library": COUNTED,
                   "writing_library": f"Told.one = open({written!r}, 'w')\nTold.one.write('at import')\n"}.items():
    with open(os.path.join(packages, name + ".py"), "w") as file:
        file.write(LIBRARY + more)
sys.path.insert(0, packages)
import library  # noqa: E402
print(model(torch.arange(6.0)).item(), model(torch.arange(4.0)).item())
for end in ENDS:
    print(end.__name__, flush=True)
    child = os.fork()
    if child == 0:
        end()
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    if os.path.exists(written):
        with open(written) as file:
            print(repr(file.read()))
        os.remove(written)
else:
    shutil.rmtree(folder)
