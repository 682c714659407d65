"""Libraries whose imports make many containers, and what they and the program do with the collector meanwhile: what is
garbage is found, what is kept stays, and all that the module gc tells and was told is as it was."""
import gc
import importlib
import os
import sys
import tempfile
import weakref

import torch

MANY = "import gc, weakref\nclass Node: pass\nkept = [[i, (i, i + 1), {'i': i}] for i in range(20000)]\n" \
       "def cycle():\n    one, other = Node(), Node()\n    one.other, other.one = other, one\n    return weakref.ref(one)\n" \
       "garbage = [cycle() for _ in range(20)]\n"
BODIES = {
    "keeping_library": MANY,
    "collecting_library": MANY + "found = gc.collect() >= 40\nlate = [cycle() for _ in range(20)]\nmore = [[i] for i in range(20000)]\n",
    "disabling_library": "import gc\ngc.disable()\n" + MANY,
    "enabling_library": MANY + "gc.enable()\n",
    "failing_for_memory": MANY + "raise MemoryError('no more')\n",
    "freezing_library": MANY + "gc.freeze()\nfrozen = gc.get_freeze_count() > 20000\nmore = [[i] for i in range(20000)]\n",
    "small_library": "import weakref\nkept = [[i] for i in range(30)]\n",
    "watched_library": MANY,
    "rare_library": MANY,
    "never_library": MANY,
    "outer_library": "import inner_library\n" + MANY,
    "inner_library": MANY,
}


OLD = [[i] for i in range(100)]
gc.collect()


def model(x):
    return (x.relu() + 1).sum()


def told():
    count = gc.get_count()
    return gc.isenabled(), gc.get_threshold(), all(0 <= one < 30000 for one in count), gc.get_debug(), len(gc.callbacks)


def holds(library):
    """What is kept is whole, each object is known to the collector once, and garbage is gone behind a collection."""
    gc.collect()
    objects = gc.get_objects()
    known = set(map(id, objects))
    lists = all(id(one) in known for one in library.kept) and all(id(one) in known for one in OLD)
    return len(known) == len(objects), lists, sum(ref() is not None for ref in getattr(library, "garbage", []))


def cycles_through_what_was_atomic(library):
    """A tuple and a dict that could be in no cycle, until the program puts one through them."""
    node = library.Node()
    node.holder = library.kept.pop()
    node.holder[2]["self"] = node
    ref = weakref.ref(node)
    del node
    gc.collect()
    return ref() is None


# In the program's body, which is no function that is followed: what such a function imports is.
with tempfile.TemporaryDirectory() as folder:
    library = os.path.join(folder, "site-packages")
    os.mkdir(library)
    for name, body in BODIES.items():
        with open(os.path.join(library, name + ".py"), "w") as file:
            file.write(body)
    sys.path.insert(0, library)
    x = torch.arange(6.0)
    enabled, thresholds = gc.isenabled(), gc.get_threshold()
    try:
        for name in ("keeping_library", "collecting_library", "small_library", "outer_library", "freezing_library"):
            module = importlib.import_module(name)
            print(name, told(), getattr(module, "found", None), getattr(module, "frozen", None), model(x).item())
            gc.unfreeze()
            print(holds(module), len(module.kept), sum(ref() is not None for ref in getattr(module, "late", [])))
            if hasattr(module, "Node"):
                print(cycles_through_what_was_atomic(module))
        import disabling_library
        print("disabled", told(), any(ref() is None for ref in disabling_library.garbage), holds(disabling_library))
        import enabling_library
        print("enabled", told(), any(ref() is None for ref in enabling_library.garbage[-1:]), holds(enabling_library))
        try:
            import failing_for_memory
        except MemoryError as error:
            print("failed", error, told(), "failing_for_memory" in sys.modules)
        seen = []
        gc.callbacks.append(lambda phase, info: seen.append(info["generation"]))
        import watched_library
        gc.callbacks.pop()
        print("watched", len(seen) > 50, holds(watched_library))
        gc.set_threshold(2**31 - 1, 2**31 - 1, 10)
        import rare_library
        print("rare", told()[:2], holds(rare_library))
        gc.set_threshold(0)
        import never_library
        print("never", told()[:2], all(ref() is not None for ref in never_library.garbage), holds(never_library))
    finally:
        gc.set_threshold(*thresholds)
        (gc.enable if enabled else gc.disable)()
        sys.path.remove(library)
        for name in BODIES:
            sys.modules.pop(name, None)

