// What torch gave for a call: the nodes are written down with the types of the real tensors, and
// the result gets its shadow.

#include "ops/op.h"
#include "ops/promotion.h"
#include "record/objects/control_flow.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_casts.h"
#include "record/walk.h"
#include "torch/state.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// Whether an op that writes its first argument gave it other dims: elements alone are what graphs
/// write.
bool changes_layout(const Recorder& recorder, const PlannedNode& node,
                    const std::vector<TensorType>& results) {
  const auto* self = node.args.empty() ? nullptr : node.args.front().value.as<Argument::Value>();
  if (self == nullptr || results.size() != 1 || !ops::writes_by_name(node.op)) return false;
  const TensorType &before = recorder.value(self->id).type, &now = results.front();
  if (before.rank() != now.rank() || before.dtype != now.dtype) return true;
  const auto differs = [](const std::vector<SymExpr>& a, const std::vector<SymExpr>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].is_constant() && b[i].is_constant() && a[i] != b[i]) return true;
    }
    return false;
  };
  return differs(before.sizes, now.sizes) || differs(before.strides, now.strides);
}

/// Says of results that never become Python objects, whose types were ruled before the call ran,
/// whether torch records gradients of them: what is stored in a tensor may be the first that does.
void note_gradients(const Recorder& recorder, PlannedNode& node) {
  const auto is_given = [&](ValueId id) {
    return !recorder.is_number(id) && recorder.is_differentiated(id);
  };
  bool given = false;
  for (const NamedArgument& argument : node.args)
    for_each_value(argument.value, [&](ValueId id) { given = given || is_given(id); });
  if (!given || !torch::grad_enabled()) return;
  const auto note = [](TensorType& type) {
    type.requires_grad = type.requires_grad || is_floating(type.dtype) || is_complex(type.dtype);
  };
  if (node.type) note(*node.type);
  for (TensorType& type : node.types) note(type);
}

/// Appends a node whose one result never becomes a Python object: a view, or what was written, lies
/// in the memory of the first argument.
ValueId add_unseen(Recorder& recorder, PlannedNode& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  const auto* first = node.args.empty() ? nullptr : node.args.front().value.as<Argument::Value>();
  const bool inside =
      first != nullptr && op != nullptr && (op->has(ops::kView) || op->has(ops::kMutates));
  if (!inside) return recorder.add_node(node.op, std::move(node.args), *node.type);
  const ValueId base = first->id;
  return recorder.add_node_in(base, node.op, std::move(node.args), *node.type);
}

}  // namespace

bool record(Walk& walk, FrameShadow& f, Call call, std::vector<PlannedNode> nodes,
            const std::vector<Operand>& operands, int pops, PyObject* callable) {
  if (!may_be_in_subgraph(walk, nodes)) return false;
  if (walk.recorder.grid.is_open()) {
    if (const auto reason = walk.recorder.grid.refusal(walk.recorder, nodes))
      return walk.verdict.broke(Code::PS0306, *reason);
  }
  f.is_op_time = true;
  walk.objects.release_dead();  // tensors in the arguments of calls that are done would be alive
                                // beside what the op makes
  // Behind the op an argument may be gone: its address alone is compared then. What the op gave
  // lives, and so does an argument that it gave back.
  struct Kept {
    Shadow shadow;
    const PyObject* address;
    bool is_tensor;
  };
  std::vector<Kept> kept;
  for (Operand operand : operands) {
    kept.push_back({operand.shadow, operand.object, walk.is_tensor(operand.object)});
    const bool holds = (PyList_CheckExact(operand.object) || PyTuple_CheckExact(operand.object)) &&
                       !operand.shadow.is(Shadow::Kind::constant);
    if (!holds) continue;
    const std::vector<Shadow> inside = walk.objects.items(operand);
    for (std::size_t i = 0; i < inside.size(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(operand.object, static_cast<Py_ssize_t>(i));
      kept.push_back({inside[i], item, walk.is_tensor(item)});
    }
  }
  auto planned = std::make_shared<std::pair<Call, std::vector<PlannedNode>>>(std::move(call),
                                                                             std::move(nodes));
  f.finish = [planned, kept, pops, called = PyRef::borrow(callable)](Walk& walk, FrameShadow& f) {
    add_planned(walk, f, std::move(planned->first), called, std::move(planned->second), pops);
    check_cast(walk);
    // An op that gives one of its arguments back (in place, a view of everything) gives what is
    // known of it already.
    PyObject* result = pops >= 0 ? f.object() : nullptr;
    const bool several = result != nullptr &&
                         (PyTuple_Check(result) || PyList_CheckExact(result)) &&
                         f.top().is(Shadow::Kind::fresh);
    for (const Kept& one : kept) {
      if (one.address != result || result == nullptr) continue;
      f.top() = one.shadow;
      return;  // of a list that was given back, which need not be a fresh one, what it holds too
    }
    for (const Kept& one : kept) {
      if (!several || !one.is_tensor) continue;
      std::vector<Shadow>& inside = walk.objects.object(f.top().index).items;
      for (std::size_t i = 0; i < inside.size(); ++i) {
        if (PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i)) == one.address)
          inside[i] = one.shadow;
      }
    }
  };
  return true;
}

