// torch.autograd.Function where gradients are asked for. A function of Python stands for its
// apply() (polyfills_control_flow.py): forward is followed as where none are asked for
// (autograd_function.cpp), and gives tensors that are constants to gradients. Then backward runs
// once, on the context that forward filled and on tensors that stand for what will come for the
// results; what was recorded of it becomes the subgraph of a node (prim.custom_vjp) whose results
// are forward's, with that backward. It must do nothing but compute gradients, as what torch's
// control flow runs: torch calls it when it gets there, and an entry does not call it at all.
//
// Torch's tensors are the very ones that forward made, or views of its arguments, which torch
// forbids to write in place; those of the node are in memory of their own.

#include "ir/subgraphs.h"
#include "python/literal.h"
#include "record/objects/control_flow.h"
#include "record/polyfills.h"
#include "record/results.h"
#include "torch/state.h"

namespace penstock::record {

using python::PyRef;

namespace {

constexpr const char* kWhat = "torch.autograd.Function.apply";

bool refuse(Walk& walk, const std::string& why) {
  return walk.verdict.broke(Code::PS0310, std::string(kWhat) + " is torch's: " + why);
}

/// The tensor, or the items of the tuple, that a function gives.
std::vector<Operand> results_in(Walk& walk, Operand result) {
  if (!PyTuple_CheckExact(result.object)) return {result};
  std::vector<Operand> results;
  const std::vector<Shadow> shadows = walk.objects.items(result);
  for (std::size_t i = 0; i < shadows.size(); ++i)
    results.push_back({shadows[i], PyTuple_GET_ITEM(result.object, static_cast<Py_ssize_t>(i))});
  return results;
}

/// The context of the function that gave the tensors; null: there is none that is followed.
PyRef context_of(Walk& walk, const std::vector<Operand>& results) {
  const auto found = std::ranges::find_if(
      results, [&](const Operand& one) { return requires_grad(walk, one.object); });
  PyRef context = found == results.end()
                      ? PyRef()
                      : PyRef::steal(PyObject_GetAttrString(found->object, "grad_fn"));
  PyErr_Clear();
  return context && walk.objects.find(context.get()) != nullptr ? std::move(context) : PyRef();
}

/// Whether forward told torch something of that name about the call.
bool told(Walk& walk, PyObject* context, const char* name) {
  const ObjectShadow* known = walk.objects.find(context);
  return known != nullptr && known->keys &&
         PyDict_GetItemString(known->keys.get(), name) != nullptr;
}

/// What modules with backward hooks call: torch hangs the hooks on its node.
bool is_hooked(const std::vector<Operand>& positional) {
  return !positional.empty() && PyType_Check(positional[0].object) &&
         python::qualified_name(positional[0].object) ==
             "torch.nn.modules._functions.BackwardHookFunction";
}

/// torch.autograd.function.once_differentiable wraps a backward that is not differentiated.
bool is_once_differentiable(PyObject* backward) {
  if (!PyFunction_Check(backward)) return false;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(backward));
  return python::text_of(code->co_qualname) == "once_differentiable.<locals>.wrapper";
}

std::string obstacle_to_function(Walk& walk, Operand result, PyObject* backward) {
  const std::vector<Operand> results = results_in(walk, result);
  const PyRef context = context_of(walk, results);
  if (!context) return "what its forward keeps is not followed";
  if (told(walk, context.get(), "dirty_tensors")) return "its forward writes what it takes";
  const auto wanted = [&](const Operand& one) { return requires_grad(walk, one.object); };
  for (auto one = results.begin(); one != results.end(); ++one) {
    const bool again = std::any_of(
        results.begin(), one, [&](const Operand& other) { return other.object == one->object; });
    // All that comes for it is the last one's then.
    if (again && wanted(*one)) return "its forward gives a tensor twice";
  }
  if (told(walk, context.get(), "materialize_grads") && std::ranges::count_if(results, wanted) > 1)
    return "its backward may be given None";
  if (is_once_differentiable(backward)) return "its backward cannot be differentiated again";
  return {};
}

/// Tells the node which of its operands are `saved`.
void note_saved(Node& node, const std::vector<ValueId>& saved) {
  Argument::Sequence places{Argument::Sequence::Kind::list, {}};
  const std::vector<ValueId> operands = *operands_of(node);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (std::ranges::find(saved, operands[i]) != saved.end())
      places.items.emplace_back(static_cast<std::int64_t>(i));
  }
  node.args.insert(node.args.end() - 1, {"saved", Argument(std::move(places))});
}

}  // namespace

bool stands_for_apply(const FrameShadow& frame) {
  PyObject* stand_in = polyfill("apply_function");
  return stand_in != nullptr &&
         reinterpret_cast<PyObject*>(frame.frame->code()) == PyFunction_GET_CODE(stand_in);
}

