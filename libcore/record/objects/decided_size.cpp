#include "record/objects/decided_size.h"

#include "passes/decompose/decided_sizes.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

namespace {

bool may_decide(Walk& walk) {
  return !walk.context.for_backend() && !walk.recorder.subgraphs.any() &&
         walk.recorder.sizes().decides_sizes();
}

/// True for a value that elements may be chosen of.
bool may_choose_of(const Walk& walk, ValueId id) {
  return walk.recorder.value(id).type.device == "cpu";
}

/// Appends a node that makes a size of the element of value `id`, which is `number` now.
SymExpr add_item(Recorder& recorder, ValueId id, std::int64_t number) {
  TensorType type;
  type.dtype = DType::int64;
  const ValueId item = recorder.new_value("item", std::move(type));
  Graph& graph = recorder.graph();
  graph.values[item].is_scalar = true;
  graph.values[item].expression =
      recorder.sizes().name_element(number, recorder.sizes().least_number());
  graph.nodes.push_back(Node{"aten.item.default",
                             {{"self", Argument::Value{id}}},
                             {item},
                             static_cast<std::int32_t>(graph.calls.size()) - 1});
  return graph.values[item].expression;
}

}  // namespace

bool may_decide_size(Walk& walk, const Node& node) {
  const Graph& graph = walk.recorder.graph();
  if (!may_decide(walk) || !passes::decides_size(node, graph)) return false;
  bool may = true;
  for (const NamedArgument& argument : node.args) {
    for_each_value(argument.value, [&](ValueId id) { may = may && may_choose_of(walk, id); });
  }
  return may && passes::decided_dim(node, graph).has_value();
}

bool may_select_by_mask(Walk& walk, ValueId tensor, const TensorType& type,
                        const Argument::Sequence& indices) {
  if (!may_decide(walk) || !may_choose_of(walk, tensor)) return false;
  // The view is no value of the graph yet.
  Graph part;
  Value self;
  self.type = type;
  part.values.push_back(std::move(self));
  Argument list = indices;
  bool may = true;
  map_values(list, [&](ValueId id) {
    const bool known = id < walk.recorder.graph().values.size();  // no list beside the mask
    may = may && known && may_choose_of(walk, id);
    if (!known) return id;
    part.values.push_back(walk.recorder.value(id));
    for (SymExpr& size : part.values.back().type.sizes)
      size = walk.recorder.sizes().value(size).value_or(0);
    return static_cast<ValueId>(part.values.size() - 1);
  });
  const Node node{
      "aten.index.Tensor", {{"self", Argument::Value{0}}, {"indices", std::move(list)}}, {}, -1};
  return may && passes::decides_size(node, part) && passes::decided_dim(node, part).has_value();
}

std::optional<bool> decided_number(Walk& walk, FrameShadow& f, Operand tensor, int pops) {
  if (!tensor.shadow.is(Shadow::Kind::node) || !walk.is_tensor(tensor.object) || !may_decide(walk))
    return std::nullopt;
  const ValueId value = tensor.shadow.index;
  const DType dtype = walk.recorder.value(value).type.dtype;
  if (!is_integral(dtype) || is_boolean(dtype) || walk.recorder.grid.has(value) ||
      !may_choose_of(walk, value))
    return std::nullopt;
  torch::TensorView view;
  if (!walk.recorder.bridge().read(tensor.object, view)) {
    PyErr_Clear();
    return std::nullopt;
  }
  // What is negative says how large nothing is.
  const auto element = torch::element_of(view);
  if (!element || element->integer < 0) return std::nullopt;
  f.is_op_time = true;
  f.finish = [pops, value, number = element->integer, stack = walk.stack()](Walk& walk,
                                                                            FrameShadow& f) {
    f.pop(pops);
    walk.recorder.add_call(
        {"call_method", "item", "item", {Argument::Value{value}}, {}, stack, Argument::None{}});
    f.push(walk.sizes.size_shadow(add_item(walk.recorder, value, number)));
  };
  return true;
}

}  // namespace penstock::record
