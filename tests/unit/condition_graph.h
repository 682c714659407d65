#pragma once

#include "graph_builder.h"
#include "ir/subgraphs.h"

namespace penstock {

/// A subgraph of one op on one operand.
inline Graph one_op(std::string name, std::string_view op, GraphBuilder::Sizes sizes) {
  GraphBuilder branch;
  branch.output(branch.unary(op, branch.input(std::move(sizes))));
  branch.graph.interface.name = std::move(name);
  return std::move(branch.graph);
}

/// predicate ? exp(x * 2) : neg(x * 2), plus 1; inputs are x and the predicate.
inline Graph condition_graph(GraphBuilder::Sizes sizes = {4}) {
  GraphBuilder b;
  for (const SymExpr& size : sizes) {
    if (!size.is_constant()) b.symbol(std::string(size.symbol_name()), 5);
  }
  const ValueId x = b.input(sizes), predicate = b.input({}, DType::bool_);
  const ValueId twice = b.binary("mul", x, 2.0);
  Argument::Sequence operands{Argument::Sequence::Kind::list, {Argument::Value{twice}}};
  const ValueId chosen = b.node("prim.cond",
                                {{"predicate", Argument::Value{predicate}},
                                 {"operands", Argument(std::move(operands))},
                                 {"then", std::string("yes")},
                                 {"otherwise", std::string("no")}},
                                b.graph.values[twice].type);
  b.output(b.binary("add", chosen, 1.0));
  b.graph.subgraphs.push_back(one_op("yes", "exp", sizes));
  b.graph.subgraphs.push_back(one_op("no", "neg", sizes));
  inherit_sizes(b.graph);
  return std::move(b.graph);
}

}  // namespace penstock
