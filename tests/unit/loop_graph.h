#pragma once

#include "condition_graph.h"

namespace penstock {

inline Argument operand_list(const std::vector<ValueId>& ids) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (ValueId id : ids) list.items.emplace_back(Argument::Value{id});
  return Argument(std::move(list));
}

/// Appends a node that runs subgraphs, with a result of each type.
inline std::vector<ValueId> control_node(GraphBuilder& b, std::string op,
                                         std::vector<NamedArgument> arguments,
                                         std::vector<TensorType> types) {
  Node node{std::move(op), std::move(arguments), {}, -1};
  for (TensorType& type : types) node.results.push_back(add_value(b.graph, "v", std::move(type)));
  std::vector<ValueId> results = node.results;
  b.graph.nodes.push_back(std::move(node));
  return results;
}

inline GraphBuilder builder_with(const std::vector<SymExpr>& sizes) {
  GraphBuilder b;
  for (const SymExpr& size : sizes) {
    if (!size.is_constant()) b.symbol(std::string(size.symbol_name()), 5);
  }
  return b;
}

/// n and x, then turns of n + 1 and flip(x) * y + n while n is below `limit`; y is 2x before, and
/// is added to what x came to. Inputs are x and n.
inline Graph loop_graph(std::vector<SymExpr> sizes = {4}, std::int64_t limit = 3) {
  GraphBuilder b = builder_with(sizes);
  const ValueId x = b.input(sizes), n = b.input({}, DType::int64);
  const ValueId y = b.binary("mul", x, 2.0);
  GraphBuilder condition, body;
  const ValueId so_far = condition.input({}, DType::int64);
  condition.input(sizes);
  condition.input(sizes);
  condition.output(condition.compare("lt", so_far, Argument(limit)));
  condition.graph.interface.name = "going";
  const ValueId turn = body.input({}, DType::int64), before = body.input(sizes),
                factor = body.input(sizes);
  std::vector<std::int64_t> none;
  const ValueId wide = body.broadcast(body.convert(turn, DType::float32), sizes, none);
  const ValueId product = body.binary("mul", body.flip(before, {0}), factor);
  body.output(body.binary("add", turn, std::int64_t{1}));
  body.output(body.binary("add", product, wide));
  body.graph.interface.name = "body";
  const auto results = control_node(b, "prim.while_loop",
                                    {{"operands", operand_list({n, x, y})},
                                     {"condition", std::string("going")},
                                     {"body", std::string("body")}},
                                    {b.type({}, DType::int64), b.type(sizes, DType::float32)});
  b.output(results[0]);
  b.output(b.binary("add", results[1], y));
  b.graph.subgraphs.push_back(std::move(condition.graph));
  b.graph.subgraphs.push_back(std::move(body.graph));
  inherit_sizes(b.graph);
  return std::move(b.graph);
}

/// Rows of xs, added up onto c: the sum, and of each row the sum up to it times y. Inputs are c, xs
/// and y.
inline Graph scan_graph(SymExpr length = 3, std::vector<SymExpr> sizes = {4}) {
  std::vector<SymExpr> all = sizes;
  all.insert(all.begin(), length);
  GraphBuilder b = builder_with(all);
  const ValueId c = b.input(sizes), xs = b.input(all), y = b.input(sizes);
  GraphBuilder body;
  const ValueId before = body.input(sizes), row = body.input(sizes), factor = body.input(sizes);
  const ValueId sum = body.binary("add", before, row);
  body.output(sum);
  body.output(body.binary("mul", sum, factor));
  body.graph.interface.name = "body";
  const auto number = length.constant();
  const auto results = control_node(b, "prim.scan",
                                    {{"operands", operand_list({c, xs, y})},
                                     {"carried", std::int64_t{1}},
                                     {"scanned", std::int64_t{1}},
                                     {"length", number ? Argument(*number) : Argument(length)},
                                     {"body", std::string("body")}},
                                    {b.type(sizes, DType::float32), b.type(all, DType::float32)});
  b.output(results[0]);
  b.output(b.binary("add", results[1], 1.0));
  b.graph.subgraphs.push_back(std::move(body.graph));
  inherit_sizes(b.graph);
  return std::move(b.graph);
}

}  // namespace penstock
