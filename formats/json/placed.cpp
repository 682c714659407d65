#include "partition/placed_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

Json encode_values(const std::vector<ValueId>& values, const ValueNames& names) {
  Json out = Json::array();
  for (ValueId id : values) out.push_back(names(id));
  return out;
}

}  // namespace

void encode_graph(const PlacedGraph& placed, Json& out, Json& blobs) {
  ValueNames names{&placed.graph.values};
  encode_graph(placed.graph, out, blobs);
  out["role"] = to_string(placed.graph.interface.training.role);
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
}

PlacedGraph decode_placed(Record& record) {
  PlacedGraph placed;
  placed.graph = decode_graph(record, Level::placed);
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
  return placed;
}

}  // namespace penstock::formats
