"""The client that runs recorded segments: entries, misses, limits, failures, frames that go on."""
import dis
import gc
import weakref

import torch

from support import check, finish, jit

torch.set_grad_enabled(False)
TWO = (2, 3)


def tensor_guard(name, sizes=TWO, dtype="float32"):
    return {"kind": "tensor", "source": f"L['{name}']", "tensor": (dtype, list(sizes))}


def add_segment(sizes=TWO, dtype="float32"):
    return {"guards": [tensor_guard("x", sizes, dtype), tensor_guard("y", sizes, dtype)],
            "inputs": ["L['x']", "L['y']"], "values": 3,
            "nodes": [("aten.add.Tensor", {"self": "%0", "other": "%1"}, [2])],
            "outputs": [2], "restore": [("result", ("output", 0))]}


def calls():
    return {row[0]: row[1] for row in jit.state()["calls"]}


# -- a whole function, returned directly
def add(x, y):
    raise AssertionError("the body ran")


first = jit.install(add.__code__, add_segment())
x, y = torch.ones(TWO), torch.full(TWO, 2.0)
check("direct", torch.equal(add(x, y), torch.full(TWO, 3.0)) and first == "0/0")
check("counted", calls()["0/0"] == 2 and jit.state()["found"]["finished"] == 1)
for _ in range(10):
    add(x, y)
check("again", calls()["0/0"] == 12)
reference = weakref.ref(x)
del x
check("inputs are not kept", reference() is None)

# -- a second entry, most recently used first
try:
    add(torch.ones(5), torch.ones(5))
    check("miss runs the body", False)
except AssertionError:
    check("miss runs the body", jit.state()["found"]["miss"] == 1)
second = jit.install(add.__code__, add_segment((5,)))
check("second entry", second == "0/1" and torch.equal(add(torch.ones(5), torch.ones(5)), torch.full((5,), 2.0)))
recompile = jit.state()["recompiles"][-1]
check("recompile is explained", recompile.startswith("0/1; 0/0: L['x'] is a tensor float32[2, 3]") and
      "float32[5]" in recompile, recompile)
check("first entry is still used", torch.equal(add(y, y), torch.full(TWO, 4.0)))

# -- limit
for size in range(6, 12):
    jit.install(add.__code__, add_segment((size,)))
try:
    add(torch.ones(20), torch.ones(20))
except AssertionError:
    pass
check("limit", jit.state()["found"]["step"] == 1 and jit.state()["recompiles"][-1].startswith("0/-1 limit"),
      jit.state())
check("limit is said once", [m[:6] for m in jit.state()["messages"]] == ["PS0502"], jit.state()["messages"])

# -- beyond the limit, when most entries are used again
for size in range(6, 10):
    add(torch.ones(size), torch.ones(size))
try:
    add(torch.ones(20), torch.ones(20))
    check("an entry more", False)
except AssertionError:
    check("an entry more", jit.state()["found"]["miss"] == 2, jit.state())
jit.install(add.__code__, add_segment((20,)))
check("it is used", torch.equal(add(torch.ones(20), torch.ones(20)), torch.full((20,), 2.0)))


# -- a segment in the middle of a frame, and one behind a break
def broken(x, y):
    z = x + y
    print_nothing(z)
    return z + y


def print_nothing(value):
    seen.append(value)


seen = []


def unit_of_line(function, line):
    wanted = function.__code__.co_firstlineno + line
    return next(i.offset for i in dis.get_instructions(function) if i.starts_line == wanted) // 2


stop, rest = unit_of_line(broken, 2), unit_of_line(broken, 3)
head = add_segment()
head.update(end=stop, restore=[("local", "z", ("output", 0))])
tail = {"start": rest, "guards": [tensor_guard("z"), tensor_guard("y")],
        "inputs": ["L['z']", "L['y']"], "values": 3,
        "nodes": [("aten.add.Tensor", {"self": "%0", "other": "%1"}, [2])],
        "outputs": [2], "restore": [("result", ("output", 0))]}
ids = jit.install(broken.__code__, head), jit.install(broken.__code__, tail)
check("frame numbers", ids == ("1/0", "2/0"), ids)
for n in range(1, 4):
    check("break in the middle", torch.equal(broken(y, y), torch.full(TWO, 6.0)) and len(seen) == n)
check("both were run", calls()["1/0"] == 4 and calls()["2/0"] == 4, calls())



def broken_plain(n):
    total = 1
    for i in range(4):
        total += i
    return total


# -- kernels that fail: the segment is stepped
jit.fail("refuse")
check("failure is stepped", torch.equal(broken(y, y), torch.full(TWO, 6.0)))
check("failure is said", any(m.startswith("PS0505") for m in jit.state()["messages"]))
for way in ("throw", "no memory"):
    jit.fail(way)
    check("exception is stepped: " + way, torch.equal(broken(y, y), torch.full(TWO, 6.0)))
jit.fail("")
rows = {row[0]: row for row in jit.state()["calls"]}
check("an entry that keeps failing is given up", rows["1/0"][2] == 0 and rows["2/0"][2] == 0, rows)
check("given up is stepped", torch.equal(broken(y, y), torch.full(TWO, 6.0)))
check("said once", sum(m.startswith("PS0505") for m in jit.state()["messages"]) == 1,
      jit.state()["messages"])


# -- a compiler that fails, by answer and by exception
def uncompiled(x, y):
    return x + y + 1


for way in ("refuse", "throw", "no memory"):
    jit.fail_compiling(way)
    name = jit.install(uncompiled.__code__, add_segment())
    check("not compiled is stepped: " + way, torch.equal(uncompiled(y, y), torch.full(TWO, 5.0)))
    check("not compiled does not run: " + way, {r[0]: r[2] for r in jit.state()["calls"]}[name] == 0)
