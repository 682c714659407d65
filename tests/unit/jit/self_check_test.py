"""The check of an entry's first runs: kernels that give something else than torch's ops are noticed."""
import os

os.environ["PENSTOCK_JIT_TEST_SELF_CHECK"] = "1"

import torch  # noqa: E402

from support import check, finish, jit  # noqa: E402

torch.set_grad_enabled(False)
TWO = (2, 3)


def segment(op, arguments, restore=("output", 0), **more):
    guard = {"kind": "tensor", "source": "L['x']", "tensor": ("float32", list(TWO))}
    return {"guards": [guard], "inputs": ["L['x']"], "values": 2, "nodes": [(op, {"self": "%0", **arguments}, [1])],
            "outputs": [1], "restore": [("result", restore)], **more}


def messages():
    return jit.state()["messages"]


def runs(name):
    return {row[0]: row[2] for row in jit.state()["calls"]}[name]


# -- right results: nothing is said, and the entry goes on to be used
def right(x):
    raise AssertionError("the body ran")


name = jit.install(right.__code__, segment("aten.mul.Tensor", {"other": 3.0}))
for value in range(1, 6):
    check("right", torch.equal(right(torch.full(TWO, float(value))), torch.full(TWO, 3.0 * value)))
check("nothing is said of what is right", messages() == [] and runs(name) == 1, messages())


# -- an input that is written is written once
def doubled(x):
    raise AssertionError("the body ran")


jit.install(doubled.__code__, segment("aten.mul_.Tensor", {"other": 2.0}, ("source", "L['x']")))
for _ in range(5):
    x = torch.ones(TWO)
    check("written once", doubled(x) is x and torch.equal(x, torch.full(TWO, 2.0)) and x._version == 1, (x, x._version))
whole = torch.ones(4, 3)
check("only what was given is written", doubled(whole[1:3]) is not None and whole.sum() == 18, whole)
check("nothing is said of writes", messages() == [], messages())


# -- random numbers are drawn once
def drawn(x):
    raise AssertionError("the body ran")


jit.install(drawn.__code__, segment("aten.rand_like.default", {}))
torch.manual_seed(3)
expected = [torch.rand(TWO) for _ in range(5)]
torch.manual_seed(3)
check("drawn once", all(torch.equal(drawn(torch.ones(TWO)), one) for one in expected) and messages() == [], messages())


# -- memory as it was found is nobody's result, and its layout is
def made(x):
    raise AssertionError("the body ran")


jit.install(made.__code__, segment("aten.new_empty.default", {"size": [1000]}))
jit.fail("wrong")
for _ in range(3):
    for length in (20000, 5000, 2000):
        torch.full((length,), 5.0)  # such memory is found
    check("made", made(torch.ones(TWO)).shape == (1000,))
jit.fail("")
check("nothing is said of memory as it was found", messages() == [], messages())

# -- wrong results
ran = []


def wrong(x):
    ran.append(1)
    return x * 3


place = jit.install(wrong.__code__, segment("aten.mul.Tensor", {"other": 3.0}))
jit.fail("wrong")
for _ in range(3):
    check("the program goes on with Python's result", torch.equal(wrong(torch.ones(TWO)), torch.full(TWO, 3.0)))
check("Python ran every call", len(ran) == 3)
told = f"PS0506 entry {place}: output 0 (v_1) is not what torch gives: its elements are off by 0.01 of the largest one"
check("it is said once, with the place and how far it is off", messages() == [told], messages())
check("the entry is not used again", runs(place) == 0)


def written(x):
    ran.append(2)
    return x.mul_(3)


jit.install(written.__code__, segment("aten.mul_.Tensor", {"other": 3.0}))
x = torch.ones(TWO)
check("nothing is written where it is wrong", torch.equal(written(x), torch.full(TWO, 3.0)) and ran[-1] == 2, x)
jit.fail("")

finish()
