// torch.autograd.grad within a segment.
//
// Its Python code is followed down to torch's engine, so that whatever the program hands over is
// tuples of tensors here. As with backward() (backward.cpp) the engine runs as the segment is
// recorded, and the graph gets one node for what it gave (ops/gradient.h); but nothing comes to
// stand in `.grad`, tangents may be given, and what gradients are asked for may be a value that the
// segment itself computed. With create_graph the results require gradients, and torch keeps what
// it needs to go through the same ops again: a later backward() of the segment goes through the
// node's computation like through any other.

#include <algorithm>

#include "ops/gradient.h"
#include "record/objects/backward.h"
#include "record/objects/control_flow.h"
#include "record/objects/torch_call.h"

namespace penstock::record {

using python::PyRef;

namespace {

enum Given : std::uint8_t { outputs, tangents, retain_graph, create_graph, inputs, allow_unused };

/// What the program asks for: the values, and the tensors that they are.
struct Asked {
  std::vector<ValueId> of, tangents, with;
  std::vector<PyObject*> tangent_objects, with_objects;  ///< which the caller's tuples keep
};

std::vector<PyObject*> tensors_of(PyObject* tuple) {
  std::vector<PyObject*> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    tensors.push_back(PyTuple_GET_ITEM(tuple, i));
  return tensors;
}

/// A tensor of which the graph can say what comes to it: an op of the segment made it, or it is a
/// leaf on which nothing hangs.
bool is_askable(const Walk& walk, PyObject* tensor, ValueId id) {
  if (walk.recorder.is_input(id)) return is_plain_leaf(walk, tensor, id);
  const TensorType& type = walk.recorder.value(id).type;
  return type.requires_grad && !walk.recorder.is_written(id);
}

std::optional<Asked> asked(Walk& walk, const std::vector<Operand>& positional) {
  Asked found;
  for (const auto& [given, values] :
       {std::pair(outputs, &found.of), {tangents, &found.tangents}, {inputs, &found.with}}) {
    const Operand operand = positional[given];
    if (!PyTuple_CheckExact(operand.object) || !holds_tensors(walk, operand.object))
      return std::nullopt;
    auto known = values_in(walk, operand);
    if (!known) return std::nullopt;
    *values = std::move(*known);
  }
  found.tangent_objects = tensors_of(positional[tangents].object);
  found.with_objects = tensors_of(positional[inputs].object);
  const auto is_plain = [&](ValueId id) {
    const TensorType& type = walk.recorder.value(id).type;
    return type.device == "cpu" && is_floating(type.dtype);
  };
  for (const auto* values : {&found.of, &found.tangents, &found.with}) {
    if (!std::ranges::all_of(*values, is_plain)) return std::nullopt;
  }
  return found.of.size() == found.tangents.size() ? std::optional(std::move(found)) : std::nullopt;
}

/// torch's nodes behind the tensors; none where there are none behind one of them.
RecordedOps recorded_behind(PyObject* tuple) {
  RecordedOps all;
  for (PyObject* tensor : tensors_of(tuple)) {
    RecordedOps one = recorded_ops(tensor);
    if (one.nodes.empty()) return {};
    std::ranges::move(one.nodes, std::back_inserter(all.nodes));
    std::ranges::move(one.functions, std::back_inserter(all.functions));
  }
  return all;
}

/// Whether the gradient lies in memory of its own: of x + 1, say, it is the tangent itself, and of
/// a sum one element of it that is seen many times.
bool lies_apart(const torch::TensorBridge& bridge, PyObject* gradient,
                const std::vector<PyObject*>& others) {
  torch::TensorView own, other;
  if (!bridge.read(gradient, own)) {
    PyErr_Clear();
    return false;
  }
  return std::ranges::none_of(others, [&](PyObject* one) {
    return bridge.is_plain_tensor(one) && bridge.read(one, other) && other.storage == own.storage;
  });
}

/// What the engine gave for value `of`; nothing where a graph's gradient would lie otherwise.
std::optional<TensorType> given_type(Recorder& recorder, PyObject* gradient, ValueId of) {
  const torch::TensorBridge& bridge = recorder.bridge();
  const auto real = bridge.is_plain_tensor(gradient) && bridge.is_dense(gradient)
                        ? recorder.result_type(gradient, {})
                        : std::nullopt;
  TensorType type = type_of_gradient(recorder, of);
  if (!real || real->dtype != type.dtype || real->strides.size() != type.strides.size())
    return std::nullopt;
  const bool is_known = std::ranges::all_of(
      type.strides, [](const SymExpr& stride) { return stride.constant().has_value(); });
  if (is_known) type.strides = real->strides;
  type.requires_grad = bridge.requires_grad(gradient);
  return type;
}

/// Writes down what the engine gave, a tuple of tensors and None; the shadow of that.
Shadow add_gradients(Walk& walk, const Asked& asked, PyObject* given) {
  Recorder& recorder = walk.recorder;
  const std::vector<PyObject*> gradients = tensors_of(given);
  Argument::Sequence of{Argument::Sequence::Kind::list, {}}, tangents = of, with = of;
  for (std::size_t i = 0; i < asked.of.size(); ++i) {
    of.items.emplace_back(Argument::Value{asked.of[i]});
    tangents.items.emplace_back(Argument::Value{asked.tangents[i]});
  }
  std::vector<TensorType> types;
  std::vector<PyObject*> others = asked.tangent_objects;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i] == Py_None) continue;
    auto type = given_type(recorder, gradients[i], asked.with[i]);
    if (!type || !lies_apart(recorder.bridge(), gradients[i], others)) {
      walk.verdict.spoil_here("torch's engine gives gradients that lie otherwise than a graph's",
                              Code::PS0307);
      return Shadow::constant();
    }
    others.push_back(gradients[i]);
    types.push_back(std::move(*type));
    with.items.emplace_back(Argument::Value{asked.with[i]});
  }
  std::vector<ValueId> results;
  if (!types.empty()) {
    recorder.add_node(std::string(ops::kGradient),
                      {{std::string(ops::kGradientOf), std::move(of)},
                       {std::string(ops::kGradientWith), std::move(with)},
                       {std::string(ops::kGradientTangents), std::move(tangents)}},
                      types, results);
  }
  std::vector<Shadow> shadows;
  std::size_t next = 0;
  for (PyObject* gradient : gradients) {
    if (gradient == Py_None) {
      shadows.push_back(Shadow::constant());
      continue;
    }
    recorder.note_storage(results[next], gradient);
    shadows.push_back(Shadow::node(results[next++]));
  }
  return walk.objects.fresh(given, std::move(shadows));
}

}  // namespace

