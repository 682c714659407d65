#include "fusion/plan.h"

#include <algorithm>
#include <string>

#include "fusion/cost.h"
#include "fusion/kernel_builder.h"
#include "fusion/layout.h"
#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "fusion/scaled_weight.h"
#include "ir/device.h"
#include "ir/size_facts.h"
#include "ops/op.h"
#include "partition/placement.h"

namespace penstock::fusion {

namespace {

RootKind kind_of(const Node& node) {
  if (node.op == "prim.scatter" || node.op == "prim.scatter_add") return RootKind::scatter;
  if (node.op == "prim.cat") return RootKind::join;
  if (ops::is_product(node.op)) return RootKind::reduction;
  const ops::OpFacts* op = ops::find_op(node.op);
  if (op == nullptr) return RootKind::pointwise;
  switch (op->group) {
    case ops::PrimGroup::reduce:
      return RootKind::reduction;
    case ops::PrimGroup::scan:
      return RootKind::scan;
    case ops::PrimGroup::effect:
      return RootKind::copy;
    case ops::PrimGroup::check:
      return RootKind::check;
    default:
      return RootKind::pointwise;
  }
}

}  // namespace

void add_root(FusionPlan& plan, std::int32_t position, std::int32_t region) {
  const Node& node = plan.graph().nodes[position];
  Root root;
  root.node = position;
  root.kind = kind_of(node);
  if (root.kind == RootKind::copy)
    root.domain = plan.type(operand_value(node, "self")).sizes;
  else if (root.kind != RootKind::check)
    root.domain = plan.type(node.results.front()).sizes;
  root.group = static_cast<std::int32_t>(plan.groups.size());
  Sizes rows;
  // A row of a product is a row of its result: the columns share the row of the left factor.
  const std::size_t inner = ops::is_product(node.op) ? root.domain.size() - 1 : root.domain.size();
  for (std::size_t i = 0; i < root.domain.size(); ++i) {
    const bool row = i < inner && root.domain[i] != SymExpr(1);
    root.row_of.push_back(row ? static_cast<std::int32_t>(rows.size()) : -1);
    if (row) rows.push_back(root.domain[i]);
  }
  auto number = static_cast<std::int32_t>(plan.roots.size());
  for (ValueId id : node.results) {
    plan.values[id].role = Role::root;
    plan.values[id].root = number;
  }
  Group group;
  group.region = region;
  group.rows = std::move(rows);
  group.pinned = root.kind == RootKind::reduction;
  group.roots = {number};
  plan.groups.push_back(std::move(group));
  plan.roots.push_back(std::move(root));
}

Index domain_variables(std::size_t rank) {
  Index index;
  for (std::size_t i = 0; i < rank; ++i) {
    index.push_back(SymExpr::symbol(kDomainVariable + std::to_string(i)));
  }
  return index;
}

ValueId FusionPlan::base_of(ValueId value) const {
  while (values[value].role == Role::view) value = operand_value(node_of(value), "self");
  return value;
}

int index_divisions(const FusionPlan& plan, const Node& view) {
  if (view.op != "prim.reshape") return 0;
  const Sizes &from = plan.type(operand_value(view, "self")).sizes,
              &to = plan.type(view.results.front()).sizes;
  const auto is_apart = [&](std::size_t first, std::size_t last) {
    return std::count_if(from.begin() + static_cast<std::ptrdiff_t>(first),
                         from.begin() + static_cast<std::ptrdiff_t>(last),
                         [](const SymExpr& size) { return size != SymExpr(1); }) > 1;
  };
  for (const ReshapeGroup& group : reshape_groups(from, to, plan.facts)) {
    if (is_apart(group.from_first, group.from_last)) return 1;
  }
  return 0;
}

void make_root(FusionPlan& plan, ValueId value) {
  add_root(plan, plan.values[value].node, plan.values[value].region);
}

FusionPlan make_plan(PlacedGraph placed) {
  FusionPlan plan;
  plan.placed = std::move(placed);
  plan.device = device_of(plan.graph()).value_or("cpu");
  plan.facts = size_facts(plan.interface());
  plan.values.resize(plan.graph().values.size());
  plan.uses = partition::count_uses(plan.graph());
  for (std::size_t r = 0; r < plan.placed.regions.size(); ++r) {
    const Region& region = plan.placed.regions[r];
    auto number = static_cast<std::int32_t>(r);
    for (std::int32_t i = region.first; i < region.last; ++i) {
      for (ValueId id : plan.graph().nodes[i].results) {
        plan.values[id].node = i;
        plan.values[id].region = number;
      }
    }
  }
  return plan;
}

std::vector<Use> collect_uses(const FusionPlan& plan) {
  std::vector<Use> uses;
  for (std::size_t i = 0; i < plan.graph().nodes.size(); ++i) {
    const Node& node = plan.graph().nodes[i];
    if (!node.results.empty() && plan.values[node.results.front()].role == Role::view) continue;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId operand) {
        Use use{static_cast<std::int32_t>(i), operand, operand,
                domain_variables(plan.type(operand).rank())};
        RangeFacts facts = plan.facts;
        for (std::size_t d = 0; d < use.index.size(); ++d) {
          facts.set_index(use.index[d].symbol_name(), plan.type(operand).sizes[d]);
        }
        while (plan.values[use.base].role == Role::view) {
          const Node& view = plan.node_of(use.base);
          use.base = operand_value(view, "self");
          use.index = view.op == "prim.as_strided"
                          ? Index(plan.type(use.base).rank(), SymExpr(0))
                          : view_index(plan.graph(), view, use.index, facts);
        }
        uses.push_back(std::move(use));
      });
    }
  }
  return uses;
}

