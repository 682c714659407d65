// Activation checkpoints. torch keeps nothing of what a checkpoint's function computes, and runs
// the function again when backward gets there. A function of Python stands for torch's
// (polyfills_control_flow.py): it runs natively what torch does around the function, so that the
// call that is recorded is torch's own, and has the walker follow the function between. The calls
// that are recorded of it bear the checkpoint's number, and the cut of the graph's gradients has
// backward compute them again (cut/model.h).
//
// What is run again must do nothing but compute its results: what it does to objects and to memory
// that was there before would happen once in an entry, and twice in torch. Random numbers are the
// same ones in both runs, as torch puts the generator's state back.
//
// The older form (use_reentrant=True) runs its function without gradient mode, and differentiates
// the second run within backward. It is recorded as the newer one, which gives the same gradients,
// where both give tensors that require grad.

#include "record/objects/checkpoint.h"

#include <algorithm>
#include <iterator>

#include "ir/checkpoint.h"
#include "ops/draws.h"
#include "python/hook.h"
#include "python/literal.h"
#include "record/objects/control_flow.h"
#include "record/objects/torch_call.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "torch/state.h"

namespace penstock::record {

namespace {

bool answers_yes(const char* name, PyObject* argument) {
  PyObject* function = polyfill(name);
  if (function == nullptr) return false;
  const python::HookPause pause;
  const python::PyRef answer =
      python::PyRef::steal(PyObject_CallFunctionObjArgs(function, argument, nullptr));
  PyErr_Clear();
  return answer.get() == Py_True;
}

bool has_policy(PyObject* context_fn) {
  return context_fn != Py_None &&
         python::qualified_name(context_fn) != "torch.utils.checkpoint.noop_context_fn";
}

/// Whether a checkpoint with that option computes what one without it does.
bool is_followed(std::string_view name, PyObject* value) {
  if (name == "use_reentrant") return PyBool_Check(value);
  if (name == "preserve_rng_state") return value == Py_True;
  if (name == "debug") return value == Py_False;
  if (name == "early_stop") return PyBool_Check(value);
  if (name == "determinism_check") return PyUnicode_Check(value);
  if (name == "context_fn") return !has_policy(value) || answers_yes("is_selective", value);
  return false;
}

bool is_option(std::string_view name) {
  // The last came with torch 2.15.
  constexpr std::string_view kOptions[] = {
      "use_reentrant", "preserve_rng_state",         "debug", "early_stop", "determinism_check",
      "context_fn",    "respect_saved_tensors_hooks"};
  return std::ranges::find(kOptions, name) != std::end(kOptions);
}

/// Whether the checkpoint is one that can be recorded. Its options are guarded.
bool may_follow(Walk& walk, const std::vector<Operand>& positional, const Keywords& keywords) {
  bool reentrant = true, others = false, policy = false;
  for (const auto& [key, operand] : keywords) {
    const std::string_view name = python::text_of(key);
    if (!is_option(name)) {
      others = true;
      continue;
    }
    if (!is_followed(name, operand.object)) return false;
    if (name == "use_reentrant") reentrant = operand.object == Py_True;
    if (name == "context_fn") policy = has_policy(operand.object);
  }
  const bool is_given = std::ranges::any_of(
      keywords, [](const auto& one) { return python::text_of(one.first) == "use_reentrant"; });
  if (!is_given) return false;  // torch warns
  if (reentrant) {
    // Without a tensor that requires grad nothing that comes out does.
    const auto wants = [&](Operand operand) { return requires_grad(walk, operand.object); };
    if (policy) return false;
    if (others || !torch::grad_enabled() ||
        std::none_of(positional.begin() + 1, positional.end(), wants))
      return false;
  }
  return std::ranges::all_of(keywords, [&](const auto& one) {
    const std::string_view name = python::text_of(one.first);
    if (name == "context_fn") return walk.facts.consume_identity(one.second);
    return !is_option(name) || walk.facts.consume(one.second);
  });
}

}  // namespace

std::optional<bool> model_checkpoint(Walk& walk, FrameShadow& f, Operand function,
                                     const std::vector<Operand>& positional,
                                     const Keywords& keywords, int pops) {
  if (python::qualified_name(function.object) != kCheckpoint || positional.empty() ||
      walk.context.for_backend() || walk.recorder.subgraphs.any() ||
      !answers_yes("has_checkpoints", nullptr) || !may_follow(walk, positional, keywords))
    return std::nullopt;
  if (!walk.facts.consume_identity(function)) return false;
  return call_stand_in(walk, f, function, "checkpoint", positional, keywords, pops);
}

std::optional<bool> model_begin_checkpoint(Walk& walk, FrameShadow& f, Operand function,
                                           const std::vector<Operand>& positional, const Keywords&,
                                           int pops) {
  // torch keeps the tensors that are arguments themselves, and by position.
  std::vector<Argument> kept;
  const std::vector<Shadow> arguments = walk.objects.items(positional[1]);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    PyObject* object = PyTuple_GET_ITEM(positional[1].object, static_cast<Py_ssize_t>(i));
    if (!walk.is_tensor(object)) continue;
    auto tensor = argument(walk, {arguments[i], object});
    if (!tensor) return false;
    kept.push_back(std::move(*tensor));
  }
  walk.context.guard_grad_mode();
  Call call{"call_function",
            "checkpoint",
            std::string(kCheckpoint),
            std::move(kept),
            {},
            walk.stack(),
            {}};
  if (has_policy(positional[3].object))
    call.kwargs.push_back({std::string(kCheckpointPolicy), std::string("policy")});
  return natively(f, function, [pops, call = std::move(call)](Walk& walk, FrameShadow& f) {
    walk.recorder.checkpoints.begin(walk.recorder, walk.effects.all().size());
    walk.objects.watch();
    walk.recorder.add_call(call);
    gives_constant(f, pops);
  });
}

