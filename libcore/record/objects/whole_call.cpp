// Calls that a graph has as one, though nobody here knows what they do. Where a backend of the
// program's own compiles graphs, nothing but torch runs them: such a graph may hold every call that
// gives tensors, and TorchDynamo's has the functions of torch that are written in Python
// (torch.nn.functional's) as the program called them.
//
// What must hold is what the walk relies on elsewhere: sizes of results follow from those of the
// arguments, and what is written is known. Names tell of both; a call that wrote something else
// ends the segment.

#include <algorithm>
#include <functional>

#include "python/literal.h"
#include "record/objects/torch_call.h"
#include "record/walk.h"
#include "torch/methods.h"

namespace penstock::record {

using python::PyRef;
using python::text_of;

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

namespace {

/// True for functions that are known to write: "add_", out=, inplace=True.
bool may_write(const TorchTarget& target, const std::vector<Argument>& positional,
               const std::vector<NamedArgument>& keywords) {
  const bool dunder = target.op.ends_with("__");
  if ((target.op.ends_with('_') && !dunder) || target.op.starts_with("__i")) return true;
  const auto is_true = [](const Argument& argument) {
    const bool* value = argument.as<bool>();
    return value != nullptr && *value;
  };
  return std::ranges::any_of(positional, is_true) ||
         std::ranges::any_of(keywords, [&](const NamedArgument& keyword) {
           return keyword.name == "out" ? !keyword.value.is_none() : is_true(keyword.value);
         });
}

/// Tensors in a result, in order. False where it holds what is neither a tensor nor a plain value.
bool tensors_in(const torch::TensorBridge& bridge, PyObject* result,
                std::vector<PyObject*>& tensors) {
  if (bridge.is_tensor(result)) {
    tensors.push_back(result);
    return bridge.is_plain_tensor(result) && bridge.is_dense(result);
  }
  if (!PyTuple_Check(result) && !PyList_CheckExact(result))
    return python::is_immutable_literal(result);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
    if (!tensors_in(bridge, PySequence_Fast_GET_ITEM(result, i), tensors)) return false;
  }
  return true;
}

/// A tensor among the arguments, and how often it was written. The call may be the last that holds
/// it.
struct Given {
  Operand operand;
  PyRef held;
  std::uint32_t version;
};

std::vector<Given> versions_of(const Walk& walk, std::span<const Operand> positional,
                               std::span<const std::pair<PyObject*, Operand>> keywords) {
  std::vector<Given> given;
  const auto add = [&](Operand operand) {
    if (!walk.is_tensor(operand.object)) return;
    given.push_back(
        {operand, PyRef::borrow(operand.object), walk.recorder.bridge().version(operand.object)});
  };
  for (Operand operand : positional) add(operand);
  for (const auto& [name, operand] : keywords) add(operand);
  return given;
}

}  // namespace

std::optional<bool> whole_call(Walk& walk, FrameShadow& f, const TorchTarget& target,
                               std::span<const Operand> positional,
                               std::span<const std::pair<PyObject*, Operand>> keywords, int pops) {
  if (!walk.context.for_backend() || torch::is_data_dependent("aten." + target.op) ||
      target.op == "__getitem__")
    return std::nullopt;
  const BreakReason before = walk.verdict.reason();
  const auto cannot = [&] {
    walk.verdict.take_back(before);
    return std::nullopt;
  };
  PlannedNode node{target.target, {}, {}, std::nullopt};
  std::vector<Argument> args;
  for (Operand operand : positional) {
    auto converted = argument(walk, operand);
    if (!converted) return cannot();
    node.args.push_back({"argument_" + std::to_string(args.size()), *converted});
    args.push_back(std::move(*converted));
  }
  std::vector<NamedArgument> named;
  for (const auto& [name, operand] : keywords) {
    auto converted = argument(walk, operand);
    if (!converted) return cannot();
    named.push_back({text_of(name), std::move(*converted)});
    node.args.push_back(named.back());
  }
  for (const NamedArgument& one : node.args)
    for_each_value(one.value, [&](ValueId id) { node.values.push_back(id); });
  const bool writes = may_write(target, args, named);
  for (const ValueId id : node.values) {
    if (writes && !walk.recorder.before_write(id))
      return walk.verdict.broke(Code::PS0309, "an input that is written cannot be copied");
  }
  std::vector<Given> given = versions_of(walk, positional, keywords);
  walk.context.guard_grad_mode();
  walk.objects.release_dead();
  f.is_op_time = true;
  Call call{target.opcode, target.name, target.target, std::move(args), std::move(named),
            walk.stack(),  {}};
  auto planned = std::make_shared<std::pair<Call, PlannedNode>>(std::move(call), std::move(node));
  f.finish = [planned, given, pops, writes, called = PyRef::borrow(target.callable)](
                 Walk& walk, FrameShadow& f) {
    f.pop(pops);
    for (const Given& one : given) {
      const bool wrote = walk.recorder.bridge().version(one.operand.object) != one.version;
      if (wrote && !writes) walk.verdict.spoil_here("what is called here writes its arguments");
    }
    const std::int32_t at = walk.recorder.add_call(std::move(planned->first), called);
    Shadow result = whole_result(walk, at, std::move(planned->second), f.object());
    for (const Given& one : given) {
      if (one.operand.object == f.object()) result = one.operand.shadow;
    }
    f.push(result);
  };
  return true;
}

