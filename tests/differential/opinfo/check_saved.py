"""What torch keeps for backward of the ops of its database is what compiled calls keep: errors where it was written
meanwhile, gradients of what stands there by then where nobody counted the write (run_saved.py).

Usage: check_saved.py PENSTOCK_RUN [--ops NAME,…] [--samples N] [--shard I/N] [--report FILE] [--wide]

Without --wide it runs a fixed small choice: ops of every family, those that were wrong once among them.
"""
import argparse
import json
import sys
import tempfile

import check_ops
import samples

CHOICE = (
    "addcdiv addmm atan2 bmm clamp dist exp gather index_select inner kron linalg.multi_dot logaddexp logsumexp mul "
    "nn.functional.adaptive_avg_pool2d nn.functional.batch_norm nn.functional.gelu nn.functional.glu "
    "nn.functional.linear nn.functional.logsigmoid nn.functional.mse_loss nn.functional.pad.reflect "
    "nn.functional.prelu nn.functional.soft_margin_loss norm norm.inf pow softmax std "
    "linalg.inv linalg.solve fft.rfft cummax nn.functional.grid_sample "
    "torch.ops.aten._safe_softmax.default true_divide var where"
).split()
CHOICE_IN_PLACE = "addcmul clamp_max pow".split()

# Writes, by op, behind which gradients are not torch's, and why. Derivatives read what torch keeps by torch's formulas; of
# these they do not.
KNOWN = {name: (writes.split(", "), why) for names, writes, why in (
    ("native_layer_norm", "data operand 0, other operand 0, data result 1, data result 2", "they read the deviations that forward computed"),
    ("nn.functional.layer_norm nn.functional.group_norm nn.functional.batch_norm", "data operand 0, other operand 0",
     "they read the deviations that forward computed"),
    ("nn.functional.instance_norm", "data operand 0", "it reads the deviations that forward computed"),
    ("nn.functional.cosine_similarity", "data operand 0, data operand 1, other operand 0, other operand 1",
     "it is taken apart into other steps than torch's"),
    ("nn.functional.bilinear", "data operand 0, data operand 2, other operand 2", "it is taken apart into other steps than torch's"),
    ("nn.functional.multi_head_attention_forward", "counted operand 3", "torch tells that it is a view of several, in other words"),
    ("nn.functional.elu nn.functional.celu nn.functional.selu", "data result 0", "in place, torch reads what they gave"),
    ("nn.functional.max_pool1d nn.functional.max_pool2d", "data result 1", "they find the places again"),
    ("amax amin masked.amax masked.amin", "data operand 0, data result 0, other operand 0", "of a tensor without dims: none is extreme"),
) for name in names.split()}

# Torch differentiates these, running them again on their operands as they were, or on those that it keeps as they are: what
# stands by then in a result of theirs, or in what it made of operands, it does not read.
RUN_AGAIN = ("fft.", "linalg.", "special.", "angle", "cdist", "cholesky", "cummax", "cummin", "complex", "erfinv", "grid_sampler", "igamma",
             "kthvalue", "logcumsumexp", "lu", "matrix_exp", "median", "mode", "nanmedian", "nn.functional.ctc_loss",
             "nn.functional.embedding_bag", "nn.functional.grid_sample", "nn.functional.max_unpool", "nn.functional.pdist", "ormqr", "pinverse",
             "polar", "qr", "renorm", "index_reduce", "stft", "istft", "svd", "triangular_solve", "_segment_reduce", "logdet", "frexp", "ldexp",
             "copysign", "i0", "mvlgamma", "polygamma", "digamma", "lgamma")


def is_excused(name, written):
    return written in KNOWN.get(name, ([], ""))[0] or (name.startswith(RUN_AGAIN) and not written.startswith("counted"))


def run_group(tool, settings, folder):
    """By key: what was wrong by what was written, writes that torch refused and took, and calls that ran compiled."""
    documents = folder + "/documents.json"
    command = [tool, "--python=" + check_ops.PYTHON, "--deterministic", "--no-tensors", "--only=case_*", "-o", documents]
    told, ended = check_ops.child(command, settings, folder, "saved", "run_saved.py")
    with open(folder + "/saved.progress", encoding="utf-8") as file:
        shares = check_ops.shares(tool, documents, file.read().splitlines())
    for key, why in ended.items():
        told[key] = ({"anything": "ENDED THE PROCESS: " + why}, 0, 0)
    return {key: [*found, shares.get(key, [0] * 4)[3]] for key, found in told.items() if found}


def tell(results, report):
    passed = failed = refused = taken = compiled = known = 0
    for key, (wrong, no, yes, calls) in results.items():
        name = key.split("|")[0]
        known += sum(is_excused(name, written) for written in wrong)
        wrong = {written: why for written, why in wrong.items() if not is_excused(name, written)}
        for written, why in wrong.items():
            print(f"FAILED {key}: {written}: {why}")
        failed, passed = failed + bool(wrong), passed + (not wrong)
        refused, taken, compiled = refused + no, taken + yes, compiled + bool(calls)
    if report:
        with open(report, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    print(f"writes: {taken} taken, {refused} refused; {known} known to give other gradients; {compiled} of {len(results)} cases ran compiled")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not compiled else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--ops")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--report")
    given = parser.parse_args()
    database = [samples.name_of(op) for op in samples.op_database() if op.supports_autograd]
    chosen = given.ops.split(",") if given.ops else database if given.wide else CHOICE
    names = [name for name in chosen if name.split(".")[0] not in samples.LEFT_OUT and name not in samples.LEFT_OUT]
    missing = [name for name in names if name not in database]
    if missing:
        print(f"FAILED torch's database has no {missing}")
    turn, of = (int(part) for part in given.shard.split("/"))
    wide = given.wide or given.ops
    settings = {"modes": ["plain", "in_place"] if wide else ["plain"], "dtypes": ["float32"], "samples": given.samples}
    groups = [names[i:i + check_ops.GROUP] for i in range(0, len(names), check_ops.GROUP)][turn::of] if wide else [names]
    runs = [settings | {"ops": ops} for ops in groups]
    if not wide:
        runs.append(settings | {"ops": CHOICE_IN_PLACE, "modes": ["in_place"]})
    results = {}
    for run in runs:
        with tempfile.TemporaryDirectory() as folder:
            results |= run_group(given.tool, run, folder)
    return tell(results, given.report) or bool(missing)


if __name__ == "__main__":
    sys.exit(main())
