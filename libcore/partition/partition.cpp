// Regions
//
// Neighbouring nodes with one placement form a region; every change of placement costs a pass
// through memory, and what fusion may fuse ends at a region's border. So the nodes are put into an
// order that changes placement rarely. Regions of an order are free of cycles by construction, and
// the order is found by scheduling backwards: all compiled nodes whose users are placed, as long as
// there are any; then all library and fallback nodes; and again. Backwards, because a node then
// stands as late as it may, in the region of its first user, where it can be fused: forwards, all
// that is computed from parameters alone would gather in front and lie in memory until it is used.
// Nodes of equal standing keep the order of the graph, so that the result is determined.
//
// Results that nobody waits for and checks of indices then move to the front as far as they may.
#include "partition/partition.h"

#include <algorithm>
#include <queue>

#include "ir/device.h"
#include "ir/subgraphs.h"
#include "ops/op.h"
#include "partition/contract.h"
#include "partition/dependence.h"
#include "partition/early_results.h"
#include "partition/placement.h"
#include "partition/value_lists.h"

namespace penstock::partition {

namespace {

constexpr PassFacts kPlace = {
    "place-nodes", "Decide for every node whether it is compiled, a library call or torch's"};
constexpr PassFacts kRegions = {"form-regions",
                                "Reorder the nodes into few regions of one placement"};
constexpr PassFacts kPasses[] = {kPlace, kRegions};

/// The order of the head comment.
std::vector<std::int32_t> schedule(const Edges& successors, const std::vector<PlacedNode>& placed) {
  std::vector<std::int32_t> missing(successors.size());  ///< users that have no place yet
  const Edges predecessors = reversed(successors);
  std::priority_queue<std::int32_t> compiled, others;  ///< the last node of the graph first
  auto make_ready = [&](std::int32_t node) {
    (placed[node].placement == Placement::compiled ? compiled : others).push(node);
  };
  for (std::size_t i = 0; i < successors.size(); ++i) {
    auto node = static_cast<std::int32_t>(i);
    missing[i] = static_cast<std::int32_t>(successors[i].size());
    if (missing[i] == 0) make_ready(node);
  }
  std::vector<std::int32_t> order;
  auto drain = [&](std::priority_queue<std::int32_t>& ready) {
    while (!ready.empty()) {
      std::int32_t node = ready.top();
      ready.pop();
      order.push_back(node);
      for (std::int32_t before : predecessors[node]) {
        if (--missing[before] == 0) make_ready(before);
      }
    }
  };
  while (!compiled.empty() || !others.empty()) {
    drain(compiled);
    drain(others);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// Checks of indices, which nobody uses, as early as they may: a graph that fails has done little
/// by then, and drawn no random number that it need not have.
std::vector<std::int32_t> with_early_checks(const Graph& graph,
                                            const std::vector<std::int32_t>& order) {
  const auto is_check = [&](std::int32_t node) {
    return graph.nodes[node].op == "prim.check_index";
  };
  std::vector<std::int32_t> result;
  std::vector<std::vector<std::int32_t>> checks(graph.values.size());  ///< by what they wait for
  const Deciders deciders = deciders_of(graph);
  std::vector<std::int32_t> maker(graph.values.size(), -1), place(graph.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::int32_t>(i);
    for (ValueId made : graph.nodes[order[i]].results) maker[made] = order[i];
  }
  // Of what it looks at and what decides the sizes that it compares with, what comes last.
  const auto waits_for = [&](std::int32_t check, ValueId looked_at) {
    ValueId last = looked_at;
    for_each_decider(graph, graph.nodes[check], deciders, [&](std::int32_t decider) {
      if (maker[last] < 0 || place[decider] > place[maker[last]])
        last = graph.nodes[decider].results.front();
    });
    return last;
  };
  const auto add_checks = [&](ValueId value) {
    result.insert(result.end(), checks[value].begin(), checks[value].end());
  };
  for (std::int32_t node : order) {
    if (!is_check(node)) continue;
    for_each_value(*find_argument(graph.nodes[node], "self"),
                   [&](ValueId id) { checks[waits_for(node, id)].push_back(node); });
  }
  for (ValueId input = 0; input < graph.interface.inputs.size(); ++input) add_checks(input);
  for (std::int32_t node : order) {
    if (is_check(node)) continue;
    result.push_back(node);
    for (ValueId made : graph.nodes[node].results) add_checks(made);
  }
  return result;
}

/// A node's reason among those of its region, which say of which op they speak.
std::string reason_in_region(const Node& node, const PlacedNode& placed) {
  if (placed.reason.empty() || placed.placement == Placement::library) return placed.reason;
  return node.op + ": " + placed.reason;
}

/// Cuts the reordered nodes into regions; `placed` is in the new order.
std::vector<Region> cut(const std::vector<Node>& nodes, const std::vector<PlacedNode>& placed) {
  std::vector<Region> regions;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    bool joins = !regions.empty() && regions.back().placement == placed[i].placement &&
                 placed[i].placement != Placement::library;
    const std::string reason = reason_in_region(nodes[i], placed[i]);
    if (!joins) {
      auto first = static_cast<std::int32_t>(i);
      regions.push_back({placed[i].placement, first, first, {}, {}, reason});
    } else if (!reason.empty() && regions.back().reason.find(reason) == std::string::npos) {
      regions.back().reason += "; " + reason;
    }
    regions.back().last = static_cast<std::int32_t>(i) + 1;
    if (regions.back().reason.empty()) regions.back().reason = "every op has a lowering";
  }
  return regions;
}

std::vector<PlacedNode> place_all(const Graph& graph, const PartitionOptions& options) {
  std::vector<std::int32_t> uses = count_uses(graph);
  Interface interface =
      graph.interface;  // takes guards that a rule may record: the graph has those it needs
  ops::GuardingShapes shapes(interface);
  // Where tensors lie on several devices, torch runs what is on any but the cpu.
  const std::string device = device_of(graph).value_or("cpu");
  std::vector<PlacedNode> placed;
  placed.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    bool forced = std::find(options.fallback.begin(), options.fallback.end(), node.op) !=
                  options.fallback.end();
    placed.push_back(forced ? PlacedNode{Placement::fallback, "it was sent to torch by hand"}
                            : place(graph, node, uses, shapes, device));
  }
  return placed;
}

/// Regions of neighbouring nodes of one placement.
void note_regions(PlacedGraph& result, const std::vector<PlacedNode>& placed) {
  result.regions = cut(result.graph.nodes, placed);
  fill_value_lists(result.graph, result.regions);
}

void place_nodes(PlacedGraph& result, std::vector<PlacedNode>& placed,
                 const PartitionOptions& options) {
  placed = place_all(result.graph, options);
  note_regions(result, placed);
}

/// Reorders the nodes into few regions of one placement.
void form_regions(PlacedGraph& result, std::vector<PlacedNode>& placed, const PartitionOptions&) {
  Graph& graph = result.graph;
  const Edges successors = successors_of(graph);
  std::vector<std::int32_t> order =
      with_early_results(graph, successors, placed, schedule(successors, placed));
  order = with_early_checks(graph, order);
  std::vector<Node> nodes;
  std::vector<PlacedNode> reordered;
  for (std::int32_t position : order) {
    nodes.push_back(std::move(graph.nodes[position]));
    reordered.push_back(std::move(placed[position]));
  }
  graph.nodes = std::move(nodes);
  placed = std::move(reordered);
  note_regions(result, placed);
}

}  // namespace

std::span<const PassFacts> partition_passes() {
  return kPasses;
}

Result<PlacedGraph> partition(Graph core, const PartitionOptions& options, PassTrace& trace) {
  if (core.level != Level::core) {
    return failure(Code::PS0204, "partition takes graphs of level core, this one is of level " +
                                     std::string(to_string(core.level)));
  }
  PlacedGraph result;
  for (Graph& subgraph : std::exchange(core.subgraphs, {})) {
    auto placed = partition(std::move(subgraph), options, trace);
    if (!placed) return placed;
    result.subgraphs.push_back(std::move(*placed));
  }
  result.graph = std::move(core);
  result.graph.level = Level::placed;
  std::vector<PlacedNode> placed;
  PassRunner runner(trace, options.budget);
  const auto run = [&](const PassFacts& pass, void (*work)(PlacedGraph&, std::vector<PlacedNode>&,
                                                           const PartitionOptions&)) {
    return runner.run(
        pass, [&] { return work(result, placed, options), Result<void>(); },
        [&] { return to_text(result); }, [&] { return verify_contract(result); });
  };
  if (auto done = run(kPlace, place_nodes); !done) return tl::unexpected(std::move(done.error()));
  if (auto done = run(kRegions, form_regions); !done)
    return tl::unexpected(std::move(done.error()));
  if (auto checked = verify_contract(result); !checked) return tl::unexpected(checked.error());
  return result;
}

}  // namespace penstock::partition
