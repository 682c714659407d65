// Leaves that a segment makes: requires_grad_() of what it computed, `requires_grad = True`, and
// functions that make tensors with requires_grad=True.
//
// A leaf is a value of the graph like any other, of whose type it says that gradients go to it: the
// gradients that the segment asks for (engine_gradients.cpp, backward.cpp) end there. What stands
// for it outside would have to be a leaf of torch's, on which torch's own graph hangs: no entry
// makes that, and a segment that leaves one behind ends before it was made (SegmentEnding).

#include <algorithm>

#include "ir/graph.h"
#include "python/literal.h"
#include "record/objects/backward.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// Whether gradients would go on behind the value if it required any: they end at a leaf.
bool is_computed_of_gradients(const Graph& graph, ValueId id) {
  const auto makes = [id](const Node& node) {
    return std::ranges::find(node.results, id) != node.results.end();
  };
  const auto maker = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), makes);
  if (maker == graph.nodes.rend() || maker->op == "aten.detach.default") return false;
  bool any = false;
  for (const NamedArgument& argument : maker->args) {
    for_each_value(argument.value,
                   [&](ValueId of) { any = any || graph.values[of].type.requires_grad; });
  }
  return any;
}

/// Whether the graph can hold the tensor as a leaf: an op of the segment made it.
bool may_be_leaf(const Walk& walk, Operand tensor) {
  const torch::TensorBridge& bridge = walk.recorder.bridge();
  const auto is_one = [&](ValueId id) {
    const TensorType& type = walk.recorder.value(id).type;
    return !walk.recorder.is_input(id) && type.device == "cpu" && is_floating(type.dtype) &&
           !walk.recorder.is_written(id) && !walk.recorder.grid.has(id) &&
           !is_computed_of_gradients(walk.recorder.graph(), id);
  };
  return tensor.shadow.is(Shadow::Kind::node) && bridge.is_plain_tensor(tensor.object) &&
         is_one(tensor.shadow.index) && bridge.is_dense(tensor.object);
}

void note_leaf(Walk& walk, Operand tensor) {
  walk.recorder.note_storage(tensor.shadow.index, tensor.object);
  walk.gradients.make_leaf(tensor, walk.program_place(walk.innermost()));
}

}  // namespace

bool can_become_leaf(const Walk& walk, Operand tensor) {
  return may_be_leaf(walk, tensor) &&
         !walk.recorder.value(tensor.shadow.index).type.requires_grad &&
         obstacle_to_backward(walk).empty();
}

bool makes_leaf(FrameShadow& f, Operand tensor, int pops, std::optional<Shadow> result) {
  f.finish = [pops, result, shadow = tensor.shadow, tensor = PyRef::borrow(tensor.object)](
                 Walk& walk, FrameShadow& f) {
    f.pop(pops);
    if (result) f.push(*result);
    note_leaf(walk, {shadow, tensor.get()});
  };
  return true;
}

bool makes_tensor(Walk& walk, FrameShadow& f,
                  const std::vector<std::pair<PyObject*, Operand>>& keywords,
                  const std::function<bool()>& call) {
  const bool leaf = std::ranges::any_of(keywords, [](const auto& keyword) {
    return keyword.second.object == Py_True && python::text_of(keyword.first) == "requires_grad";
  });
  if (!leaf) return call();
  constexpr const char* kWhy = "requires_grad of a tensor is set";
  if (!obstacle_to_backward(walk).empty()) return walk.verdict.broke(Code::PS0305, kWhy, true);
  if (!call()) return false;
  f.finish = [finish = std::move(f.finish)](Walk& walk, FrameShadow& f) {
    if (finish) finish(walk, f);
    if (!may_be_leaf(walk, f.operand())) return walk.verdict.spoil_here(kWhy, Code::PS0305);
    note_leaf(walk, f.operand());
  };
  return true;
}

}  // namespace penstock::record
