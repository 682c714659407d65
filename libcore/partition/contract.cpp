#include "partition/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/subgraphs.h"
#include "ops/op.h"
#include "partition/partition.h"
#include "partition/placement.h"
#include "partition/value_lists.h"

namespace penstock {

namespace {

constexpr std::string_view kPlacements[] = {"compiled", "library", "fallback"};

Result<void> broken(const PlacedGraph& placed, std::size_t region, std::string message) {
  return failure(Code::PS0205, std::move(message),
                 fmt::format("graph {} region {}", to_string(placed.graph.interface.id), region));
}

Result<void> check_region(const PlacedGraph& placed, std::size_t number,
                          ops::ShapeContext& shapes) {
  const Region& region = placed.regions[number];
  if (region.reason.empty() && region.placement == Placement::fallback) {
    return broken(placed, number, "a fallback region gives no reason");
  }
  for (std::int32_t i = region.first; i < region.last; ++i) {
    const std::string& op = placed.graph.nodes[i].op;
    bool known = !partition::library_call_of(op).empty();
    if (region.placement == Placement::library && !known) {
      return broken(placed, number, fmt::format("the library has no {}", op));
    }
    if (region.placement == Placement::compiled && !partition::has_lowering(op)) {
      return broken(placed, number, fmt::format("{} cannot be compiled", op));
    }
    const ops::OpFacts* facts = ops::find_op(op);
    if (region.placement == Placement::fallback || facts == nullptr || facts->is_prim()) continue;
    if (const std::string wrong = partition::misfit(placed.graph, placed.graph.nodes[i], shapes);
        !wrong.empty()) {
      return broken(placed, number, fmt::format("{}: {}", op, wrong));
    }
  }
  if (region.placement == Placement::library && region.last - region.first != 1) {
    return broken(placed, number, "a library region has exactly one node");
  }
  return {};
}

std::string names(const Graph& graph, const std::vector<ValueId>& values) {
  std::string text;
  for (ValueId id : values) {
    if (!text.empty()) text += ", ";
    text += "%" + graph.values[id].name;
  }
  return text;
}

}  // namespace

std::string_view to_string(Placement placement) {
  return kPlacements[static_cast<std::size_t>(placement)];
}

std::optional<Placement> placement_from_name(std::string_view name) {
  auto found = std::find(std::begin(kPlacements), std::end(kPlacements), name);
  if (found == std::end(kPlacements)) return std::nullopt;
  return static_cast<Placement>(found - std::begin(kPlacements));
}

namespace {

Result<void> check_subgraphs(const PlacedGraph& placed) {
  std::vector<const Graph*> subgraphs;
  for (const PlacedGraph& subgraph : placed.subgraphs) {
    subgraphs.push_back(&subgraph.graph);
    if (auto checked = verify_contract(subgraph); !checked) return checked;
  }
  return verify_subgraphs(placed.graph, subgraphs);
}

}  // namespace

Result<void> verify_contract(const PlacedGraph& placed) {
  if (placed.graph.level != Level::placed) {
    return broken(placed, 0, "the graph of a placed graph is not of level placed");
  }
  if (auto checked = verify_structure(placed.graph); !checked) return checked;
  if (auto checked = check_subgraphs(placed); !checked) return checked;
  Interface interface = placed.graph.interface;
  ops::GuardingShapes shapes(interface);
  std::int32_t next = 0;
  for (std::size_t r = 0; r < placed.regions.size(); ++r) {
    const Region& region = placed.regions[r];
    if (region.first != next || region.last <= region.first ||
        static_cast<std::size_t>(region.last) > placed.graph.nodes.size()) {
      return broken(placed, r,
                    fmt::format("covers nodes [{}, {}), expected to start at {}", region.first,
                                region.last, next));
    }
    next = region.last;
    if (auto checked = check_region(placed, r, shapes); !checked) return checked;
  }
  if (static_cast<std::size_t>(next) != placed.graph.nodes.size()) {
    return broken(placed, placed.regions.size(), "nodes behind the last region");
  }
  std::vector<Region> expected = placed.regions;
  for (Region& region : expected) region.inputs.clear(), region.outputs.clear();
  partition::fill_value_lists(placed.graph, expected);
  for (std::size_t r = 0; r < expected.size(); ++r) {
    if (expected[r].inputs != placed.regions[r].inputs ||
        expected[r].outputs != placed.regions[r].outputs) {
      return broken(placed, r, "its value lists are not those of its nodes");
    }
  }
  return {};
}

Graph whole_graph(const PlacedGraph& placed) {
  Graph graph = placed.graph;
  for (const PlacedGraph& subgraph : placed.subgraphs)
    graph.subgraphs.push_back(whole_graph(subgraph));
  return graph;
}

std::string to_text(const PlacedGraph& placed) {
  const Graph& graph = placed.graph;
  std::string out = to_text(graph.interface);
  auto line = std::back_inserter(out);
  for (std::size_t r = 0; r < placed.regions.size(); ++r) {
    const Region& region = placed.regions[r];
    fmt::format_to(line, "  region {} {}: {} -> {}\n    # {}\n", r, to_string(region.placement),
                   names(graph, region.inputs), names(graph, region.outputs), region.reason);
    for (std::int32_t i = region.first; i < region.last; ++i) {
      fmt::format_to(line, "    {}\n", to_text(graph, graph.nodes[i]));
    }
  }
  fmt::format_to(line, "  return {}\n", names(graph, graph.outputs));
  for (const PlacedGraph& subgraph : placed.subgraphs) out += subgraph_text(to_text(subgraph));
  return out;
}

}  // namespace penstock
