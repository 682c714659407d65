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
    "addcdiv addmm atan2 bmm clamp exp gather index_select inner kron linalg.multi_dot logsumexp mul "
    "nn.functional.adaptive_avg_pool2d nn.functional.batch_norm nn.functional.gelu nn.functional.glu nn.functional.linear "
    "nn.functional.logsigmoid nn.functional.mse_loss nn.functional.pad.reflect nn.functional.prelu norm pow softmax std "
    "torch.ops.aten._safe_softmax.default true_divide var where"
).split()
CHOICE_IN_PLACE = "addcmul clamp_max pow".split()

# Whose gradients are not torch's where a write was not counted ("data", "other"), or, with "counted", where it was, and
# why. Derivatives read what torch keeps by torch's formulas; of these they do not.
KNOWN = {name: (kinds, why) for names, kinds, why in (
    ("native_layer_norm nn.functional.layer_norm nn.functional.group_norm nn.functional.batch_norm nn.functional.instance_norm",
     "data other", "they read the deviations that forward computed"),
    ("dist nn.functional.cosine_similarity nn.functional.bilinear nn.functional.soft_margin_loss logaddexp logaddexp2 "
     "masked.logaddexp nn.functional.multi_head_attention_forward", "counted data other",
     "they are taken apart into other steps than torch's"),
    ("nn.functional.elu nn.functional.celu nn.functional.selu", "data", "in place, torch reads what they gave"),
    ("nn.functional.max_pool1d nn.functional.max_pool2d", "data", "they find the places again"),
    ("amax amin masked.amax masked.amin norm.inf", "data other", "of a tensor without dims, and of none that is extreme"),
) for name in names.split()}


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
        kinds = KNOWN.get(key.split("|")[0], ("", ""))[0].split()
        known += sum(written.split()[0] in kinds for written in wrong)
        wrong = {written: why for written, why in wrong.items() if written.split()[0] not in kinds}
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
