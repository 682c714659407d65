#include "record/objects/decided_size.h"

#include <algorithm>

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

/// Nodes that are looked through for a size that is known already.
constexpr std::size_t kNearby = 128;

const Node* nearby_maker(const Graph& graph, ValueId id) {
  const auto end =
      graph.nodes.rbegin() + static_cast<std::ptrdiff_t>(std::min(kNearby, graph.nodes.size()));
  const auto found = std::find_if(graph.nodes.rbegin(), end, [&](const Node& node) {
    return std::ranges::find(node.results, id) != node.results.end();
  });
  return found == end ? nullptr : &*found;
}

/// Whether both are the same element of memory that nobody wrote.
bool are_one_element(const Recorder& recorder, ValueId one, ValueId other) {
  if (recorder.is_written(one) || recorder.is_written(other)) return false;
  if (one == other) return true;
  const Node *first = nearby_maker(recorder.graph(), one),
             *second = nearby_maker(recorder.graph(), other);
  return first != nullptr && second != nullptr && first->op == "aten.select.int" &&
         second->op == first->op && second->args == first->args;
}

/// The size that an item of the same element is.
std::optional<SymExpr> known_item(const Recorder& recorder, ValueId id) {
  const Graph& graph = recorder.graph();
  const std::size_t count = graph.nodes.size();
  for (std::size_t i = count; i-- > count - std::min(kNearby, count);) {
    const Node& node = graph.nodes[i];
    if (node.op == "aten.item.default" && graph.values[node.results[0]].is_scalar &&
        are_one_element(recorder, operand_value(node, "self"), id))
      return graph.values[node.results[0]].expression;
  }
  return std::nullopt;
}

/// The size that the element of value `id` is, which is `number` now: where it is not known, a node
/// makes one.
SymExpr add_item(Recorder& recorder, ValueId id, std::int64_t number) {
  if (const auto known = known_item(recorder, id)) return *known;
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

/// The element of a tensor that a graph may make a size of; nothing: it may not.
std::optional<std::int64_t> decidable_element(Walk& walk, Operand tensor) {
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
  return element && element->integer >= 0 ? std::optional(element->integer) : std::nullopt;
}

Call call_of_item(const Walk& walk, ValueId value) {
  return {"call_method", "item",          "item", {Argument::Value{value}}, {},
          walk.stack(),  Argument::None{}};
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
  const auto number = decidable_element(walk, tensor);
  if (!number) return std::nullopt;
  f.is_op_time = true;
  f.finish = [pops, value = tensor.shadow.index, number = *number,
              call = call_of_item(walk, tensor.shadow.index)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    walk.recorder.add_call(call);
    f.push(walk.sizes.size_shadow(add_item(walk.recorder, value, number)));
  };
  return true;
}

namespace {

/// The element of a tensor that stands among sizes: a number that the graph computes. `number`
/// keeps it. Nothing where that cannot be.
std::optional<Operand> decided_argument(Walk& walk, Operand tensor, python::PyRef& number) {
  const auto element = decidable_element(walk, tensor);
  if (!element) return std::nullopt;
  number = python::PyRef::steal(PyLong_FromLongLong(*element));
  walk.recorder.add_call(call_of_item(walk, tensor.shadow.index));
  const Shadow size =
      walk.sizes.size_shadow(add_item(walk.recorder, tensor.shadow.index, *element));
  return Operand{size, number.get()};
}

}  // namespace

std::optional<SizedArguments> with_decided_sizes(Walk& walk, std::span<const Operand> positional) {
  const auto is_number = [](const Operand& one) { return PyLong_CheckExact(one.object) != 0; };
  SizedArguments sized{{positional.begin(), positional.end()}, {}};
  bool any = false;
  const auto decide = [&](Operand& one) {
    const auto number = decided_argument(walk, one, sized.kept.emplace_back());
    if (number) one = *number;
    any = any || number;
  };
  for (Operand& one : sized.positional) {
    if (walk.is_tensor(one.object) && std::ranges::any_of(positional, is_number)) decide(one);
    if (!PyTuple_CheckExact(one.object) && !PyList_CheckExact(one.object)) continue;
    std::vector<Operand> items;
    const std::vector<Shadow> shadows = walk.objects.items(one);
    for (std::size_t i = 0; i < shadows.size(); ++i)
      items.push_back(
          {shadows[i], PySequence_Fast_GET_ITEM(one.object, static_cast<Py_ssize_t>(i))});
    const auto is_size = [&](const Operand& item) {
      return is_number(item) || walk.is_tensor(item.object);
    };
    if (!std::ranges::all_of(items, is_size)) continue;
    std::vector<Shadow> known;
    python::PyRef tuple = python::PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    if (!tuple) return std::nullopt;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (walk.is_tensor(items[i].object)) decide(items[i]);
      known.push_back(items[i].shadow);
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(items[i].object));
    }
    one = {walk.objects.fresh(tuple.get(), std::move(known)), tuple.get()};
    sized.kept.push_back(std::move(tuple));
  }
  return any ? std::optional(std::move(sized)) : std::nullopt;
}

}  // namespace penstock::record