namespace {

/// Why running the function again is no mere matter of memory; empty: it is.
std::string obstacle_to_again(Walk& walk) {
  const OpenCheckpoints::Open& open = walk.recorder.checkpoints.innermost();
  if (walk.objects.unwatch() || walk.effects.all().size() > open.effects)
    return "its function changes an object";
  if (open.writes_outside) return "its function writes a tensor that was there before";
  const std::vector<Node>& nodes = walk.recorder.graph().nodes;
  for (std::size_t i = open.first_node; i < nodes.size(); ++i) {
    const Argument* generator = find_argument(nodes[i], "generator");
    if (ops::draws(nodes[i]) && generator != nullptr && !generator->is_none())
      return "its function draws from a generator that torch does not put back";
  }
  return {};
}

/// Why the older form gives something else than what is recorded; empty: it does not.
std::string obstacle_to_reentrant(const Walk& walk, PyObject* result, PyObject* arguments) {
  std::vector<PyObject*> results{result};
  if (PyTuple_CheckExact(result))
    results.assign(&PyTuple_GET_ITEM(result, 0),
                   &PyTuple_GET_ITEM(result, 0) + PyTuple_GET_SIZE(result));
  for (PyObject* one : results) {
    if (!walk.is_tensor(one)) {
      if (results.size() == 1) return "its function gives something else than tensors";
      continue;
    }
    if (!requires_grad(walk, one)) return "its function gives a tensor without a gradient";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
      if (PyTuple_GET_ITEM(arguments, i) == one) return "its function gives back what it takes";
    }
  }
  return {};
}

}  // namespace

std::optional<bool> model_end_checkpoint(Walk& walk, FrameShadow& f, Operand function,
                                         const std::vector<Operand>& positional, const Keywords&,
                                         int pops) {
  std::string obstacle = obstacle_to_again(walk);
  if (obstacle.empty() && positional[3].object == Py_True)
    obstacle = obstacle_to_reentrant(walk, positional[1].object, positional[2].object);
  if (!obstacle.empty())
    return walk.verdict.broke(Code::PS0310, "the activation checkpoint is torch's: " + obstacle);
  return natively(f, function, [pops, shadow = positional[1].shadow](Walk& walk, FrameShadow& f) {
    walk.recorder.checkpoints.end();
    gives(f, pops, shadow);
  });
}

}  // namespace penstock::record
