"""What the test scripts of this folder share: counting, and the module under test."""
import sys

sys.path.insert(0, sys.argv[1])
import penstock_jit_test as jit  # noqa: E402

passed = 0
failed = []


def check(name, condition, detail=""):
    global passed
    if condition:
        passed += 1
    else:
        failed.append(name)
        print(f"FAILED {name} {detail}")


def attach(function, guards, **more):
    jit.attach(function.__code__, {"guards": guards, **more})


def guard(kind, source=None, expected=None, **more):
    return {"kind": kind, "source": source, "expected": expected, **more}


def fits(function, *arguments, **keywords):
    """Calls the function with a program attached to it: did its guards hold?"""
    function(*arguments, **keywords)
    return jit.last()[0]


def why_not(function, *arguments):
    function(*arguments)
    return jit.last()[1]


def finish():
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)
