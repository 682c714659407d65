"""Programs print in process (`penstock run PROGRAM`) what plain Python prints, and end as it does.

Usage: check_programs.py PENSTOCK_RUN [--each] [--sweep] [NAME]…
Importing torch takes longer than most programs: those that leave nothing behind run together, one after
the other in the same process; --each runs every one in a process of its own. --sweep has programs that sample what
they go over go over all of it.
"""
import difflib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PENSTOCK_TEST_PYTHON", sys.executable)

# By program: the diagnostics that it may get on standard error. Each names a limit that is known; a
# segment that it names is stepped, so what the program prints is still compared.
ALLOWED = {
    # Two arguments in one memory, more than eight ways to call a helper.
    "aliasing.py": {"PS0502", "PS0505"},
    # Every function that asks is a way to call what shows its results.
    "asked_gradients.py": {"PS0502"},
    # Numbers of what is as large as no rule says, each a way to call.
    "changing_places.py": {"PS0502"},
    # Two arguments in one memory, one of them written.
    "asked_elements.py": {"PS0505"},
    # Every function of a score is a way to call what asks for it, every length and mask one to make masks.
    "attention_scores.py": {"PS0502"},
    # Every function is a way to call what shows its results.
    "bases_of_views.py": {"PS0502"},
    # Classes that change, each change a way to call.
    "classes_put_back.py": {"PS0502"},
    # Classes and functions that change, each a way to call.
    "attributes_and_mappings.py": {"PS0502"},
    # Types of numbers, and numbers that torch refuses: each is a way to call.
    "changing_numbers.py": {"PS0502"},
    # Sizes that Python takes by value, each a way to call.
    "changing_sizes.py": {"PS0502"},
    "sizes_in_python.py": {"PS0502"},
    # Every function is a way to call.
    "copies_and_caches.py": {"PS0502"},
    # Every key, or every size, is a way to call.
    "data_dependent_loops.py": {"PS0502"},
    # What is set in a dict is a way to call.
    "dicts_of_instances.py": {"PS0502"},
    # Results of every dtype, size and layout are told, each a way to call.
    "edges_of_values.py": {"PS0502"},
    "formulas.py": {"PS0502"},
    # Every function is a way to call; some are methods of numbers, which only what keeps them alive can keep.
    "functions_as_values.py": {"PS0502", "PS0503"},
    # Lists and functions of every kind, each a way to call.
    "library_idioms.py": {"PS0502"},
    # Functions, modules and layouts, each a way to call.
    "layouts_of_gradients.py": {"PS0502"},
    # Modules and shapes, each a way to call.
    "library_layouts.py": {"PS0502"},
    # Counters of loops, and containers of every size.
    "locals_at_branches.py": {"PS0502"},
    # Every module and task is a way to call what modules share.
    "modules_in_turn.py": {"PS0502"},
    # More than eight hooks, children and modes: each is a way to call.
    "modules_and_hooks.py": {"PS0502"},
    # Numbers that are taken by value, each a way to call; a list that is given back as it came.
    "numbers_that_decide.py": {"PS0502", "PS0503"},
    # Results of every layout are told, each a way to call.
    "strided_views.py": {"PS0502"},
    # Every function and every write is a way to call.
    "uncounted_writes.py": {"PS0502"},
    # A view that lies outside of the tensor that it is taken of, though in its storage.
    "offsets_in_storage.py": {"PS0205"},
    # Five nets, in sizes that change, each a way to call.
    "image_gradients.py": {"PS0502"},
    # Results of every dtype and size are told, each a way to call.
    "autocast_training.py": {"PS0502"},
    # Results of every kind are told, each a way to call.
    "operators_as_methods.py": {"PS0502"},
    # Parameters of more than eight kinds.
    "optimizers.py": {"PS0502"},
    # Every optimizer, and what changes between two of its steps, is a way to call.
    "optimizer_steps.py": {"PS0502"},
    # Every function, and every size of a list, is a way to call.
    "type_parameters.py": {"PS0502"},
    # A tensor is written while a view of it that an op in place left is there.
    "saved_for_backward.py": {"PS0505"},
    # A tensor that was given another's memory is written.
    "written_outs.py": {"PS0505"},
    # A complex tensor seen as pairs of reals is written.
    "writes_and_numbers.py": {"PS0505"},
    # Sizes that Python takes by value, each a way to call.
    "computed_sizes.py": {"PS0502"},
    "sizes_in_objects.py": {"PS0502"},
    # Functions that go through torch's own code in every mode; an object that cannot be made behind a segment.
    "tensor_kinds.py": {"PS0502", "PS0505"},
    # A tensor is written and shares memory with a view of it.
    "stored_then_read.py": {"PS0505"},
    # Every list, and what its items are, is a way to call.
    "tensor_lists.py": {"PS0502"},
    # Two gradients in one memory, which are written.
    "small_steps.py": {"PS0505"},
    # Layouts and sizes, each a way to call.
    "strides_and_views.py": {"PS0502"},
    # Every size is a way to call; views that come from a segment are written.
    "resized_outputs.py": {"PS0502", "PS0505"},
    # Every object whose id counts is a way to call.
    "sets_of_objects.py": {"PS0502"},
}

