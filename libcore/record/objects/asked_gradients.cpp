// torch.autograd.grad within a segment.
//
// As backward() is (backward.cpp), the call is one node of the graph (ops/gradient.h); but its
// results are values of the graph, and nothing comes to stand in `.grad`. Where the call says
// create_graph, what computes them is differentiated again by a later call of the segment.

#include <algorithm>
#include <array>

#include "ops/gradient.h"
#include "python/literal.h"
#include "record/objects/backward.h"
#include "record/objects/control_flow.h"
#include "record/objects/torch_call.h"
#include "record/polyfills.h"
#include "torch/gradient_leaf.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// The parameters of torch.autograd.grad in their order.
constexpr std::string_view kParameters[] = {
    "outputs",     "inputs",       "grad_outputs",     "retain_graph",     "create_graph",
    "only_inputs", "allow_unused", "is_grads_batched", "materialize_grads"};
enum Parameter : std::uint8_t {
  kOutputs,
  kInputs,
  kGiven,
  kRetains,
  kCreates,
  kOnlyInputs,
  kAllowsUnused,
  kBatched,
  kMaterializes
};
using Bound = std::array<std::optional<Operand>, std::size(kParameters)>;

std::optional<Bound> bind(const std::vector<Operand>& positional,
                          const std::vector<std::pair<PyObject*, Operand>>& keywords) {
  Bound bound;
  if (positional.size() > bound.size()) return std::nullopt;
  std::ranges::copy(positional, bound.begin());
  for (const auto& [name, operand] : keywords) {
    const auto* found = std::ranges::find(kParameters, python::text_of(name));
    if (found == std::end(kParameters)) return std::nullopt;
    bound[static_cast<std::size_t>(found - kParameters)] = operand;
  }
  return bound[kOutputs] && bound[kInputs] ? std::optional(bound) : std::nullopt;
}

bool is_sequence(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

/// One tensor, or those of a list.
std::vector<Operand> tensors_of(Walk& walk, Operand operand) {
  if (!is_sequence(operand.object)) return {operand};
  std::vector<Operand> all;
  const std::vector<Shadow> shadows = walk.objects.items(operand);
  for (std::size_t i = 0; i < shadows.size(); ++i)
    all.push_back(
        {shadows[i], PySequence_Fast_GET_ITEM(operand.object, static_cast<Py_ssize_t>(i))});
  return all;
}

/// What one call asks for, as values of the graph.
struct Asked {
  Argument::Sequence of{Argument::Sequence::Kind::list, {}}, with = of, given = of;
  std::vector<PyRef> tangents;  ///< the tensors among `given`
  std::vector<PyRef> nodes;     ///< of torch's graph, which the call goes through
  bool creates = false;
};

/// True of a tensor whose gradient a graph can give: one that the segment made, or a leaf at which
/// nobody looks.
bool may_ask_for(const Walk& walk, PyObject* tensor, ValueId id) {
  if (!walk.recorder.is_input(id)) return true;
  const torch::PlainLeaves* plain = torch::PlainLeaves::get(walk.recorder.bridge());
  return plain != nullptr && plain->holds(tensor) && !walk.recorder.is_written(id) &&
         !shares_memory(walk.recorder, id);
}

/// Reads the operands; says why the call is none that a graph takes, or nothing.
std::string read(Walk& walk, const Bound& bound, Asked& asked) {
  const torch::TensorBridge& bridge = walk.recorder.bridge();
  const auto value_of = [&](Operand operand) -> std::optional<ValueId> {
    if (!walk.is_tensor(operand.object) || !bridge.is_plain_tensor(operand.object))
      return std::nullopt;
    const auto value = argument(walk, operand);
    return value ? std::optional(value->as<Argument::Value>()->id) : std::nullopt;
  };
  for (const Operand& output : tensors_of(walk, *bound[kOutputs])) {
    if (!output.shadow.is(Shadow::Kind::node))
      return "not all that is differentiated is in the graph";
    const auto id = value_of(output);
    if (!id) return "what is differentiated is no plain tensor";
    asked.of.items.emplace_back(Argument::Value{*id});
    RecordedOps recorded = recorded_ops(output.object);
    if (recorded.nodes.empty() || !recorded.is_torchs || comes_from_outside(walk))
      return "not all that leads to the tensor is in the graph";
    std::ranges::move(recorded.nodes, std::back_inserter(asked.nodes));
  }
  for (const Operand& input : tensors_of(walk, *bound[kInputs])) {
    const auto id = value_of(input);
    if (!id || !bridge.requires_grad(input.object) || !may_ask_for(walk, input.object, *id))
      return "what gradients are asked for is no plain tensor";
    // In another call it may be one with another input, and have the gradients of both.
    if (walk.recorder.is_input(*id)) walk.recorder.apart_inputs.insert(*id);
    asked.with.items.emplace_back(Argument::Value{*id});
  }
  if (!bound[kGiven] || bound[kGiven]->object == Py_None) {
    const bool all = std::ranges::all_of(asked.of.items, [&](const Argument& one) {
      return is_one_number(walk.recorder.value(one.as<Argument::Value>()->id).type);
    });
    return all ? "" : "what is differentiated is no number";
  }
  for (const Operand& given : tensors_of(walk, *bound[kGiven])) {
    const auto id = value_of(given);
    if (!id) return "what is given for an output is no plain tensor";
    asked.given.items.emplace_back(Argument::Value{*id});
    asked.tangents.push_back(PyRef::borrow(given.object));
  }
  return asked.given.items.size() == asked.of.items.size() ? "" : "what is given is not enough";
}

/// Whether a flag that was given, or its default, is that truth.
bool is_flag(const Bound& bound, Parameter parameter, bool otherwise, bool wanted) {
  if (!bound[parameter] || bound[parameter]->object == Py_None) return otherwise == wanted;
  return bound[parameter]->object == (wanted ? Py_True : Py_False);
}

/// Whether the gradient, which torch gave, lies in memory of its own.
bool lies_apart(const Walk& walk, PyObject* gradient, const std::vector<PyRef>& others) {
  torch::TensorView own, other;
  const torch::TensorBridge& bridge = walk.recorder.bridge();
  if (!bridge.read(gradient, own)) return false;
  return std::ranges::none_of(others, [&](const PyRef& one) {
    return bridge.read(one.get(), other) && other.storage == own.storage;
  });
}

/// Writes down what torch gave: a tuple of gradients, and None for what nothing depends on.
void add_results(Walk& walk, FrameShadow& f, Asked asked) {
  PyObject* tuple = f.object();
  const auto refuse = [&] {
    walk.verdict.spoil_here("torch.autograd.grad gives other gradients than a graph", Code::PS0307);
    f.push(Shadow{});
  };
  if (!PyTuple_CheckExact(tuple) ||
      PyTuple_GET_SIZE(tuple) != static_cast<Py_ssize_t>(asked.with.items.size()))
    return refuse();
  std::vector<TensorType> types;
  std::vector<PyRef> made = asked.tangents;
  Argument::Sequence with{Argument::Sequence::Kind::list, {}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* one = PyTuple_GET_ITEM(tuple, i);
    if (one == Py_None) continue;
    auto type = walk.recorder.bridge().is_plain_tensor(one) && lies_apart(walk, one, made)
                    ? walk.recorder.result_type(one, {})
                    : std::nullopt;
    if (!type) return refuse();
    types.push_back(std::move(*type));
    made.push_back(PyRef::borrow(one));
    with.items.push_back(asked.with.items[static_cast<std::size_t>(i)]);
  }
  if (types.empty()) return refuse();
  std::vector<ValueId> results;
  walk.recorder.add_node(std::string(ops::kGradient),
                         {{std::string(ops::kGradientOf), std::move(asked.of)},
                          {std::string(ops::kGradientWith), std::move(with)},
                          {std::string(ops::kGradientGiven), std::move(asked.given)},
                          {std::string(ops::kGradientCreates), asked.creates}},
                         types, results);
  std::vector<Shadow> shadows;
  std::size_t next = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* one = PyTuple_GET_ITEM(tuple, i);
    if (one != Py_None) walk.recorder.note_storage(results[next], one);
    shadows.push_back(one == Py_None ? Shadow::constant() : Shadow::node(results[next++]));
  }
  f.push(walk.objects.fresh(tuple, std::move(shadows)));
}

}  // namespace

