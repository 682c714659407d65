"""Every case of overload_cases.py becomes the overloads that torch traces before dispatch."""
import os
import sys

from captured import capture, plain

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "overload_cases.py")


def main():
    expected = [line.split() for line in plain(CASES, "traced").splitlines()]
    documents, _, errors, status = capture(sys.argv[1], CASES, "--no-tensors")
    if status != 0:
        print(errors)
        print("0 passed, 1 failed")
        return 1
    graphs = {}
    for document in documents:
        if document["penstock"] == "graph":
            line = document["location"]["line"], document["location"].get("column", 0)
            graphs.setdefault(line, []).extend(node["op"] for node in document["nodes"])
    found = [graphs[place] for place in sorted(graphs)]
    passed = sum(1 for case in expected if case in found)
    for case in expected:
        if case not in found:
            print("not captured as torch traces it:", " ".join(case))
    failed = len(expected) - passed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