# And how many calls of compiled graphs there must be at least, so that the comparison means something (else one): well
# below what there are, as the gate refuses an entry whose measured calls some other work made slow.
CALLS = {"functions_of_classes.py": 28, "operators_of_objects.py": 20, "made_leaves.py": 80, "meta_learning.py": 90, "tensor_keys.py": 60, "kept_iterators.py": 50, "stored_through_masks.py": 60, "asked_gradients.py": 80, "engine_gradients.py": 300, "changing_arguments.py": 1700, "changing_places.py": 600, "exchanged_code.py": 40, "activation_checkpoints.py": 60, "aliasing.py": 500, "collections_and_truth.py": 350, "demanded_elements.py": 150, "asked_elements.py": 50, "autocast_training.py": 100, "attributes_and_mappings.py": 40, "bases_of_views.py": 270, "computed_indices.py": 100, "computed_sizes.py": 60, "changing_numbers.py": 300, "changing_sizes.py": 150, "compiled_functions.py": 20, "formulas.py": 60,
         "configured.py": 25, "constructors.py": 100, "copies_and_caches.py": 30,
         "dropout.py": 400, "edges_of_values.py": 50,
         "ending.py": 4, "ending_compiled.py": 10, "foreign_idioms.py": 60, "functions_as_values.py": 15, "generating.py": 60,
         "image_classifier.py": 2, "image_gradients.py": 40, "imported_libraries.py": 13, "iterators_in_python.py": 50, "layouts_of_gradients.py": 20, "library_layouts.py": 40, "locals_at_branches.py": 500,
         "numbers_that_decide.py": 800, "offsets_in_storage.py": 50, "optimizers.py": 100, "optimizer_steps.py": 200, "overridden_ops.py": 150, "parameters_in_turn.py": 25, "program_backends.py": 60, "python_data.py": 40, "raised_exceptions.py": 150, "values_of_python.py": 60,
         "recurrent_cells.py": 20, "saved_for_backward.py": 60, "resized_outputs.py": 300, "sets_of_objects.py": 40, "sizes_in_python.py": 150, "tensor_kinds.py": 200,
         "long_chains.py": 40, "long_loops.py": 150, "members_of_objects.py": 15, "functions_of_c.py": 8, "losses_in_turn.py": 30, "kept_attention.py": 25, "numbers_of_numpy.py": 100, "conversions.py": 28, "stored_then_read.py": 40, "strides_and_views.py": 40, "classes_put_back.py": 60, "gradients_of_control.py": 60, "sizes_in_objects.py": 300, "sizes_in_training.py": 250, "sizes_of_elements.py": 300, "views_by_elements.py": 250, "sizes_that_change.py": 300,
         "sizes_of_composites.py": 45, "small_steps.py": 1100, "tensor_lists.py": 300, "words_as_keys.py": 60, "writes_and_numbers.py": 200, "whole_steps.py": 75, "written_outs.py": 250, "data_of_leaves.py": 200, "unread_variables.py": 18, "read_variables.py": 100}

# And how many graphs they may take at most, by a part of the path of the files that these are of.
GRAPHS = {"sequences_of_lengths.py": {"": 140}, "computed_sizes.py": {"": 67}, "made_leaves.py": {"made_leaves.py": 43}, "meta_learning.py": {"": 34}, "tensor_keys.py": {"": 21}, "data_of_leaves.py": {"": 64}, "unread_variables.py": {"": 8}, "kept_iterators.py": {"": 14}, "stored_through_masks.py": {"": 56}, "asked_gradients.py": {"asked_gradients.py": 62}, "engine_gradients.py": {"engine_gradients.py": 118}, "changing_arguments.py": {"changing_arguments.py": 417}, "changing_places.py": {"changing_places.py": 285}, "functions_of_classes.py": {"functions_of_classes.py": 18}, "small_steps.py": {"small_steps.py": 24, "clip_grad.py": 6}, "generating.py": {"": 75, "models/gpt2/": 5}, "words_as_keys.py": {"words_as_keys.py": 9, "clip_grad.py": 5},
          "sizes_from_elements.py": {"sizes_from_elements.py": 35}, "sizes_of_composites.py": {"": 34}, "iterators_in_python.py": {"": 34}, "class_statements.py": {"": 70},
          "members_of_objects.py": {"": 5}, "compared_elements.py": {"": 11}, "guards_that_never_hold.py": {"": 50},
          "sizes_that_change.py": {"sizes_that_change.py": 12}, "modules_in_turn.py": {"": 16}, "optimizer_steps.py": {"optim/optimizer.py": 14}}

