// backward() within a segment.
//
// torch's engine goes backward as the segment is recorded; the graph gets one node for it
// (ops/gradient.h), whose results are what came to the leaves. What the engine does with them is
// written down as the program could have done it: `.grad` becomes a new tensor, or what stands
// there is added to in place. So what follows, be it that gradients are clipped, used or dropped,
// goes on in the graph, and nothing of torch's graph of gradients is ever made when an entry runs.
//
// That holds where nobody can see the engine at work: all that leads to the tensor was recorded
// here, up to leaves without hooks (torch/gradient_leaf.h), and torch lets go of what it kept. Else
// the segment ends before the call, and torch goes backward through the node of its outputs.

#include "record/objects/backward.h"

#include <algorithm>
#include <unordered_map>

#include "ir/subgraphs.h"
#include "ops/gradient.h"
#include "python/literal.h"
#include "record/objects/control_flow.h"
#include "record/objects/torch_call.h"
#include "torch/gradient_leaf.h"
#include "torch/gradient_node.h"
#include "torch/state.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// Whether memory is written through `.data`, of which torch's versions do not tell: its backward
/// takes what it saved as it stands in memory by then, which the graph's values do not say.
bool is_written_unseen(const Recorder& recorder) {
  return std::ranges::any_of(recorder.graph().nodes, [&](const Node& node) {
    return node.op == "aten.data.default" &&
           std::ranges::any_of(node.results, [&](ValueId id) { return recorder.is_written(id); });
  });
}

/// Whether another input lies in the same memory as input `id`: no guard tells those apart.
bool shares_memory(const Recorder& recorder, ValueId id) {
  const std::int32_t storage = recorder.value(id).type.storage;
  return storage >= 0 &&
         std::ranges::count(recorder.graph().interface.inputs, storage,
                            [](const Input& input) { return input.type.storage; }) > 1;
}

}  // namespace

std::string obstacle_to_backward(const Walk& walk) {
  const Graph& graph = walk.recorder.graph();
  if (!walk.context.runs() || walk.context.for_backend()) return "the graph is asked for as it is";
  if (walk.recorder.guards().refuses_gradients()) return "they could not be compiled in one graph";
  if (walk.context.autocast()) return "ops are autocast";
  const auto flows = [](const Node& node) {
    return find_control_op(node.op) != nullptr && !is_custom_vjp(node);
  };
  if (walk.recorder.subgraphs.any() || std::ranges::any_of(graph.nodes, flows))
    return "the graph has control flow";
  if (walk.recorder.checkpoints.any() ||
      std::ranges::any_of(graph.calls, [](const Call& call) { return call.checkpoint >= 0; }))
    return "the graph has activation checkpoints";
  if (!torch::grad_enabled() || !torch::records_gradients_plainly())
    return "somebody looks at what torch saves for gradients";
  if (is_written_unseen(walk.recorder)) return "memory is written through .data";
  if (torch::PlainLeaves::get(walk.recorder.bridge()) == nullptr)
    return "this torch keeps the hooks of a leaf in a way that is not known";
  return {};
}

bool comes_from_outside(const Walk& walk) {
  const torch::TensorBridge& bridge = walk.recorder.bridge();
  return std::ranges::any_of(walk.recorder.input_objects, [&](const PyRef& input) {
    return bridge.is_tensor(input.get()) && bridge.requires_grad(input.get()) &&
           !bridge.is_gradient_leaf(input.get());
  });
}

bool is_plain_leaf(const Walk& walk, PyObject* tensor, ValueId id) {
  const Recorder& recorder = walk.recorder;
  return torch::PlainLeaves::get(recorder.bridge())->holds(tensor) && !recorder.is_written(id) &&
         !shares_memory(recorder, id);
}

TensorType type_of_gradient(const Recorder& recorder, ValueId of) {
  TensorType type = recorder.value(of).type;
  type.requires_grad = false;
  type.storage = -1;
  type.storage_offset = 0;
  return type;
}

