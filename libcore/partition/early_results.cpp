// Early results
//
// Scheduled backwards, a node that leads to outputs alone stands last, and all that it reads lies
// in memory until then: behind a graph of gradients stood the gradients of all parameters. So a
// node moves to the first region in which its operands are there, if it and all that follows it
// make no more than they read. Views of inputs cost nothing and move with what reads them.
#include "partition/early_results.h"

#include <algorithm>

#include "ir/size_estimate.h"
#include "ops/draws.h"
#include "ops/op.h"

namespace penstock::partition {

namespace {

/// Where a node stands: in a run of nodes of one placement, or right behind it.
struct Place {
  std::int32_t run = 0;
  bool behind = false;
  auto operator<=>(const Place&) const = default;
};

bool is_view(const Node& node) {
  const ops::OpFacts* op = ops::find_op(node.op);
  return op != nullptr && op->is_prim() && op->has(ops::kView);
}

/// By value, the memory that it takes, with sizes at their hints: a view shows no more than what it
/// is of.
std::vector<double> bytes_of_values(const Graph& graph) {
  std::vector<double> bytes;
  for (const Value& value : graph.values) {
    bytes.push_back(estimate(element_count(value.type.sizes), graph.interface) *
                    facts(value.type.dtype).size);
  }
  for (const Node& node : graph.nodes) {
    if (!is_view(node)) continue;
    const ValueId self = operand_value(node, "self"), shown = node.results.front();
    bytes[shown] = std::min(bytes[shown], bytes[self]);
  }
  return bytes;
}

class EarlyResults {
 public:
  EarlyResults(const Graph& graph, const Edges& successors, const std::vector<PlacedNode>& placed)
      : graph_(graph),
        successors_(successors),
        predecessors_(reversed(successors)),
        placed_(placed),
        bytes_(bytes_of_values(graph)),
        places_(graph.nodes.size()),
        is_result_(graph.nodes.size(), false),
        is_free_(graph.nodes.size(), false) {}

  std::vector<std::int32_t> move(std::vector<std::int32_t> order) {
    number_runs(order);
    for (auto node = order.rbegin(); node != order.rend(); ++node)
      is_result_[*node] = is_result(*node);
    for (std::int32_t node : order) move_forward(node);
    for (auto node = order.rbegin(); node != order.rend(); ++node) follow_users(*node);
    std::ranges::stable_sort(order, {}, [&](std::int32_t node) { return places_[node]; });
    return order;
  }

 private:
  bool is_compiled(std::int32_t node) const {
    return placed_[node].placement == Placement::compiled;
  }

  void number_runs(const std::vector<std::int32_t>& order) {
    if (order.empty()) return;
    // Compiled runs have even numbers, all others odd ones.
    std::int32_t run = is_compiled(order.front()) ? 0 : 1;
    for (std::int32_t node : order) {
      if (is_compiled(node) == (run % 2 == 1)) ++run;
      places_[node] = {run, false};
    }
  }

  /// Whether the node makes no more than it reads, and nothing but results is made of that.
  bool is_result(std::int32_t node) const {
    const Node& made = graph_.nodes[node];
    const ops::OpFacts* op = ops::find_op(made.op);
    if (op == nullptr || made.results.empty() || ops::draws(made) || op->has(ops::kMutates) ||
        placed_[node].placement == Placement::fallback)
      return false;
    if (!std::ranges::all_of(successors_[node],
                             [&](std::int32_t next) { return is_result_[next]; }))
      return false;
    if (is_view(made)) return true;
    double reads = 0, makes = 0;
    for (const NamedArgument& argument : made.args) {
      for_each_value(argument.value, [&](ValueId id) {
        if (id >= graph_.interface.inputs.size()) reads += bytes_[id];
      });
    }
    for (ValueId id : made.results) makes += bytes_[id];
    return makes <= reads;
  }

  void move_forward(std::int32_t node) {
    if (!is_result_[node]) return;
    Place last{-1, false};
    for (std::int32_t before : predecessors_[node]) {
      if (!is_free_[before]) last = std::max(last, places_[before]);
    }
    if (last.run < 0) {
      is_free_[node] = is_view(graph_.nodes[node]);
      return;
    }
    Place own{last.run, true};
    if (is_compiled(node)) {
      const bool in_run = last.run % 2 == 0 && !last.behind;
      own = {in_run ? last.run : last.run + (last.run % 2 == 0 ? 2 : 1), false};
    }
    places_[node] = std::min(places_[node], own);
  }

  /// A view of an input stands in front of the first that reads it.
  void follow_users(std::int32_t node) {
    if (!is_free_[node]) return;
    for (std::int32_t next : successors_[node]) {
      const Place& user = places_[next];
      const std::int32_t run = user.run % 2 == 0 ? user.run : user.run - 1;
      places_[node] = std::min(places_[node], Place{run, false});
    }
  }

  const Graph& graph_;
  const Edges& successors_;
  const Edges predecessors_;
  const std::vector<PlacedNode>& placed_;
  const std::vector<double> bytes_;  ///< by value
  std::vector<Place> places_;        ///< by node
  std::vector<bool> is_result_;      ///< by node
  std::vector<bool> is_free_;        ///< by node: a view of an input
};

}  // namespace

std::vector<std::int32_t> with_early_results(const Graph& graph, const Edges& successors,
                                             const std::vector<PlacedNode>& placed,
                                             std::vector<std::int32_t> order) {
  return EarlyResults(graph, successors, placed).move(std::move(order));
}

}  // namespace penstock::partition
