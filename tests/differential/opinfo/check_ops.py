"""Samples of torch's op database give in process (`penstock run`) what they give under plain Python.

Usage: check_ops.py PENSTOCK_RUN [--samples N] [--ops NAME,…] [--modes MODE,…] [--dtypes NAME,…] [--shard I/N]
                    [--resume FILE] [--report FILE] [--wide]

Without --wide it runs a fixed small choice. Ops run in child processes, many to one; the op of a case that ends its
process is told, and the rest goes on in a new one. Compared are values (exact for integers and bools, within some units
of the dtype's last place for others), dtypes, shapes, strides, offsets, whether a result is a view and a leaf, kinds
of errors, and what became of the first argument. Told besides: the share of node executions that ran compiled, in the
library, in torch as part of a graph, and eagerly. --resume keeps what is done in FILE and goes on from there.
"""
import argparse
import collections
import json
import os
import pickle
import subprocess
import sys
import tempfile

import torch

import samples

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PENSTOCK_TEST_PYTHON", sys.executable)

# The fixed choice: ops of every family, those that were wrong once among them.
CHOICE = (
    "abs add addcdiv addmm addmv all amax any arange argmax as_strided atan2 baddbmm bitwise_and bmm broadcast_tensors cat chunk "
    "clamp clone copysign cumsum diag diagonal div.floor_rounding div.trunc_rounding eq exp expand fill flip floor_divide fmod full_like "
    "gather ge index_add index_copy index_put index_select isnan lerp linspace log_softmax logsumexp masked_fill masked_select "
    "matmul mean meshgrid.list_of_tensors mul narrow nn.functional.batch_norm nn.functional.conv2d nn.functional.cosine_similarity "
    "nn.functional.cross_entropy nn.functional.embedding nn.functional.gelu nn.functional.layer_norm nn.functional.linear "
    "nn.functional.max_pool2d nn.functional.pad.constant nn.functional.softmin permute pow prod ravel remainder repeat reshape roll "
    "scatter scatter_add select sigmoid softmax sort split squeeze stack std std_mean sub sum t take_along_dim tensor_split topk "
    "transpose tril unbind unfold unsqueeze var var_mean view where zeros_like"
).split()
CHOICE_DTYPES = ["float32", "bfloat16", "int64", "complex64"]

# Gradients: of ops whose derivatives are torch's own, and some of ours.
CHOICE_OF_GRADIENTS = (
    "angle cdist cholesky_solve complex cummax cummin digamma erfinv fft.fft fft.hfft fft.irfft fft.irfft2 fft.rfft index_reduce.amax kthvalue "
    "lgamma linalg.cholesky linalg.det linalg.eigh linalg.inv linalg.lstsq.grad_oriented linalg.lu_factor linalg.pinv linalg.qr linalg.slogdet "
    "linalg.solve linalg.solve_triangular linalg.svdvals logcumsumexp lu matmul matrix_exp median mode mul nanmedian nn.functional.conv2d "
    "nn.functional.ctc_loss nn.functional.embedding_bag nn.functional.gelu nn.functional.grid_sample nn.functional.layer_norm "
    "nn.functional.max_unpool2d nn.functional.pdist polar polygamma.polygamma_n_0 renorm softmax special.i0e special.ndtri stft var"
).split()

# Ops in one process: a report of theirs is read at once.
GROUP = 24
# Seconds for a group.
LIMIT = 1800

TOLERANCE = {"torch.float16": 4e-3, "torch.bfloat16": 3e-2, "torch.float32": 5e-5, "torch.float64": 1e-9,
             "torch.complex64": 1e-4, "torch.complex128": 1e-9}


def child(command, settings, folder, name, program="run_cases.py"):
    """Runs cases by a program in child processes until all are done; gives (results by key, keys that ended a process)."""
    out, progress = os.path.join(folder, name + ".results"), os.path.join(folder, name + ".progress")
    ended, skip = {}, []
    while True:
        environment = dict(os.environ, PENSTOCK_COMPILE="now", PENSTOCK_STORE=os.path.join(folder, "store"), OMP_NUM_THREADS="1",
                           PYTHONHASHSEED="0")  # torch's generators go over sets of names
        arguments = [*command, os.path.join(HERE, program), out, progress, json.dumps(settings | {"skip": skip})]
        try:
            done = subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=LIMIT, check=False)
            status, told = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            status, told = "timeout", ""
        lines = open(progress, encoding="utf-8").read().splitlines() if os.path.exists(progress) else []
        if lines and lines[-1] == "end" and status == 0:
            return read_results(out), ended
        if not lines or lines[-1] == "end":
            raise RuntimeError(f"{name}: status {status} before the first case or behind the last: {told[-2000:]}")
        culprit = lines[-1].split(" ", 1)[1]
        if culprit in ended:
            raise RuntimeError(f"{name}: {culprit} ran again although it was to be left out")
        ended[culprit] = f"status {status}: {told[-300:]}"
        skip = [line.split(" ", 1)[1] for line in lines]
        os.remove(progress)
        with open(progress, "w", encoding="utf-8") as again:
            again.writelines(line + "\n" for line in lines)


