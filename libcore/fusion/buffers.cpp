#include "fusion/buffers.h"

#include <algorithm>

#include "fusion/layout.h"

namespace penstock::fusion {

namespace {

/// Strides that name every element of a block of memory once, in some order of dims.
bool is_dense(const TensorType& type, const Interface& interface) {
  return layout_strides(type, interface) == type.strides;
}

BufferId add_buffer(FusionPlan& plan, Buffer buffer) {
  plan.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(plan.buffers.size() - 1);
}

/// Windows of the views whose operands have windows by now.
void show_views(FusionPlan& plan) {
  for (const Node& node : plan.graph().nodes) {
    if (node.results.empty()) continue;
    ValuePlan& facts = plan.values[node.results.front()];
    if (facts.role != Role::view || facts.window) continue;
    const auto& operand = plan.values[operand_value(node, "self")].window;
    if (operand) facts.window = view_window(plan.graph(), node, *operand, plan.facts);
  }
}

/// The windows on `placed.memory` of the views that lead to it from the product's result: the
/// reshape splits dims, and the permutation goes backwards.
void show_result(FusionPlan& plan, const PlacedResult& placed) {
  const Window& memory = *plan.values[placed.memory].window;
  const Sizes& sizes = plan.type(placed.permuted).sizes;
  Window permuted = memory, apart{memory.base, {}, {}, 0};
  permuted.sizes = sizes;
  permuted.strides = contiguous_strides(sizes);
  std::vector<std::int64_t> dims = integer_list(plan.node_of(placed.permuted), "dims");
  apart.sizes.resize(dims.size());
  apart.strides.resize(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    apart.sizes[dims[i]] = sizes[i];
    apart.strides[dims[i]] = permuted.strides[i];
  }
  plan.values[placed.permuted].window = permuted;
  plan.values[placed.apart].window = apart;
}

std::string text_of(const Window& window, DType dtype) {
  std::string text = std::to_string(window.base) + ' ' + std::to_string(static_cast<int>(dtype)) +
                     '+' + window.offset.to_string();
  for (const SymExpr& size : window.sizes) text += ',' + size.to_string();
  text += ';';
  for (const SymExpr& stride : window.strides) text += ',' + stride.to_string();
  return text;
}

bool read_by_others(const FusionPlan& plan, const Root& reader, const Access& access) {
  return plan.roots[plan.values[access.value].root].group != reader.group;
}

}  // namespace

void allocate(FusionPlan& plan, ValueId value) {
  ValuePlan& facts = plan.values[value];
  if (facts.window) return;
  TensorType type = plan.type(value);
  type.strides = layout_strides(type, plan.interface());
  Buffer buffer;
  buffer.name = plan.graph().values[value].name;
  buffer.dtype = type.dtype;
  if (facts.output >= 0) {
    const TensorType& output = plan.interface().outputs[facts.output].type;
    buffer.kind = Buffer::Kind::output;
    buffer.index = facts.output;
    // A view of the value may be the output, which the value fills as it lies.
    if (plan.graph().outputs[facts.output] == value) type.strides = output.strides;
    buffer.sizes = output.sizes;
    buffer.strides = output.strides;
    buffer.dtype = output.dtype;
  } else {
    buffer.sizes = type.sizes;
    buffer.strides = type.strides;
  }
  bool gaps =
      facts.output >= 0 && !is_dense(plan.interface().outputs[facts.output].type, plan.interface());
  SymExpr elements =
      gaps ? elements_reached(buffer.sizes, buffer.strides) : element_count(type.sizes);
  buffer.bytes = elements * SymExpr(penstock::facts(type.dtype).size);
  BufferId base = add_buffer(plan, std::move(buffer));
  facts.window = Window{base, type.sizes, type.strides, 0};
}

void assign_memory(FusionPlan& plan) {
  const Graph& graph = plan.graph();
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) {
    auto id = static_cast<ValueId>(i);
    if (graph.values[i].is_scalar) continue;
    Buffer buffer;
    buffer.name = graph.values[i].name;
    buffer.kind = Buffer::Kind::input;
    buffer.index = static_cast<std::int32_t>(i);
    buffer.dtype = plan.type(id).dtype;
    buffer.sizes = plan.type(id).sizes;
    buffer.strides = plan.type(id).strides;
    buffer.host = plan.device != "cpu" && plan.type(id).device == "cpu";
    BufferId base = add_buffer(plan, std::move(buffer));
    plan.values[id].window = Window{base, plan.type(id).sizes, plan.type(id).strides, 0};
  }
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.results) {
      bool elsewhere = plan.batched.contains({plan.values[id].node, id});
      bool memory = plan.values[id].role == Role::memory && !graph.values[id].is_scalar;
      if (memory && !elsewhere) allocate(plan, id);
    }
  }
  for (const PlacedResult& placed : plan.placed_results) show_result(plan, placed);
  show_views(plan);
}

void assign_stores(FusionPlan& plan) {
  for (const Root& root : plan.roots) {
    if (root.group < 0) continue;
    for (const Access& access : root.accesses) {
      if (read_by_others(plan, root, access)) plan.values[access.value].stored = true;
    }
  }
  for (std::size_t i = 0; i < plan.values.size(); ++i) {
    ValuePlan& facts = plan.values[i];
    if (facts.role != Role::root) continue;
    facts.stored = facts.stored || facts.needed;
    if (facts.stored) allocate(plan, static_cast<ValueId>(i));
  }
  show_views(plan);
  for (ValueId id : plan.graph().outputs) plan.outputs.push_back(buffer_of(plan, id));
}

BufferId buffer_of(FusionPlan& plan, ValueId value) {
  return buffer_of(plan, *plan.values[value].window, plan.type(value).dtype,
                   plan.graph().values[value].name);
}

BufferId buffer_of(FusionPlan& plan, const Window& window, DType dtype, const std::string& name) {
  auto shows = [&](const Buffer& buffer) {
    return buffer.sizes == window.sizes && buffer.strides == window.strides &&
           buffer.offset == window.offset && buffer.dtype == dtype;
  };
  if (shows(plan.buffers[window.base])) return window.base;
  const std::string key = text_of(window, dtype);
  if (auto found = plan.windows.find(key); found != plan.windows.end()) return found->second;
  Buffer view;
  view.name = name;
  view.kind = Buffer::Kind::view;
  view.base = window.base;
  view.dtype = dtype;
  view.sizes = window.sizes;
  view.strides = window.strides;
  view.offset = window.offset;
  return plan.windows[key] = add_buffer(plan, std::move(view));
}

}  // namespace penstock::fusion