jit.fail_compiling("")


# -- an input that is written
def double(x):
    raise AssertionError("the body ran")


jit.install(double.__code__, {
    "guards": [tensor_guard("x")], "inputs": ["L['x']"], "values": 2,
    "nodes": [("aten.mul_.Tensor", {"self": "%0", "other": 2.0}, [1])], "outputs": [1],
    "restore": [("result", ("source", "L['x']"))]})
x = torch.ones(TWO)
version = x._version
check("written input is the result", double(x) is x and torch.equal(x, torch.full(TWO, 2.0)))
check("version", x._version > version)

# -- a failure behind a write cannot be stepped: it is the call's error, and nothing runs twice
jit.fail("behind a write")
try:
    double(torch.ones(TWO))
    check("failure behind a write raises", False)
except RuntimeError as error:
    check("failure behind a write raises", "told to fail" in str(error), error)
jit.fail("")

# -- a driver that throws: the hook lets plain Python go on
messages = len(jit.state()["messages"])
jit.throw_in_driver()
check("a throwing driver is passed by", broken_plain(2) == 7)
check("a throwing driver is said once", len(jit.state()["messages"]) == messages + 1,
      jit.state()["messages"])
jit.mend_driver()

# -- a dead entry makes room


class Token:
    pass


def with_token(x, token):
    return x + 1


token = Token()
jit.install(with_token.__code__, {
    "guards": [{"kind": "identity", "source": "L['token']", "live": token}, tensor_guard("x")],
    "inputs": ["L['x']"], "values": 2,
    "nodes": [("aten.add.Scalar", {"self": "%0", "other": 5}, [1])], "outputs": [1],
    "restore": [("result", ("output", 0))]})
check("token", with_token(x, token)[0, 0].item() == 7)
reference = weakref.ref(token)
token = None
gc.collect()
check("token is not kept", reference() is None)
check("another token", with_token(x, Token())[0, 0].item() == 3)


# -- gradients: recorded, but the frame runs as it is
def grad(x):
    return x * 2


with torch.enable_grad():
    leaf = torch.ones(TWO, requires_grad=True)
    spec = {"guards": [{"kind": "grad_mode", "expected": True}], "inputs": ["L['x']"], "values": 2,
            "nodes": [], "outputs": [], "restore": [("result", ("source", "L['x']"))]}
    jit.install(grad.__code__, spec)
    check("grad mode alone is no reason", [r for r in jit.state()["calls"] if r[0] == "6/0"][0][2] == 1)


# -- a branch on what the segment in front computed
def chooses(x, y):
    z = x + y
    c = z.sum() < 0
    if c:
        return z - y
    w = z + y
    return w, c


def units_of(function, wanted):
    return [i.offset // 2 for i in dis.get_instructions(function) if i.opname.startswith(wanted)]


def segment(start, inputs, nodes, values, outputs, restore, **more):
    guards = [tensor_guard(name) for name in inputs]
    return {"start": start, "guards": guards, "inputs": [f"L['{name}']" for name in inputs], "values": values,
            "nodes": nodes, "outputs": outputs, "restore": restore, **more}


branch, = units_of(chooses, "POP_JUMP")
below, above = unit_of_line(chooses, 4), unit_of_line(chooses, 5)
head = segment(0, "xy", [("aten.add.Tensor", {"self": "%0", "other": "%1"}, [2]),
                         ("aten.sum.default", {"self": "%2"}, [3]),
                         ("aten.lt.Scalar", {"self": "%3", "other": 0}, [4])], 5, [2, 4],
               [("local", "z", ("output", 0)), ("local", "c", ("output", 1)), ("stack", 0, ("output", 1))],
               end=branch, conditions=[1])
jit.install(chooses.__code__, head)


def state():
    now = jit.state()
    return now["pending"], now["found"].get("branched", 0)


def same(given, expected):
    return given[1].item() == expected[1] and torch.equal(given[0], expected[0])


one, two = torch.ones(TWO), torch.full(TWO, 2.0)
check("what nothing goes on with becomes tensors", same(chooses(one, two), (one * 5, False)))
check("the branch was taken", state() == (1, 1), state())
check("on either side", torch.equal(chooses(-two, one), -two) and state() == (2, 2), state())
tail = segment(above, "zy", [("aten.add.Tensor", {"self": "%0", "other": "%1"}, [2])], 3, [2],
               [("local", "w", ("output", 0))], end=unit_of_line(chooses, 6))
jit.install(chooses.__code__, tail)
moved = jit.state()["found"]["moved"]
check("an entry goes on with pending locals", same(chooses(one, two), (one * 5, False)))
check("in the same lookup", state() == (3, 2) and jit.state()["found"]["moved"] == moved + 1, state())
result = chooses(one, two)
check("tensors of their own", result[0].untyped_storage().data_ptr() != one.untyped_storage().data_ptr() and
      result[1].dtype == torch.bool and result[1].shape == ())
jit.install(chooses.__code__, segment(
    below, "zy", [("aten.sub.Tensor", {"self": "%0", "other": "%1"}, [2])], 3, [2],
    [("local", "w", ("source", "L['z']")), ("result", ("output", 0))]))
check("an entry that needs the object gets it", torch.equal(chooses(-two, one), -two) and
      jit.state()["found"]["branched"] == 3, jit.state()["found"])
check("sizes are guarded", chooses(torch.ones(5), torch.ones(5))[0].shape == (5,))
for way in ("refuse", "throw"):
    jit.fail(way)
    check("failure is stepped: " + way, same(chooses(one, two), (one * 5, False)))
jit.fail("")
finish()
