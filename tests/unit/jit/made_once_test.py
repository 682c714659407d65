"""A value that is made once by code which lets the GIL go: whoever waits for it holds no GIL."""
import threading
import time

from support import check, finish, jit

found = []


def ask():
    found.append(jit.made_once(lambda: time.sleep(0.2) or object()))


threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20)
check("nobody waits for ever", len(found) == 4, found)
check("one value for all", len(set(map(id, found))) == 1, found)
check("made no more", jit.made_once(lambda: 1 / 0) is found[0])
finish()