namespace {

/// A tensor that gradients come to, and its `.grad` before.
struct Leaf {
  Operand tensor;
  ValueId id = kNoValue;
  PyRef before;
  ValueId before_id = kNoValue;  ///< where there was one
  std::uint32_t version = 0;     ///< of that
};

bool is_plain_option(PyObject* object) {
  return object == Py_None || object == Py_False;
}

/// Whether the call asks for no more than the gradients of one number, once.
bool asks_for_all_once(Walk& walk, const std::vector<Operand>& positional,
                       const std::vector<std::pair<PyObject*, Operand>>& keywords) {
  std::vector<Operand> options(positional.begin() + 1, positional.end());
  for (const auto& [name, operand] : keywords) options.push_back(operand);
  return std::ranges::all_of(options, [&](Operand option) {
    return is_plain_option(option.object) && walk.facts.consume(option);
  });
}

bool is_one_number(const TensorType& type) {
  return type.device == "cpu" && is_floating(type.dtype) &&
         std::ranges::all_of(type.sizes, [](const SymExpr& size) { return size.constant() == 1; });
}

/// The sources of the graph's inputs, by the object that is there.
std::unordered_map<PyObject*, SourceId> sources_of_inputs(const Recorder& recorder) {
  std::unordered_map<PyObject*, SourceId> sources;
  const std::vector<Input>& inputs = recorder.graph().interface.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    sources.emplace(recorder.input_objects[i].get(), inputs[i].source);
  return sources;
}

/// `source`: where the tensor comes from, as an input of the graph.
std::optional<Leaf> leaf_at(Walk& walk, PyObject* tensor, SourceId source) {
  const auto id = walk.recorder.input_at(source);
  if (!id || !is_plain_leaf(walk, tensor, *id)) return std::nullopt;
  return Leaf{{Shadow::sourced(source), tensor}, *id, {}, kNoValue, 0};
}

/// A leaf that the segment made, where nothing wrote it since.
std::optional<Leaf> made_leaf(const Walk& walk, PyObject* tensor) {
  if (!walk.gradients.is_made_leaf(tensor)) return std::nullopt;
  const ValueId id = walk.gradients.value_of_leaf(tensor);
  const bool plain = torch::PlainLeaves::get(walk.recorder.bridge())->holds(tensor);
  if (!plain || walk.recorder.is_written(id)) return std::nullopt;
  return Leaf{{Shadow::node(id), tensor}, id, {}, kNoValue, 0};
}

/// Reads what stands in `.grad` and guards what it is. False: it is nothing that a graph adds to.
bool take_gradient(Walk& walk, Leaf& leaf) {
  leaf.before = PyRef::steal(PyObject_GetAttrString(leaf.tensor.object, "grad"));
  PyErr_Clear();
  const auto shadow = gradient_attribute(walk, leaf.tensor);
  if (!leaf.before || !shadow) return false;
  const Operand gradient{*shadow, leaf.before.get()};
  if (gradient.object == Py_None) return walk.facts.consume(gradient);
  const torch::TensorBridge& bridge = walk.recorder.bridge();
  if (!bridge.is_plain_tensor(gradient.object) || !bridge.is_dense(gradient.object) ||
      bridge.requires_grad(gradient.object))
    return false;
  const auto value = argument(walk, gradient);
  if (!value) return false;
  leaf.before_id = value->as<Argument::Value>()->id;
  leaf.version = bridge.version(gradient.object);
  const TensorType& type = walk.recorder.value(leaf.before_id).type;
  return type.dtype == walk.recorder.value(leaf.id).type.dtype &&
         may_write(walk, "backward", leaf.before_id, type);
}

enum class Came : std::uint8_t { nothing, new_tensor, added, otherwise };

/// What the engine did to a leaf.
Came what_came(const Walk& walk, const Leaf& leaf, PyObject* now) {
  if (leaf.before_id == kNoValue) return now == Py_None ? Came::nothing : Came::new_tensor;
  if (now != leaf.before.get()) return Came::otherwise;
  const std::uint32_t version = walk.recorder.bridge().version(now);
  return version == leaf.version ? Came::nothing : Came::added;
}

/// Writes down what came to the leaves.
void add_gradients(Walk& walk, ValueId of, const std::vector<Leaf>& leaves) {
  Recorder& recorder = walk.recorder;
  const auto refuse = [&] {
    walk.verdict.spoil_here("backward() leaves other gradients than a graph gives", Code::PS0307);
  };
  std::vector<const Leaf*> reached;
  std::vector<PyRef> gradients;
  std::vector<TensorType> types;
  Argument::Sequence with{Argument::Sequence::Kind::list, {}};
  for (const Leaf& leaf : leaves) {
    PyRef now = PyRef::steal(PyObject_GetAttrString(leaf.tensor.object, "grad"));
    if (!now) {
      PyErr_Clear();
      return refuse();
    }
    const Came came = what_came(walk, leaf, now.get());
    if (came == Came::otherwise) return refuse();
    if (came == Came::nothing) continue;
    TensorType type = type_of_gradient(recorder, leaf.id);
    if (came == Came::new_tensor) {
      const auto real = recorder.bridge().is_plain_tensor(now.get())
                            ? recorder.result_type(now.get(), {})
                            : std::nullopt;
      if (!real || real->dtype != type.dtype || real->strides.size() != type.strides.size())
        return refuse();
      const bool is_known = std::ranges::all_of(
          type.strides, [](const SymExpr& stride) { return stride.constant().has_value(); });
      if (is_known) type.strides = real->strides;
    }
    types.push_back(std::move(type));
    with.items.emplace_back(Argument::Value{leaf.id});
    reached.push_back(&leaf);
    gradients.push_back(std::move(now));
  }
  if (reached.empty()) return refuse();
  std::vector<ValueId> results;
  recorder.add_node(std::string(ops::kGradient),
                    {{std::string(ops::kGradientOf), Argument::Value{of}},
                     {std::string(ops::kGradientWith), std::move(with)}},
                    types, results);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Leaf& leaf = *reached[i];
    if (leaf.before_id == kNoValue) {
      recorder.note_storage(results[i], gradients[i].get());
      walk.gradients.set(leaf.tensor, {Shadow::node(results[i]), gradients[i].get()});
      continue;
    }
    TensorType type = recorder.value(leaf.before_id).type;
    recorder.add_node_in(leaf.before_id, "aten.add_.Tensor",
                         {{"self", Argument::Value{leaf.before_id}},
                          {"other", Argument::Value{results[i]}},
                          {"alpha", std::int64_t{1}}},
                         std::move(type));
  }
}

}  // namespace

