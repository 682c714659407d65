"""Libraries that are imported while the program runs: their bodies run as Python runs them, and what they define is
captured behind that, whatever an import did: it may fail, import others, call back, and start threads."""
import importlib
import os
import sys
import tempfile
import threading

import torch

BODIES = {
    "plain_library": "import torch\n\ndef scaled(x):\n    return (x * 2 + 1).sin().sum()\n\nat_import = scaled(torch.ones(4)).item()\n",
    "failing_library": "import torch\nmade = torch.ones(3)\nraise ValueError(f'it was {made.sum().item()}')\n",
    "importing_library": "import plain_library, colorsys\n\ndef twice(x):\n    return plain_library.scaled(x) + plain_library.scaled(x + 1)\n",
    "calling_library": "import __main__, sys\n\ndef called(x):\n    return (x.cos() * 3).sum()\n\nat_import = sys.modules['program_of_libraries'](called)\n",
    "threading_library": "import threading, torch\nfound = []\n\ndef work():\n    for i in range(3):\n        found.append((torch.full((5,), float(i)) * 2).sum().item())\n\n"
                        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n",
    "late_library": "import torch\n\ndef late(x):\n    return (x - 1).exp().mean()\n",
}


def model(x):
    return (x.relu() + 1).sum()


def in_forward(x):
    import late_library
    return late_library.late(x) * 2


def main(folder):
    library = os.path.join(folder, "site-packages")
    os.mkdir(library)
    for name, body in BODIES.items():
        with open(os.path.join(library, name + ".py"), "w") as file:
            file.write(body)
    sys.path.insert(0, library)
    sys.modules["program_of_libraries"] = lambda call: [round(call(torch.ones(3) * i).item(), 3) for i in range(4)]
    x = torch.arange(6.0)
    try:
        print([model(x * i).item() for i in range(4)])
        import plain_library
        print(round(plain_library.at_import, 3), [round(plain_library.scaled(x * i).item(), 3) for i in range(4)])
        for _ in range(2):
            try:
                importlib.import_module("failing_library")
            except ValueError as error:
                print("failed:", error, "failing_library" in sys.modules)
        import importing_library
        print([round(importing_library.twice(x * i).item(), 3) for i in range(4)])
        import calling_library
        print(calling_library.at_import, [round(calling_library.called(x * i).item(), 3) for i in range(4)])
        import threading_library
        print(threading_library.found)
        print([round(in_forward(x / 7 * i).item(), 4) for i in range(4)])
        ready, done = threading.Event(), threading.Event()
        other = threading.Thread(target=lambda: (ready.set(), done.wait()))
        other.start()
        ready.wait()
        sys.modules.pop("plain_library")
        again = importlib.import_module("plain_library")
        done.set()
        other.join()
        print(round(again.at_import, 3), [round(again.scaled(x * i).item(), 3) for i in range(4)])
    finally:
        sys.path.remove(library)
        for name in [*BODIES, "program_of_libraries"]:
            sys.modules.pop(name, None)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