void add_planned(Walk& walk, FrameShadow& f, Call call, PyRef callable,
                 std::vector<PlannedNode> nodes, int pops) {
  const std::int32_t at = walk.recorder.add_call(std::move(call), std::move(callable));
  std::vector<ValueId> made;
  const auto real = [&](ValueId id) {
    const std::size_t planned = kNoValue - id - 1;
    return planned < made.size() ? made[planned] : id;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PlannedNode& node = nodes[i];
    for (NamedArgument& a : node.args) map_values(a.value, real);
    for (ValueId& id : node.values) id = real(id);
    note_gradients(walk.recorder, node);
    const bool last = i + 1 == nodes.size();
    if (!last && !node.types.empty()) {
      std::vector<ValueId> all;
      walk.recorder.add_node(node.op, std::move(node.args), node.types, all);
      made.insert(made.end(), all.begin(), all.end());
      continue;
    }
    if (!last) {
      made.push_back(add_unseen(walk.recorder, node));
      continue;
    }
    if (pops < 0) {  // STORE_SUBSCR: the last node writes and gives nothing back
      if (node.type) {
        add_unseen(walk.recorder, node);
      } else {
        walk.recorder.add_effect(node.op, std::move(node.args));
      }
      f.pop(-pops);
      return;
    }
    f.pop(pops);
    PyObject* result = f.object();
    if (result == Py_None && node.type) {  // a method that stores
      walk.recorder.add_node(node.op, std::move(node.args), *node.type);
      f.push(Shadow::constant());
      return;
    }
    if (node.type && PyTuple_Check(result)) {  // of arguments, whose shadows `record` puts in
      walk.recorder.add_node(node.op, std::move(node.args), *node.type);
      f.push(walk.objects.fresh(
          result, std::vector<Shadow>(static_cast<std::size_t>(PyTuple_GET_SIZE(result)))));
      return;
    }
    std::vector<Argument> values;
    const Shadow shadow = result_shadow(walk, node, result, values);
    f.push(shadow);
    if (values.size() == 1 && walk.is_tensor(result)) {
      walk.recorder.graph().calls[at].result = values[0];
    } else {
      walk.recorder.graph().calls[at].result =
          Argument::Sequence{Argument::Sequence::Kind::list, values};
    }
  }
}

namespace {

/// The tensors that an op gave, and how many results stand behind them that torch gives as None.
struct Given {
  std::vector<PyObject*> tensors;
  std::size_t missing = 0;
};

/// Nothing, and the recording spoiled, where it gave anything else.
std::optional<Given> tensors_of(Walk& walk, PyObject* result) {
  if (walk.is_tensor(result)) return Given{{result}, 0};
  if (!PyTuple_Check(result) && !PyList_CheckExact(result)) {
    walk.verdict.spoil_here("an op gives what is no tensor");
    return std::nullopt;
  }
  Given given;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(result, i);
    const bool is_tensor = walk.is_tensor(item);
    if ((!is_tensor && item != Py_None) || (is_tensor && given.missing > 0)) {
      walk.verdict.spoil_here("an op gives what is no tensor among its results");
      return std::nullopt;
    }
    if (is_tensor) {
      given.tensors.push_back(item);
    } else {
      ++given.missing;
    }
  }
  return given;
}

}  // namespace

Shadow result_shadow(Walk& walk, PlannedNode& node, PyObject* result,
                     std::vector<Argument>& values) {
  const auto given = tensors_of(walk, result);
  if (!given) return Shadow::constant();
  const auto& [tensors, missing] = *given;
  std::vector<TensorType> types;
  for (PyObject* tensor : tensors) {
    if (!walk.recorder.bridge().is_dense(tensor)) {
      walk.verdict.spoil_here(
          "the elements of a result are not its memory: a conjugate, negative or sparse tensor");
      return Shadow::constant();
    }
    auto type = walk.recorder.result_type(tensor, node.values);
    if (!type) {
      walk.verdict.spoil_here("the elements of a result are of a dtype that is not followed");
      return Shadow::constant();
    }
    types.push_back(std::move(*type));
    walk.context.guard_settings_of(node, types.back());
  }
  if (changes_layout(walk.recorder, node, types)) {
    walk.verdict.spoil_here("an op changes in place how its tensor lies");
    return Shadow::constant();
  }
  // A factory's node says what the default dtype was, unless it is the one that every rule assumes.
  const bool makes_floats = types.size() == 1 && node.values.empty() && is_floating(types[0].dtype);
  if (makes_floats && node.lacks_dtype && types[0].dtype != ops::kDefaultDType) {
    std::erase_if(node.args,
                  [](const NamedArgument& argument) { return argument.name == "dtype"; });
    node.args.push_back({"dtype", types[0].dtype});
  }
  std::vector<ValueId> ids;
  walk.recorder.add_node(node.op, std::move(node.args), types, ids);
  std::vector<Shadow> shadows;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    walk.recorder.note_storage(ids[i], tensors[i]);
    for (ValueId given : node.values) {
      if (is_same_memory(walk.recorder, given, ids[i]) &&
          walk.recorder.value(given).type.dtype != types[i].dtype)
        walk.recorder.note_other_elements(ids[i]);
    }
    values.push_back(Argument::Value{ids[i]});
    shadows.push_back(Shadow::node(ids[i]));
  }
  if (walk.is_tensor(result)) return shadows[0];
  shadows.resize(shadows.size() + missing, Shadow::constant());
  values.resize(values.size() + missing, Argument(Argument::None{}));
  return walk.objects.fresh(result, std::move(shadows));
}

Shadow planned_result(Walk& walk, std::int32_t call, PlannedNode node, PyObject* tensor) {
  std::vector<Argument> values;
  const Shadow result = result_shadow(walk, node, tensor, values);
  if (!values.empty()) walk.recorder.graph().calls[call].result = values[0];
  return result;
}

std::optional<ValueId> value_of(Walk& walk, Shadow tensor) {
  if (tensor.is(Shadow::Kind::node)) return tensor.index;
  const SourceId source = tensor.source();
  return source == kNoSource ? std::nullopt : walk.recorder.input_at(source);
}

}  // namespace penstock::record