# And the breaks that there must be: their codes, and what they say.
UNHOLDABLE = "no call fits a segment that relies on this: "
UNSEEN = " writes what gradients go through, and torch does not record it"
BREAKS = {"guards_that_never_hold.py": {("PS0313", UNHOLDABLE + "getattr(G['Counted'], '__dict__') is there"),
                                        ("PS0313", UNHOLDABLE + "L['thing'] is 'an object of type Thing'"),
                                        ("PS0313", UNHOLDABLE + "L['function'] is '__main__.<lambda>'")},
          "engine_gradients.py": {("PS0307", "torch's engine gives gradients that lie otherwise than a graph's")},
          "data_of_leaves.py": {("PS0305", "mul_" + UNSEEN),
                                ("PS0305", "torch.nn.functional.linear reads what gradients go to, written through .data before")},
          "recorded_gradients.py": {("PS0305", "mul_" + UNSEEN),
                                    ("PS0305", "div_" + UNSEEN),
                                    ("PS0307", "what torch recorded for gradients is looked at"),
                                    ("PS0310", "there is no derivative of torch.as_strided, which comes to aten.as_strided.default")}}

# Programs that start processes, end in ways of their own, set what torch does for the whole process, or compile with
# torch; and those that call modules themselves: which program's graphs those are does not show, as they begin in torch.
ALONE = {"activation_checkpoints.py", "asked_gradients.py", "changing_arguments.py", "changing_places.py", "attention_scores.py", "backend_calls.py", "carried_gradients.py", "child_processes.py", "class_statements.py", "classes_put_back.py", "compared_elements.py", "compiled_functions.py", "conditions_on_tensors.py", "configured.py", "data_of_leaves.py", "decorators_and_patterns.py", "ending.py", "ending_compiled.py", "ends_with_imports.py",
         "exchanged_tensors.py", "generating.py", "gradients_of_control.py", "guards_that_never_hold.py", "hooks_and_parameters.py", "idioms_of_python.py", "image_classifier.py", "loops_on_tensors.py", "loops_without_end.py", "made_leaves.py", "members_of_objects.py", "meta_learning.py", "modules_in_turn.py",
         "optimizer_steps.py", "optimizers.py", "program_backends.py", "recorded_gradients.py", "recurrent_and_attention.py", "scans_of_tensors.py", "training.py", "training_loop.py", "sequences_of_lengths.py", "sizes_of_composites.py", "templates_and_annotations.py", "tensor_keys.py", "type_parameters.py", "unread_variables.py", "words_as_keys.py"}
# What programs need of CPython that earlier versions cannot even read.
SINCE = {"type_parameters.py": (3, 12), "templates_and_annotations.py": (3, 14)}
# And the packages, beside torch and NumPy, that a Python under test may be without.
PACKAGES = {"generating.py": "transformers"}
TOGETHER = os.path.join(HERE, "check_together.py")
# Sanitizers and whole sweeps take many times as long.
PATIENCE_SECONDS = 4000 if "ASAN_OPTIONS" in os.environ or os.environ.get("PENSTOCK_SWEEP") else 400
MARK = "=== "  # and the program's name: a line on both of its streams before it starts


def run(*command, store):
    environment = dict(os.environ, PENSTOCK_COMPILE="now", PENSTOCK_STORE=store, OMP_NUM_THREADS="2")
    environment.pop("CXX", None)  # Inductor takes no command with arguments
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE_SECONDS, check=False)


def parts(text, names):
    """What each program of a process wrote. What is written after the last one is that one's."""
    pieces = re.split(r"^" + MARK + r"(\S+\.py)$\n", text, flags=re.MULTILINE)
    found = dict(zip(pieces[1::2], pieces[2::2]))
    return {name: found.get(name) for name in names}


