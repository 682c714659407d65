"""Programs print under capture what they print without, give the graphs and breaks listed here, and are
captured to the same bytes whatever the hash seed."""
import os
import sys

from captured import capture, ops, plain

PROGRAMS = os.path.join(os.environ["PENSTOCK_SOURCE_ROOT"], "tests", "programs")
LAYER = ("layer_norm linear chunk view transpose view transpose view transpose transpose matmul div "
         "masked_fill softmax matmul transpose reshape linear add layer_norm linear gelu linear add")

# By program: graphs by entry with their ops, and how many breaks.
EXPECTED = {
    "toy.py": ({"0/0": "abs add div sum lt", "1/0": "mul mul", "2/0": "mul"}, 1),
    "dtype_guard.py": ({"0/0": "mul add", "0/1": "div"}, 0),
    "closure.py": ({"0/0": "add add_", "1/0": "sub add"}, 0),
    "mlp_norm.py": ({"0/0": "linear gelu layer_norm linear softmax",
                     "0/1": "linear gelu layer_norm linear softmax"}, 0),
    "attention_block.py": ({"0/0": f"alias {LAYER} alias {LAYER}"}, 0),
}


def check(tool, name):
    program = os.path.join(PROGRAMS, name)
    documents, text, printed, status = capture(tool, program, "--no-tensors")
    wrong = []
    if status != 0:
        return [f"status {status}: {printed[-2000:]}"]
    lines = [line for line in printed.splitlines() if not line.startswith("[W")]
    for line in plain(program).splitlines():
        if line not in lines:
            wrong.append(f"not printed: {line}")
    graphs, breaks = EXPECTED[name]
    found = {d["id"]: " ".join(ops(d)) for d in documents if d["penstock"] == "graph"}
    if found != graphs:
        wrong.append(f"graphs {found}")
    if sum(d["penstock"] == "break" for d in documents) != breaks:
        wrong.append(f"breaks {[d for d in documents if d['penstock'] == 'break']}")
    for seed in ("1", "2"):
        if without_meta(capture(tool, program, "--no-tensors", seed=seed)[0]) != without_meta(documents):
            wrong.append(f"other documents with PYTHONHASHSEED={seed}")
    return wrong


def without_meta(documents):
    return [{key: value for key, value in document.items() if key != "meta"} for document in documents]


def main():
    failed = 0
    for name in EXPECTED:
        wrong = check(sys.argv[1], name)
        failed += bool(wrong)
        for line in wrong:
            print(f"{name}: {line}")
    print(f"{len(EXPECTED) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
