// Give roles
//
// Views are views where strides or an index say where their elements lie; numbers made from nothing
// are computed wherever they are asked for; all else that is compiled starts as a root with a group
// of its own. What is read from memory by something outside a region (outputs, library and fallback
// calls, writes into inputs, checks) is marked as needed, and has memory that a window describes.
#include "fusion/buffers.h"
#include "fusion/layout.h"
#include "fusion/plan.h"
#include "fusion/rewrite.h"
#include "fusion/scaled_weight.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

bool is_kind(const Node& node, ops::PrimGroup group) {
  const ops::OpFacts* op = ops::find_op(node.op);
  return op != nullptr && op->group == group;
}

/// Roles of the results of one compiled node.
void place_node(FusionPlan& plan, std::int32_t position, std::int32_t region) {
  const Node& node = plan.graph().nodes[position];
  bool scalar = !node.results.empty() && plan.graph().values[node.results.front()].is_scalar;
  bool scaled = !node.results.empty() && plan.scaled.contains(node.results.front());
  if (scalar || scaled || is_kind(node, ops::PrimGroup::create)) {
    for (ValueId id : node.results) plan.values[id].role = Role::inlined;
  } else if (is_kind(node, ops::PrimGroup::view)) {
    plan.values[node.results.front()].role = Role::view;
  } else {
    add_root(plan, position, region);
  }
}

/// A value that something outside its region reads from memory.
void need(FusionPlan& plan, ValueId value) {
  ValuePlan& facts = plan.values[value];
  if (facts.role == Role::view && !expected_window(plan, value) && !write_in_place(plan, value)) {
    make_root(plan, value);
  }
  if (facts.role == Role::inlined) make_root(plan, value);
  ValueId base = plan.base_of(value);
  if (plan.values[base].role == Role::inlined) make_root(plan, base);
  plan.values[base].needed = true;
}

/// Whether the base of the view `value`, laid out in row-major order, fills the memory of output
/// `output` exactly, so that the view is that output.
bool fills_output(const FusionPlan& plan, ValueId value, std::size_t output) {
  auto window = row_major_window(plan, value);
  ValueId base = plan.base_of(value);
  const ValuePlan& facts = plan.values[base];
  if (!window || facts.node < 0 || facts.output >= 0 || facts.role == Role::inlined) return false;
  const TensorType& type = plan.interface().outputs[output].type;
  return window->offset == SymExpr(0) && window->strides == type.strides &&
         element_count(plan.type(base).sizes) == element_count(type.sizes);
}

bool has_row_major_output(const FusionPlan& plan, std::size_t output) {
  const TensorType& type = plan.interface().outputs[output].type;
  return type.strides == contiguous_strides(type.sizes);
}

/// Has a computed value lie with these strides.
void lie(FusionPlan& plan, ValueId value, const Sizes& strides) {
  plan.placed.graph.values[value].type.strides = strides;
}

/// Whether output `output` is a copy of a view of what a library call makes, which lies as the copy
/// would (lay-out-images sees to that).
bool copies_in_place(const FusionPlan& plan, std::size_t output) {
  const ValueId value = plan.graph().outputs[output];
  const TensorType& type = plan.interface().outputs[output].type;
  if (plan.values[value].role != Role::root || plan.uses[value] != 1) return false;
  const Node& copy = plan.node_of(value);
  if (copy.op != "prim.clone") return false;
  const ValueId shown = operand_value(copy, "self"), made = plan.base_of(shown);
  const ValuePlan& base = plan.values[made];
  const auto window = expected_window(plan, shown);
  return base.role == Role::memory && base.node >= 0 && base.output < 0 && window &&
         window->offset == SymExpr(0) && window->strides == type.strides && is_contiguous(type) &&
         element_count(plan.type(made).sizes) == element_count(type.sizes);
}