def check(tool, names, store):
    """Runs programs in one process, plainly and ours; gives what is wrong by program."""
    paths = [os.path.join(HERE, name) for name in names]
    command = paths if len(paths) == 1 else [TOGETHER, *paths]
    plain = run(PYTHON, *command, store=store)
    documents = os.path.join(store, os.path.basename(names[0]) + ".json")
    ours = run(tool, "-v", "--python=" + PYTHON, "-o", documents, *command, store=store)
    calls = calls_of(documents)
    if len(names) == 1:
        return {names[0]: too_many_graphs(documents, GRAPHS.get(names[0], {})) + missing_breaks(documents, BREAKS.get(names[0], set())) + judge(names[0], plain.stdout, ours.stdout, plain.stderr, ours.stderr, sum(calls.values()))
                + judge_status(plain, ours)}
    printed, expected = parts(ours.stdout, names), parts(plain.stdout, names)
    told, expected_told = parts(ours.stderr, names), parts(plain.stderr, names)
    wrong = {}
    for name, path in zip(names, paths):
        if expected[name] is None:
            wrong[name] = [f"plain Python did not get to it: status {plain.returncode}: {plain.stderr[-600:]}"]
        elif printed[name] is None or told[name] is None:
            wrong[name] = ["not reached"]
        else:
            wrong[name] = judge(name, expected[name], printed[name], expected_told[name], told[name],
                                calls.get(path, 0))
    # The process ended in the last program that was reached.
    last = [name for name in names if printed[name] is not None][-1:] or names[:1]
    wrong[last[0]] += judge_status(plain, ours)
    return wrong


def judge_status(plain, ours):
    """What does not get to its end compares less than it seems to."""
    wrong = [] if plain.returncode == 0 else [f"plain Python ends with status {plain.returncode}: {plain.stderr[-600:]}"]
    if ours.returncode != plain.returncode:
        wrong.append(f"status {ours.returncode}, not {plain.returncode}: {ours.stderr[-2000:]}")
    return wrong


def judge(name, expected, printed, expected_told, told, calls):
    wrong = []
    if printed != expected:
        lines = difflib.unified_diff(expected.splitlines(), printed.splitlines(), "python", "penstock",
                                     lineterm="", n=1)
        wrong.append("prints something else:\n" + "\n".join(line[:300] for line in list(lines)[:40]))
    codes = set(re.findall(r"^penstock: .*?\[(PS\d+)\]", told, re.MULTILINE))
    if codes - ALLOWED.get(name, set()) or "Traceback" in told and "Traceback" not in expected_told:
        wrong.append(told[-2000:])
    if calls < CALLS.get(name, 1):
        wrong.append(f"only {calls} calls of compiled graphs")
    return wrong


def calls_of(path):
    """How often compiled graphs were called, their recording included, by the file of their root."""
    with open(path, encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    counts = {row["id"]: row["count"] for row in documents[-1]["calls"]}
    calls = {}
    for graph in documents:
        if graph["penstock"] == "graph":
            program = graph["meta"].get("files", {}).get(graph["location"]["file"])
            calls[program] = calls.get(program, 0) + counts.get(graph["id"], 0)
    return calls


def missing_breaks(path, expected):
    with open(path, encoding="utf-8") as file:
        found = {(document["code"], document["reason"]) for document in map(json.loads, file) if document["penstock"] == "break"}
    return [f"no break {code}: {reason}" for code, reason in sorted(expected - found)]


def too_many_graphs(path, bounds):
    """Which bounds on graphs, each by a part of the path of the file that they are of, do not hold."""
    with open(path, encoding="utf-8") as file:
        graphs = [document for document in map(json.loads, file) if document["penstock"] == "graph"]
    counts = {part: sum(part in graph["location"]["file"] for graph in graphs) for part in bounds}
    return [f"{count} graphs of {part or 'all files'}" for part, count in counts.items() if count > bounds[part]]


def why_not(name):
    """What this Python, which is the one under test, lacks for a program."""
    if sys.version_info < SINCE.get(name, ()):
        return f"Python {'.'.join(map(str, SINCE[name]))} is the first that reads it"
    if name in PACKAGES and importlib.util.find_spec(PACKAGES[name]) is None:
        return f"there is no {PACKAGES[name]}"
    return None


def main():
    tool, names = sys.argv[1], sys.argv[2:]
    each = "--each" in names
    if "--sweep" in names:
        os.environ["PENSTOCK_SWEEP"] = "all"
    names = [name for name in names if not name.startswith("--")]
    names = names or sorted(n for n in os.listdir(HERE) if n.endswith(".py") and not n.startswith("check_"))
    skipped = {name: reason for name in names if (reason := why_not(name))}
    for name, reason in skipped.items():
        print(f"{name}: skipped, {reason}", file=sys.stderr)
        names.remove(name)
    together = [] if each else [name for name in names if name not in ALONE]
    groups = [[name] for name in names if name not in together] + ([together] if together else [])
    failed = 0
    with tempfile.TemporaryDirectory() as store:
        for group in groups:
            for name, wrong in check(tool, group, store).items():
                failed += bool(wrong)
                for line in wrong:
                    print(f"{name}: {line}")
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