def read_results(path):
    results = {}
    with open(path, "rb") as file:
        while True:
            try:
                key, told = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return results
            results[key] = told


def numbers(data, dtype, shape):
    tensor = torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape) if tensor.numel() else tensor


def value_difference(expected, given, name, shape):
    """How the elements differ; empty when they are the same within the dtype's tolerance."""
    if expected == given:
        return ""
    dtype = getattr(torch, name.removeprefix("torch."), None)
    if name not in TOLERANCE or dtype is None:
        return f"elements differ: {list(expected[:16])} {list(given[:16])}"
    a, b = numbers(given, dtype, shape), numbers(expected, dtype, shape)
    if dtype.is_complex:
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    a, b = a.double(), b.double()
    if not torch.equal(a.isnan(), b.isnan()) or not torch.equal(a.isinf() * a.sign(), b.isinf() * b.sign()):
        return f"NaN or inf differ: {a.flatten()[:6].tolist()} for {b.flatten()[:6].tolist()}"
    finite = b.isfinite()
    a, b = a[finite], b[finite]
    if not a.numel():
        return ""
    floor = 0.3 if dtype.itemsize == 2 else 1e-2  # cancellation leaves little of 8 or 11 bits
    error = ((a - b).abs() / (b.abs() + floor * b.abs().max() + 1e-6)).max().item()
    if error <= TOLERANCE[name]:
        return ""
    worst = ((a - b).abs() / (b.abs() + floor * b.abs().max() + 1e-6)).argmax().item()
    return f"error {error:.2e}: {a[worst].item():.8g} for {b[worst].item():.8g}"


def difference(expected, given):
    """What a program sees otherwise; empty when nothing."""
    if expected is None or given is None or expected[0] != given[0]:
        return "" if expected == given else f"{str(given)[:80]} for {str(expected)[:80]}"
    if expected[0] == "items":
        if expected[1] != given[1] or len(expected[2]) != len(given[2]):
            return f"{given[1]} of {len(given[2])} for {expected[1]} of {len(expected[2])}"
        found = (difference(a, b) for a, b in zip(expected[2], given[2]))
        return next((text for text in found if text), "")
    if expected[0] != "tensor":
        return "" if expected == given else f"{str(given)[:80]} for {str(expected)[:80]}"
    if expected[1] != given[1]:
        return f"{given[1]} for {expected[1]}"
    if expected[2] != given[2]:
        return f"stride, offset, view, leaf, gradient {given[2]} for {expected[2]}"
    if expected[2] is None:
        return ""
    return value_difference(expected[3], given[3], expected[1][0], expected[1][1])


def is_settled(calls):
    """Whether plain Python gives the same for the same arguments: memory that is not filled, atomic sums."""
    return all(difference(calls[0][0], call[0]) == "" for call in calls[1:])


def judge(expected, given, mode):
    if mode != "changing" and not is_settled(expected):
        return None
    for turn, (a, b) in enumerate(zip(expected, given)):
        wrong = difference(a[0], b[0]) or difference(a[1], b[1])
        if wrong:
            return f"call {turn + 1}: {wrong}"
    return ""