std::optional<bool> model_grad(Walk& walk, FrameShadow& f, Operand function,
                               const std::vector<Operand>& positional,
                               const std::vector<std::pair<PyObject*, Operand>>& keywords,
                               int pops) {
  const auto refuse = [&](const std::string& why = {}) {
    return walk.verdict.broke(Code::PS0307,
                              "gradients are computed" + (why.empty() ? why : ": " + why), true);
  };
  const auto bound = bind(positional, keywords);
  if (!bound) return refuse();
  PyObject* inputs = bound->at(kInputs)->object;
  if (PyGen_CheckExact(inputs))  // what it gives is known when Python has gone over it
    return call_polyfill(walk, f, function, positional, keywords, pops);
  if (!walk.is_tensor(inputs) && !is_sequence(inputs)) return refuse();
  if (std::string why = obstacle_to_going_back(walk); !why.empty()) return refuse(why);
  for (const Parameter flag :
       {kRetains, kCreates, kOnlyInputs, kAllowsUnused, kBatched, kMaterializes}) {
    if (!bound->at(flag)) continue;
    PyObject* object = bound->at(flag)->object;
    if (object != Py_None && object != Py_True && object != Py_False) return refuse();
    if (!walk.facts.consume(*bound->at(flag))) return false;
  }
  if (!is_flag(*bound, kOnlyInputs, true, true) || !is_flag(*bound, kBatched, false, false) ||
      !is_flag(*bound, kMaterializes, false, false))
    return refuse();
  auto asked = std::make_shared<Asked>();
  asked->creates = is_flag(*bound, kCreates, false, true);
  if (std::string why = read(walk, *bound, *asked); !why.empty()) return refuse(why);
  walk.context.guard_grad_mode();
  f.is_op_time = true;
  const RaisePlace place = walk.program_place(walk.innermost());
  Call call{"call_function",
            "grad",
            "torch.autograd.grad",
            {Argument(asked->of), Argument(asked->with)},
            {},
            walk.stack(),
            {}};
  return natively(f, function, [pops, asked, place, call](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    walk.recorder.add_call(call);
    walk.gradients.go_through(asked->nodes, place);
    add_results(walk, f, std::move(*asked));
  });
}

}  // namespace penstock::record