std::optional<bool> model_apply(Walk& walk, FrameShadow& f, Operand function,
                                const std::vector<Operand>& positional, const Keywords& keywords,
                                int pops) {
  const auto wanted = [&](const Operand& one) { return requires_grad(walk, one.object); };
  if (!torch::grad_enabled() || std::ranges::none_of(positional, wanted) || stands_for_apply(f))
    return std::nullopt;
  const bool plain = keywords.empty() && !walk.context.for_backend() &&
                     !walk.recorder.subgraphs.any() && !is_hooked(positional);
  if (plain) {
    const auto done =
        call_stand_in(walk, f, function, "apply_function", positional, keywords, pops);
    if (done) return *done;
  }
  return walk.verdict.broke(Code::PS0306, std::string(kWhat) + " is asked for gradients");
}

std::optional<bool> model_function_context(Walk& walk, FrameShadow& f, Operand function,
                                           const std::vector<Operand>& positional, const Keywords&,
                                           int pops) {
  const std::string obstacle = obstacle_to_function(walk, positional[0], positional[1].object);
  if (!obstacle.empty()) return refuse(walk, obstacle);
  return natively(f, function, [pops](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    f.push(Shadow::fresh(walk.objects.id_of(f.object())));
  });
}

std::optional<bool> model_function_tangents(Walk& walk, FrameShadow& f, Operand function,
                                            const std::vector<Operand>& positional, const Keywords&,
                                            int pops) {
  std::vector<TensorType> types;
  for (const Operand& one : results_in(walk, positional[0])) {
    if (!requires_grad(walk, one.object)) continue;
    const auto value = value_of(walk, one.shadow);
    if (!value) return refuse(walk, "it gives a tensor that is not made in it");
    TensorType type = walk.recorder.value(*value).type;
    type.strides = contiguous_strides(type.sizes);
    type.storage = -1;
    type.storage_offset = 0;
    type.requires_grad = false;
    types.push_back(std::move(type));
  }
  return natively(f, function, [pops, types = std::move(types)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    std::vector<Shadow> shadows;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const ValueId id = walk.recorder.new_value("tangent", types[i]);
      walk.recorder.note_storage(id, PyList_GET_ITEM(f.object(), static_cast<Py_ssize_t>(i)));
      shadows.push_back(Shadow::node(id));
    }
    f.push(walk.objects.fresh(f.object(), std::move(shadows)));
  });
}

std::optional<bool> model_join_function(Walk& walk, FrameShadow& f, Operand function,
                                        const std::vector<Operand>& positional, const Keywords&,
                                        int pops) {
  const std::vector<Operand> results = results_in(walk, positional[0]);
  const auto tangents = values_in(walk, positional[1]), tensors = values_in(walk, positional[2]);
  std::vector<ValueId> operands;
  std::vector<bool> joined;
  for (const Operand& one : results) {
    joined.push_back(requires_grad(walk, one.object));
    const auto value = joined.back() ? value_of(walk, one.shadow) : std::nullopt;
    if (joined.back() && !value) return refuse(walk, "it gives what is not made in it");
    if (value) operands.push_back(*value);
  }
  if (!tangents || !tensors) return refuse(walk, "it takes more than tensors");
  if (std::string obstacle = walk.recorder.subgraphs.obstacle(walk.recorder); !obstacle.empty())
    return refuse(walk, obstacle);
  std::vector<ValueId> saved;
  PyRef context = context_of(walk, results);
  if (context) {
    for (Shadow shadow : walk.objects.find(context.get())->items) {
      if (const auto value = value_of(walk, shadow)) saved.push_back(*value);
    }
  }
  const std::size_t count = operands.size();
  operands.insert(operands.end(), tensors->begin(), tensors->end());
  std::vector<ValueId> inputs = *tangents;
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  Call call{"call_function", "apply", kWhat, {}, {}, walk.stack(), {}};
  for (ValueId id : *tensors) call.args.emplace_back(Argument::Value{id});
  return natively(f, function, [=, results = results](Walk& walk, FrameShadow& f) {
    Recorder& recorder = walk.recorder;
    if (context) walk.gradients.follow(context);
    OpenSubgraphs::Joined made{{}, {}, operands, inputs, {}, call};
    made.types = types_of(recorder, {operands.begin(), operands.begin() + count});
    for (TensorType& type : made.types) type.requires_grad = true;
    const std::vector<ValueId> values = recorder.subgraphs.join(recorder, std::move(made));
    note_saved(recorder.graph().nodes.back(), saved);
    std::vector<Shadow> shadows;
    Argument::Sequence list{Argument::Sequence::Kind::tuple, {}};
    for (std::size_t i = 0, next = 0; i < results.size(); ++i) {
      shadows.push_back(joined[i] ? Shadow::node(values[next]) : results[i].shadow);
      if (!joined[i]) continue;
      recorder.note_storage(values[next], results[i].object);
      list.items.emplace_back(Argument::Value{values[next++]});
    }
    const bool one = walk.is_tensor(f.object());
    recorder.graph().calls.back().result = one ? list.items.front() : Argument(std::move(list));
    f.pop(pops);
    f.push(one ? shadows.front() : walk.objects.fresh(f.object(), std::move(shadows)));
  });
}

}  // namespace penstock::record
