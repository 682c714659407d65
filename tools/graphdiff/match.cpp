// Matching the nodes of two graphs
//
// Three rounds, each over what the one before left, because most comparisons are of graphs that are
// the same or nearly so:
//   1. by structure: a node's hash covers its op, its constants and the hashes of everything it is
//      computed from. Nodes with equal hashes are the same computation wherever they stand.
//   2. by place: nodes with the same op and constants behind the same matched node, in order. A
//      change near the inputs spoils every hash behind it; this finds those nodes again.
//   3. by op: what is left behind the same matched node is paired by op alone, so that an edited
//      constant is reported as a change and not as a removal and an addition.
// Every round is linear in nodes and operands (hash tables), whatever the graphs.

#include "tools/graphdiff/match.h"

#include <fmt/format.h>

#include <deque>
#include <string>
#include <unordered_map>

#include "ir/argument_text.h"

namespace penstock::graphdiff {
namespace {

using Key = std::string;

/// A node's op and arguments, with values written by `name`.
Key signature(const Node& node, const ValueName& name) {
  Key out = node.op;
  for (const NamedArgument& argument : node.args) {
    out += fmt::format(" {}={}", argument.name, to_string(argument.value, name));
  }
  return out;
}

Key constants_only(const Node& node) {
  return signature(node, [](ValueId) { return std::string("%"); });
}

/// The structural hash of every node, as text.
std::vector<Key> structure(const Graph& graph) {
  std::vector<Key> of_value(graph.values.size());
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) {
    of_value[i] = fmt::format("input {}", i);
  }
  std::vector<Key> of_node;
  of_node.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    Key whole = signature(node, [&](ValueId id) { return of_value[id]; });
    Key hash = fmt::format("{:016x}", std::hash<std::string>{}(whole));
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      of_value[node.results[i]] = fmt::format("{}.{}", hash, i);
    }
    of_node.push_back(std::move(hash));
  }
  return of_node;
}

class Matcher {
 public:
  Matcher(const Graph& a, const Graph& b) : a_(a), b_(b) {
    match_.to_b.assign(a.nodes.size(), -1);
    match_.to_a.assign(b.nodes.size(), -1);
  }

  NodeMatch run() {
    pair_equal(structure(a_), structure(b_));
    pair_equal(in_gaps(a_, match_.to_b, true, constants_only),
               in_gaps(b_, match_.to_a, false, constants_only));
    auto op_only = [](const Node& node) { return Key(node.op); };
    pair_equal(in_gaps(a_, match_.to_b, true, op_only), in_gaps(b_, match_.to_a, false, op_only));
    return std::move(match_);
  }

 private:
  /// Pairs unmatched nodes with equal keys, in order.
  void pair_equal(const std::vector<Key>& keys_a, const std::vector<Key>& keys_b) {
    std::unordered_map<Key, std::deque<std::int32_t>> waiting;
    for (std::size_t i = 0; i < keys_b.size(); ++i) {
      if (match_.to_a[i] < 0) waiting[keys_b[i]].push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t i = 0; i < keys_a.size(); ++i) {
      if (match_.to_b[i] >= 0) continue;
      auto found = waiting.find(keys_a[i]);
      if (found == waiting.end() || found->second.empty()) continue;
      match_.to_b[i] = found->second.front();
      match_.to_a[static_cast<std::size_t>(found->second.front())] = static_cast<std::int32_t>(i);
      found->second.pop_front();
    }
  }

  /// Keys that are equal only for nodes between the same matched neighbours: the last matched node
  /// in front, named by its position in A.
  std::vector<Key> in_gaps(const Graph& graph, const std::vector<std::int32_t>& matched, bool is_a,
                           Key (*describe)(const Node&)) const {
    std::vector<Key> keys;
    keys.reserve(graph.nodes.size());
    std::int32_t before = -1;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (matched[i] >= 0) before = is_a ? static_cast<std::int32_t>(i) : matched[i];
      keys.push_back(fmt::format("{} {}", before, describe(graph.nodes[i])));
    }
    return keys;
  }

  const Graph& a_;
  const Graph& b_;
  NodeMatch match_;
};

}  // namespace

NodeMatch match(const Graph& a, const Graph& b) {
  return Matcher(a, b).run();
}

}  // namespace penstock::graphdiff
