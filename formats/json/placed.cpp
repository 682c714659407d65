#include "partition/placed_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"
#include "ir/subgraphs.h"

namespace penstock::formats {

namespace {

Json encode_values(const std::vector<ValueId>& values, const ValueNames& names) {
  Json out = Json::array();
  for (ValueId id : values) out.push_back(names(id));
  return out;
}

void encode_regions(const PlacedGraph& placed, Json& out) {
  ValueNames names{&placed.graph.values};
  Json regions = Json::array();
  for (const Region& region : placed.regions) {
    Json one{{"placement", to_string(region.placement)},
             {"first", region.first},
             {"last", region.last},
             {"inputs", encode_values(region.inputs, names)},
             {"outputs", encode_values(region.outputs, names)}};
    if (!region.reason.empty()) one["reason"] = region.reason;
    regions.push_back(std::move(one));
  }
  out["regions"] = std::move(regions);
  for (const PlacedGraph& subgraph : placed.subgraphs) {
    Json one = encode_subgraph(subgraph.graph);
    encode_regions(subgraph, one);
    out["subgraphs"].push_back(std::move(one));
  }
}

void decode_regions(Record& record, PlacedGraph& placed) {
  // The graph's own ids are gone with its decoder; names are unique, so they are found again.
  std::unordered_map<std::string_view, ValueId> ids;
  for (std::size_t i = 0; i < placed.graph.values.size(); ++i) {
    ids.emplace(placed.graph.values[i].name, static_cast<ValueId>(i));
  }
  auto value = [&](const Field& field) -> ValueId {
    std::string name = field.text();
    if (auto found = ids.find(name); found != ids.end()) return found->second;
    field.fail(fmt::format("no value is called '{}' here", name.substr(0, 80)));
    return 0;
  };
  record.required("regions").each([&](const Field& item) {
    Record fields(item);
    Region region;
    region.placement =
        read_name(fields.required("placement"), placement_from_name, "placement of a region");
    region.first = fields.required("first").integer32();
    region.last = fields.required("last").integer32();
    fields.required("inputs").each([&](const Field& id) { region.inputs.push_back(value(id)); });
    fields.required("outputs").each([&](const Field& id) { region.outputs.push_back(value(id)); });
    region.reason = fields.text_or("reason", {});
    placed.regions.push_back(std::move(region));
  });
  record.each("subgraphs", [&](const Field& item) {
    Record fields(item);
    PlacedGraph subgraph;
    subgraph.graph = decode_subgraph(fields, Level::placed);
    decode_regions(fields, subgraph);
    placed.subgraphs.push_back(std::move(subgraph));
  });
}

void inherit_sizes(PlacedGraph& placed) {
  for (PlacedGraph& subgraph : placed.subgraphs) {
    penstock::inherit_sizes(placed.graph.interface, subgraph.graph.interface);
    inherit_sizes(subgraph);
  }
}

}  // namespace

void encode_graph(const PlacedGraph& placed, Json& out, Json& blobs) {
  encode_graph(placed.graph, out, blobs);
  out["role"] = to_string(placed.graph.interface.training.role);
  encode_regions(placed, out);
}

PlacedGraph decode_placed(Record& record) {
  PlacedGraph placed;
  placed.graph = decode_graph(record, Level::placed);
  decode_regions(record, placed);
  inherit_sizes(placed);
  return placed;
}

}  // namespace penstock::formats
