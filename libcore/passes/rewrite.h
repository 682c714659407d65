#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ops/infer.h"

namespace penstock::passes {

/// Shorthand for an argument of a node under construction.
NamedArgument arg(std::string_view name, Argument value);
Argument list_of(const std::vector<SymExpr>& integers);
Argument list_of(const std::vector<std::int64_t>& integers);
Argument list_of(const std::vector<ValueId>& values);

/// Whether an op of torch's is not to be taken apart yet, as its derivative has a rule of its own.
using KeepsWhole = bool (*)(std::string_view op);
/// Whether a node of an op of torch's is not to be taken apart at all, as whoever gets the graph
/// has something of its own for it: another compiler's operator.
using KeepsNode = std::function<bool(const Graph& graph, const Node& node)>;

/// A graph whose nodes are made anew, one after the other, while its values stay: ids remain valid,
/// new values are appended, and a value that something else now computes is replaced everywhere at
/// the end. The first error sticks; `finish` returns it.
///
/// Prims hold no complex elements: a prim that only moves some is emitted as the op of torch's that
/// does so.
class Rewrite {
 public:
  explicit Rewrite(Graph graph);
  Rewrite(const Rewrite&) = delete;

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  ops::ShapeContext& shapes() { return shapes_; }
  const std::vector<Node>& old_nodes() const { return old_nodes_; }
  /// The type of a value; that of no tensor at all for an id that a failed step gave.
  const TensorType& type(ValueId id) const {
    return id < graph_.values.size() ? graph_.values[id].type : kNoTensor;
  }

  /// `node` with every argument replaced by what stands for it now.
  Node current(const Node& node) const;
  ValueId current(ValueId id) const;
  /// From now on `replacement` stands for `value`, in nodes to come, outputs and calls.
  void replace(ValueId value, ValueId replacement);

  /// Keeps `node`, whose arguments are current, with its results.
  void keep(Node node);
  /// The same, but the results' types are inferred anew: an argument may lie differently now.
  void keep_inferred(Node node);
  /// Makes a node of the op and returns its results, with the types that the op's rule gives.
  std::vector<ValueId> emit(std::string_view op, std::vector<NamedArgument> args);
  /// The same with types that the caller knows: for ops of torch's, which may have no rule.
  std::vector<ValueId> emit_as(std::string_view op, std::vector<NamedArgument> args,
                               std::vector<TensorType> types);
  /// The same for an op with one result.
  ValueId emit_one(std::string_view op, std::vector<NamedArgument> args);
  /// The value, an int64 that a node of prim.item gives, is that size.
  void make_size(ValueId value, SymExpr size) {
    graph_.values[value].is_scalar = true;
    graph_.values[value].expression = std::move(size);
  }
  /// Says which ops stay whole for derivatives; null: none.
  void keep_whole(KeepsWhole keeps) { keeps_whole_ = keeps; }
  /// Whether derivatives of the graph are still to be made.
  bool before_derivatives() const { return keeps_whole_ != nullptr; }
  bool keeps_whole(std::string_view op) const { return before_derivatives() && keeps_whole_(op); }
  /// Reductions that would leave a GPU idle wait for hand_over_reductions, which comes behind
  /// derivatives.
  void let_reductions_wait() { reductions_wait_ = true; }
  bool reductions_wait() const { return reductions_wait_; }
  /// Says which nodes stay whole for whoever gets the graph; empty: none.
  void keep_nodes(KeepsNode keeps) { keeps_node_ = std::move(keeps); }
  bool keeps_whole(const Node& node) const {
    return keeps_whole(node.op) || (keeps_node_ && keeps_node_(graph_, node));
  }
  /// The call that new nodes belong to.
  void set_call(std::int32_t call) { call_ = call; }

  /// Where the rewrite stands, and a way back to it: nodes made since go, and so does an error.
  struct Mark {
    std::size_t nodes;
    bool failed;
  };
  Mark mark() const { return {graph_.nodes.size(), failed()}; }
  void back_to(const Mark& mark);

  bool failed() const { return error_.has_value(); }
  void fail(Diagnostic error);
  Result<Graph> finish();

 private:
  static const TensorType kNoTensor;
  std::vector<ValueId> emit_complex(std::string_view prim, std::vector<NamedArgument> args);

  Graph graph_;
  std::vector<Node> old_nodes_;
  std::vector<ValueId> stands_for_;  ///< by value: its replacement, or itself
  ops::GuardingShapes shapes_;
  std::int32_t call_ = -1;
  KeepsWhole keeps_whole_ = nullptr;
  KeepsNode keeps_node_;
  bool reductions_wait_ = false;
  std::optional<Diagnostic> error_;
};

/// By result of `node`: the value whose memory it shares, if it does: reshape may have to copy. Of
/// an op that is not taken apart, or that no table knows, it is known from the run that was
/// recorded. A prim whose rule refuses its arguments fails the rewrite.
std::vector<ValueId> memory_of_results(Rewrite& rewrite, const Node& node);
/// The argument of `node` that lay in the same memory as its result `result` when it was recorded.
ValueId sharing_argument(const Rewrite& rewrite, const Node& node, ValueId result);

}  // namespace penstock::passes