Shadow whole_result(Walk& walk, std::int32_t call, PlannedNode node, PyObject* result) {
  std::vector<PyObject*> tensors;
  if (!tensors_in(walk.recorder.bridge(), result, tensors)) {
    walk.verdict.spoil_here("a function of torch gives what a graph cannot hold");
    return Shadow::constant();
  }
  std::vector<TensorType> types;
  for (PyObject* tensor : tensors) {
    std::optional<TensorType> type = walk.recorder.result_type(tensor, node.values);
    if (!type) {
      walk.verdict.spoil_here(
          "a function of torch gives a tensor of a dtype that a graph cannot hold");
      return Shadow::constant();
    }
    types.push_back(std::move(*type));
    walk.context.guard_settings_of(node, types.back());
  }
  std::vector<ValueId> ids;
  walk.recorder.add_node(node.op, std::move(node.args), types, ids);
  std::size_t next = 0;
  std::function<std::pair<Shadow, Argument>(PyObject*)> describe =
      [&](PyObject* object) -> std::pair<Shadow, Argument> {
    if (walk.is_tensor(object)) {
      const ValueId id = ids[next];
      walk.recorder.note_storage(id, tensors[next++]);
      return {Shadow::node(id), Argument::Value{id}};
    }
    if (!PyTuple_Check(object) && !PyList_CheckExact(object))
      return {Shadow::constant(), Argument::None{}};
    std::vector<Shadow> shadows;
    Argument::Sequence shown{Argument::Sequence::Kind::list, {}};
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      auto [shadow, argument] = describe(PySequence_Fast_GET_ITEM(object, i));
      shadows.push_back(shadow);
      shown.items.push_back(std::move(argument));
    }
    return {walk.objects.fresh(object, std::move(shadows)), Argument(std::move(shown))};
  };
  auto [shadow, shown] = describe(result);
  walk.recorder.graph().calls[call].result = std::move(shown);
  return shadow;
}

std::optional<bool> call_whole_function(Walk& walk, FrameShadow& f, Operand function,
                                        const std::vector<Operand>& positional,
                                        const Keywords& keywords, int pops) {
  if (!walk.context.for_backend()) return std::nullopt;
  const auto* object = reinterpret_cast<PyFunctionObject*>(function.object);
  TorchTarget target;
  target.op = target.name = text_of(object->func_name);
  target.target = python::qualified_name(function.object);
  target.callable = function.object;
  // torch.Tensor's own methods are called by their names.
  PyObject* method = _PyType_Lookup(walk.recorder.bridge().tensor_type(), object->func_name);
  if (method == function.object && !positional.empty() && walk.is_tensor(positional[0].object)) {
    target.opcode = "call_method";
    target.target = target.name;
    target.method = true;
    target.callable = nullptr;
  }
  const auto done = whole_call(walk, f, target, positional, keywords, pops);
  if (done == true) {
    f.expected.function = function.object;
    f.expected.native = true;
  }
  return done;
}

}  // namespace penstock::record