std::optional<bool> model_engine_gradients(
    Walk& walk, FrameShadow& f, Operand function, const std::vector<Operand>& positional,
    const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops) {
  const auto refuse = [&](const std::string& why) {
    return walk.verdict.broke(Code::PS0307, "gradients are computed: " + why, true);
  };
  const bool accumulates = keywords.size() != 1 || keywords[0].second.object != Py_False;
  if (positional.size() != allow_unused + 1 || accumulates)
    return refuse("torch's engine is called otherwise than torch.autograd.grad does");
  if (std::string why = obstacle_to_backward(walk); !why.empty()) return refuse(why);
  for (Given option : {retain_graph, create_graph, allow_unused}) {
    if (!walk.facts.consume(positional[option])) return false;
  }
  auto what = asked(walk, positional);
  if (!what) return refuse("of or for what is no tensor of floating point numbers on the CPU");
  const RecordedOps recorded = recorded_behind(positional[outputs].object);
  if (recorded.nodes.empty() || !walk.gradients.follows_all(recorded.functions) ||
      comes_from_outside(walk))
    return refuse("not all that leads to the tensor is in the graph");
  for (std::size_t i = 0; i < what->with.size(); ++i) {
    if (!is_askable(walk, what->with_objects[i], what->with[i]))
      return refuse(
          "a tensor that they are asked for is none that a gradient comes to and no more");
  }
  if (!walk.gradients.may_go_back_over(recorded.nodes.size()))
    return refuse("they come to more ops than one graph should have");
  walk.context.guard_grad_mode();
  for (ValueId id : what->with) {
    if (walk.recorder.is_input(id)) walk.recorder.apart_inputs.insert(id);
  }
  f.is_op_time = true;
  const RaisePlace place = walk.program_place(walk.innermost());
  Call call{"call_function", "torch.autograd.grad", "grad", {}, {}, walk.stack(), {}};
  for (ValueId id : what->of) call.args.emplace_back(Argument::Value{id});
  return natively(
      f, function,
      [pops, place, spends = positional[retain_graph].object == Py_False, what = std::move(*what),
       nodes = recorded.nodes, call = std::move(call)](Walk& walk, FrameShadow& f) {
        f.pop(pops);
        walk.recorder.add_call(call);
        walk.gradients.go_through(nodes, place);
        if (spends) walk.recorder.unseen_writes.go_backward();
        f.push(add_gradients(walk, what, f.object()));
      });
}

}  // namespace penstock::record