/// Makes the copy a view of what it copies, and that the output.
void show_in_place(FusionPlan& plan, std::size_t output) {
  ValuePlan& copy = plan.values[plan.graph().outputs[output]];
  Root& root = plan.roots[copy.root];
  plan.groups[root.group].roots.clear();
  root.group = -1;
  copy.role = Role::view;
  copy.root = -1;
  const ValueId base = plan.base_of(plan.graph().outputs[output]);
  plan.values[base].output = static_cast<std::int32_t>(output);
}

/// Decides whose memory each output is: a value's own, or that of the value it is a view of.
void claim_outputs(FusionPlan& plan) {
  const Graph& graph = plan.graph();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    ValueId value = graph.outputs[i];
    ValueId base = plan.base_of(value);
    auto number = static_cast<std::int32_t>(i);
    bool passes_on = graph.interface.outputs[i].alias.kind != OutputAlias::Kind::none ||
                     plan.values[base].node < 0;
    if (!passes_on && copies_in_place(plan, i)) {
      show_in_place(plan, i);
      need(plan, value);
      continue;
    }
    if (!passes_on && plan.values[value].role == Role::view) {
      if (fills_output(plan, value, i)) {
        plan.values[base].output = number;
        lie(plan, base, contiguous_strides(plan.type(base).sizes));
      } else if (!has_row_major_output(plan, i) || !write_in_place(plan, value)) {
        make_root(plan, value);
      }
    }
    need(plan, value);
    const ValuePlan& facts = plan.values[value];
    bool own = facts.role != Role::view && facts.node >= 0;
    if (own && facts.output < 0) {
      plan.values[value].output = number;
      lie(plan, value, graph.interface.outputs[i].type.strides);
    }
  }
}

/// Puts what chains of views divide too often into memory on the way.
void cut_view_chains(FusionPlan& plan) {
  std::vector<int> divisions(plan.values.size(), 0);
  for (std::size_t i = 0; i < plan.graph().nodes.size(); ++i) {
    const Node& node = plan.graph().nodes[i];
    if (node.results.empty() || plan.values[node.results.front()].role != Role::view) continue;
    const ValueId view = node.results.front(), operand = operand_value(node, "self");
    divisions[view] = divisions[operand] + index_divisions(plan, node);
    if (divisions[view] <= kMaxDivisions) continue;
    divisions[view] = 0;
    // What strides describe needs no index of its own.
    if (!expected_window(plan, view)) make_root(plan, view);
  }
}

}  // namespace

void give_roles(FusionPlan& plan) {
  find_scaled_weights(plan);
  for (std::size_t r = 0; r < plan.placed.regions.size(); ++r) {
    const Region& region = plan.placed.regions[r];
    if (region.placement != Placement::compiled) continue;
    for (std::int32_t i = region.first; i < region.last; ++i) {
      place_node(plan, i, static_cast<std::int32_t>(r));
    }
  }
  claim_outputs(plan);
  for (const Region& region : plan.placed.regions) {
    if (region.placement == Placement::compiled) {
      for (ValueId id : region.inputs) {
        if (plan.values[id].node >= 0) need(plan, id);
      }
    }
    for (std::int32_t i = region.first; i < region.last; ++i) {
      // What an input is overwritten with lies in memory: its expression may read that input.
      const Node& node = plan.graph().nodes[i];
      if (is_kind(node, ops::PrimGroup::effect)) need(plan, operand_value(node, "src"));
      if (is_kind(node, ops::PrimGroup::check)) need(plan, operand_value(node, "self"));
      // Library and fallback calls read their operands, views of inputs too, as windows.
      if (region.placement == Placement::compiled) continue;
      for (const NamedArgument& argument : node.args) {
        for_each_value(argument.value, [&](ValueId id) {
          if (auto scaled = plan.scaled.find(id); scaled != plan.scaled.end()) {
            need(plan, scaled->second.scale);
            return;
          }
          ValueId apart = read_apart(plan, i, id);
          need(plan, apart == kNoValue ? id : apart);
        });
      }
    }
  }
  cut_view_chains(plan);
  write_chains(plan);
  assign_memory(plan);
  find_accesses(plan);
}

}  // namespace penstock::fusion