namespace {

/// Notes how much a root's loops compute, and what they load.
void look_at(const std::vector<Statement>& body, Root& root) {
  for_each_instruction(body, [&](const Instruction& instruction) {
    root.instructions += std::max(1, op_weight(instruction.op));
    if (instruction.op == "load") root.reads.push_back(instruction.buffer);
  });
}

/// Asks for what a root reads, at each element of the tensors that its loops run over.
void ask(const FusionPlan& plan, const Root& root, KernelBuilder& builder) {
  const Node& node = plan.node_of(root);
  auto each_element = [&](ValueId value, auto&& body) {
    Index index = domain_variables(plan.type(value).rank());
    for (std::size_t i = 0; i < index.size(); ++i) {
      builder.open_loop(plan.type(value).sizes[i], std::string(index[i].symbol_name()));
    }
    ScalarId element = body(value, index);
    Window nowhere{kNoBuffer, {}, Sizes(index.size(), SymExpr(0)), 0};
    builder.store(nowhere, index, element, plan.type(value).dtype);
    for (std::size_t i = 0; i < index.size(); ++i) builder.close_loop();
  };
  if (root.kind == RootKind::pointwise || root.kind == RootKind::reduction) {
    for (ValueId id : node.results) {
      each_element(id, [&](ValueId value, const Index& at) { return builder.compute(value, at); });
    }
    return;
  }
  for (const NamedArgument& argument : node.args) {
    for_each_value(argument.value, [&](ValueId operand) {
      if ((root.kind == RootKind::copy || root.over != kNoValue) && argument.name == "self") return;
      each_element(operand,
                   [&](ValueId value, const Index& at) { return builder.element(value, at); });
    });
  }
}

}  // namespace

void find_accesses(FusionPlan& plan) {
  for (Root& root : plan.roots) {
    root.accesses.clear();
    root.reads.clear();
    root.instructions = 0;
    if (root.group < 0) continue;
    KernelBuilder builder(plan, -1, [&](KernelBuilder& asking, ValueId value, const Index& index) {
      root.accesses.push_back({value, index});
      return std::optional(asking.constant(std::int64_t{0}, plan.type(value).dtype));
    });
    ask(plan, root, builder);
    look_at(builder.finish(), root);
  }
}

}  // namespace penstock::fusion