std::optional<bool> model_backward(Walk& walk, FrameShadow& f, Operand function,
                                   const std::vector<Operand>& positional,
                                   const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                   int pops) {
  const auto refuse = [&](const std::string& why = {}) {
    return walk.verdict.broke(Code::PS0307,
                              "gradients are computed" + (why.empty() ? why : ": " + why), true);
  };
  if (positional.empty() || !positional[0].shadow.is(Shadow::Kind::node) ||
      !walk.is_tensor(positional[0].object))
    return refuse();
  const ValueId of = positional[0].shadow.index;
  if (!walk.recorder.bridge().is_plain_tensor(positional[0].object) ||
      !is_one_number(walk.recorder.value(of).type))
    return refuse();
  if (std::string why = obstacle_to_backward(walk); !why.empty()) return refuse(why);
  if (!asks_for_all_once(walk, positional, keywords)) return refuse();
  const RecordedOps recorded = recorded_ops(positional[0].object);
  if (recorded.leaves.empty() || !walk.gradients.follows_all(recorded.functions) ||
      comes_from_outside(walk))
    return refuse("not all that leads to the tensor is in the graph");
  walk.context.guard_grad_mode();
  auto leaves = std::make_shared<std::vector<Leaf>>();
  const auto sources = sources_of_inputs(walk.recorder);
  for (const PyRef& tensor : recorded.leaves) {
    const auto source = sources.find(tensor.get());
    auto leaf = source == sources.end() ? made_leaf(walk, tensor.get())
                                        : leaf_at(walk, tensor.get(), source->second);
    if (!leaf) return refuse("a leaf is none that a gradient comes to and no more");
    if (!take_gradient(walk, *leaf)) return refuse("what stands in .grad is none of its kind");
    leaves->push_back(std::move(*leaf));
  }
  std::ranges::sort(*leaves, {}, &Leaf::id);
  for (const Leaf& leaf : *leaves) {
    if (walk.recorder.is_input(leaf.id)) walk.recorder.apart_inputs.insert(leaf.id);
    if (leaf.before_id != kNoValue && !walk.recorder.before_write(leaf.before_id))
      return refuse("what stands in .grad cannot be copied");
  }
  walk.effects.expect_some();
  f.is_op_time = true;
  const RaisePlace place = walk.program_place(walk.innermost());
  Call call{"call_method", "backward", "backward", {Argument::Value{of}}, {}, walk.stack(), {}};
  return natively(
      f, function,
      [pops, of, leaves, place, nodes = recorded.nodes, call](Walk& walk, FrameShadow& f) {
        f.pop(pops);
        f.push(Shadow::constant());
        walk.recorder.add_call(call);
        walk.gradients.go_through(nodes, place);
        walk.recorder.unseen_writes.go_backward();
        add_gradients(walk, of, *leaves);
      });
}

std::optional<Shadow> gradient_attribute(Walk& walk, Operand tensor) {
  if (const auto set = walk.gradients.find(tensor.object)) return set;
  if (walk.gradients.is_made_leaf(tensor.object)) return Shadow::constant();
  if (!tensor.shadow.is(Shadow::Kind::sourced)) return std::nullopt;
  // In another call the tensor may be one whose `.grad` was set: the graph's inputs are told apart.
  if (walk.gradients.sets_any() && !argument(walk, tensor)) return std::nullopt;
  return Shadow::sourced(
      walk.recorder.guards().source(SourceKind::attribute, tensor.shadow.index, "grad"));
}

bool store_gradient(Walk& walk, FrameShadow& f, Operand tensor, Operand value, int pops,
                    bool call) {
  const auto refuse = [&] {
    return walk.verdict.broke(Code::PS0305, "the attribute 'grad' of a tensor is set");
  };
  const bool inside = walk.recorder.subgraphs.any() || walk.recorder.checkpoints.any();
  const bool made = walk.gradients.is_made_leaf(tensor.object);
  if (value.object == nullptr || !(made || tensor.shadow.is(Shadow::Kind::sourced)) || inside ||
      walk.context.for_backend())
    return refuse();
  if (value.object != Py_None && (!value.shadow.is(Shadow::Kind::node) ||
                                  !walk.recorder.bridge().is_plain_tensor(value.object) ||
                                  walk.recorder.bridge().requires_grad(value.object)))
    return refuse();
  if (!walk.facts.consume_type(value)) return false;
  if (!made) {
    const auto input = argument(walk, tensor);
    if (!input) return false;
    const ValueId id = input->as<Argument::Value>()->id;
    if (shares_memory(walk.recorder, id)) return refuse();
    walk.recorder.apart_inputs.insert(id);
  }
  walk.gradients.set(tensor, value);
  f.pop(pops);
  if (call) f.push(Shadow::constant());
  return true;
}

}  // namespace penstock::record