def shares(tool, documents, progress):
    """By case: node executions compiled, in the library and in torch as part of graphs, calls of graphs, and whether
    no graph ended at an op or began behind one."""
    done = subprocess.run([os.path.join(os.path.dirname(tool), "penstock-report"), "--json", documents],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {}
    report = json.loads(done.stdout)
    with open(documents, encoding="utf-8") as file:
        last = json.loads(collections.deque(file, 1)[0])
    counts = {row["id"]: row["count"] for row in last.get("calls", [])}
    keys = {f"case_{line.split(' ', 1)[0]}": line.split(" ", 1)[1] for line in progress if " " in line}
    by_key = {}
    for graph in report["graphs"]:
        key = keys.get(graph["name"].rsplit(".", 1)[-1])
        if key is None or not graph["ops"]:
            continue
        times, found = counts.get(graph["id"], 0), by_key.setdefault(key, [0, 0, 0, 0, True])
        behind = graph["after"] or any(buffer["name"].startswith("stack_") for buffer in graph["buffers"])
        found[4] = found[4] and not graph["ends"] and not behind
        share = graph["shares"]
        found[3] += times
        for i, kind in enumerate(("compiled", "library", "fallback")):
            found[i] += times * share[kind] if share else 0
    return by_key


def run_group(tool, settings, folder):
    plain, broken = child([PYTHON], settings, folder, "plain")
    documents = os.path.join(folder, "documents.json")
    ours, ended = child([tool, "--python=" + PYTHON, "--deterministic", "--no-tensors", "--only=case_*",
                         "-o", documents], settings, folder, "ours")
    progress = open(os.path.join(folder, "ours.progress"), encoding="utf-8").read().splitlines()
    found = shares(tool, documents, progress) if os.path.exists(documents) and not ended else {}
    group = {}
    for key, expected in plain.items():
        _, mode, _, _ = key.split("|")
        if key in ended:
            wrong = "ENDED THE PROCESS: " + ended[key]
        else:
            wrong = judge(expected, ours[key], mode) if key in ours else "was not reached"
        group[key] = {"wrong": wrong, "calls": len(expected), "shares": found.get(key), "raises": expected[-1][0][0] == "error",
                      "real": gives_reals(expected[-1][0])}
    for key, why in broken.items():
        group[key] = {"wrong": None, "calls": 0, "shares": None, "raises": True, "plain": why}
    return group


def gives_reals(told):
    """Whether no tensor of a result is complex."""
    if told is None:
        return True
    if told[0] == "items":
        return all(gives_reals(item) for item in told[2])
    return told[0] != "tensor" or "complex" not in str(told[1][0])


def tell_graphs(results):
    """Of ops with gradients: whether each call of theirs is a graph, whole."""
    found = {}
    for key, case in results.items():
        name, mode, _, _ = key.split("|")
        if mode != "gradients" or case["raises"]:
            continue
        shares = case["shares"] or [0, 0, 0, 0, True]
        whole = shares[4] and shares[3] == case["calls"]
        found.setdefault(name, set()).add("differs" if case["wrong"] else "one graph" if whole else "broken")
    if not found:
        return
    worst = {name: next(kind for kind in ("differs", "broken", "one graph") if kind in kinds) for name, kinds in found.items()}
    counts = collections.Counter(worst.values())
    print(f"ops with gradients: {len(worst)}, " + ", ".join(f"{kind} {count}" for kind, count in counts.most_common()))
    print("broken: " + " ".join(sorted(name for name, kind in worst.items() if kind == "broken")))


def tell(results, database, report):
    passed = failed = undecided = 0
    nodes = collections.Counter()
    eager = collections.Counter()
    for key, case in results.items():
        name, mode, dtype, _ = key.split("|")
        if case["wrong"] is None:
            undecided += 1
        elif case["wrong"]:
            failed += 1
            print(f"FAILED {key}: {case['wrong']}")
        else:
            passed += 1
        # The ops whose share is told: real-valued and with a derivative.
        counted = mode == "plain" and dtype == "float32" and not case["raises"] and case.get("real", True)
        if not counted or not database[name].supports_autograd:
            continue
        share = case["shares"] or [0, 0, 0, 0, True]
        nodes["compiled"] += share[0]
        nodes["library"] += share[1]
        nodes["torch, in a graph"] += share[2]
        missing = max(0, case["calls"] - share[3])
        nodes["eager"] += missing
        eager[name] += missing + share[2]
    tell_graphs(results)
    total = sum(nodes.values())
    if total:
        print("node executions of differentiable ops, float32: " + ", ".join(f"{kind} {count} ({100 * count / total:.1f}%)" for kind, count in nodes.most_common()))
    if report:
        with open(report, "w", encoding="utf-8") as file:
            json.dump({"nodes": nodes, "eager": eager.most_common(), "results": results}, file, indent=1)
    print(f"undecided by plain Python: {undecided}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--ops")
    parser.add_argument("--modes")
    parser.add_argument("--dtypes")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--resume")
    parser.add_argument("--report")
    given = parser.parse_args()
    database = {samples.name_of(op): op for op in samples.op_database()}
    choice = CHOICE_OF_GRADIENTS if given.modes == "gradients" else CHOICE
    chosen = given.ops.split(",") if given.ops else list(database) if given.wide else choice
    names = [name for name in chosen if name.split(".")[0] not in samples.LEFT_OUT and name not in samples.LEFT_OUT]
    missing = [name for name in names if name not in database]
    if missing:
        print(f"FAILED torch's database has no {missing}")
    every = [str(d).removeprefix("torch.") for d in samples.DTYPES]
    settings = {"modes": given.modes.split(",") if given.modes else list(samples.MODES),
                "dtypes": given.dtypes.split(",") if given.dtypes else every if given.wide else CHOICE_DTYPES,
                "samples": given.samples if given.samples is not None else 6 if given.wide else 1}
    turn, of = (int(part) for part in given.shard.split("/"))
    group = GROUP if given.wide or given.ops else len(names)
    groups = [names[i:i + group] for i in range(0, len(names), group)][turn::of]
    results = {}
    if given.resume and os.path.exists(given.resume):
        with open(given.resume, "rb") as file:
            results = pickle.load(file)
    done = {key.split("|")[0] for key in results}
    for ops in groups:
        ops = [name for name in ops if name not in done]
        if not ops:
            continue
        with tempfile.TemporaryDirectory() as folder:
            results |= run_group(given.tool, settings | {"ops": ops}, folder)
        if given.resume:
            with open(given.resume + ".new", "wb") as file:
                pickle.dump(results, file)
            os.replace(given.resume + ".new", given.resume)
    return tell(results, database, given.report) or bool(missing)


if __name__ == "__main__":
    sys.exit(main())
