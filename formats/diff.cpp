#include "formats/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

/// A graph of a stream, ready to be compared.
struct Side {
  const GraphDocument* document = nullptr;
  DiffItems items;
  std::uint64_t hash = 0;
  std::int32_t partner = -1;

  std::string id() const { return to_string(interface_of(*document).id); }
  const std::string& name() const { return interface_of(*document).name; }
};

std::vector<Side> graphs_of(const std::vector<Document>& documents) {
  std::vector<Side> sides;
  for (const Document& document : documents) {
    auto* graph = std::get_if<GraphDocument>(&document);
    if (graph == nullptr) continue;
    Side side{graph, diff_items(*graph), 0, -1};
    side.hash = structure_hash(side.items);
    sides.push_back(std::move(side));
  }
  return sides;
}

/// Pairs sides whose `key` is equal, in order.
template <class Key>
void pair_by(std::vector<Side>& before, std::vector<Side>& after, const Key& key) {
  std::unordered_map<std::string, std::vector<std::size_t>> open;
  for (std::size_t j = after.size(); j-- > 0;) {
    if (after[j].partner < 0) open[key(after[j])].push_back(j);
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].partner >= 0) continue;
    auto found = open.find(key(before[i]));
    if (found == open.end() || found->second.empty()) continue;
    before[i].partner = static_cast<std::int32_t>(found->second.back());
    after[found->second.back()].partner = static_cast<std::int32_t>(i);
    found->second.pop_back();
  }
}

std::vector<Difference> compare_graphs(const Side& before, const Side& after) {
  Level left = level(*before.document), right = level(*after.document);
  if (left != right) {
    return {{Difference::Kind::changed, "graph", "level", std::string(to_string(left)),
             std::string(to_string(right))}};
  }
  return penstock::compare(before.items, after.items);
}

/// Breaks as items: there or not.
DiffItems breaks_of(const std::vector<Document>& documents) {
  DiffItems items;
  for (const Document& document : documents) {
    auto* broke = std::get_if<BreakDocument>(&document);
    if (broke == nullptr) continue;
    DiffItem item;
    item.label = fmt::format("break {} after [{}]: {}", broke->event.code,
                             to_string(broke->event.after), broke->event.reason);
    item.title = item.text = item.label;
    items.push_back(std::move(item));
  }
  return items;
}

/// Cuts what two long texts have in common at their ends, at the statements' semicolons.
std::pair<std::string, std::string> trim(std::string_view before, std::string_view after) {
  constexpr std::size_t kLong = 80;
  std::string head, tail;
  if (std::max(before.size(), after.size()) > kLong) {
    auto [left, right] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    auto same = static_cast<std::size_t>(left - before.begin());
    auto cut = same == 0 ? std::string_view::npos : before.rfind("; ", same - 1);
    if (cut != std::string_view::npos) {
      head = "… ";
      before.remove_prefix(cut + 2);
      after.remove_prefix(cut + 2);
    }
    std::size_t end = 0;
    while (end < std::min(before.size(), after.size()) &&
           before[before.size() - 1 - end] == after[after.size() - 1 - end]) {
      ++end;
    }
    auto next = before.find("; ", before.size() - end);
    if (next != std::string_view::npos) {
      tail = " …";
      after.remove_suffix(before.size() - next);
      before.remove_suffix(before.size() - next);
    }
  }
  return {head + std::string(before) + tail, head + std::string(after) + tail};
}

std::string_view to_string(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::removed:
      return "removed";
    case Difference::Kind::added:
      return "added";
    case Difference::Kind::changed:
      break;
  }
  return "changed";
}

}  // namespace

std::vector<GraphDifference> compare(const std::vector<Document>& before,
                                     const std::vector<Document>& after) {
  std::vector<Side> left = graphs_of(before), right = graphs_of(after);
  pair_by(left, right, [](const Side& side) {
    return fmt::format("{:x} {} {}", side.hash, side.id(), side.name());
  });
  pair_by(left, right, [](const Side& side) { return fmt::format("{:x}", side.hash); });
  pair_by(left, right, [](const Side& side) { return side.id() + " " + side.name(); });
  pair_by(left, right, [](const Side&) { return std::string(); });
  std::vector<GraphDifference> out;
  for (const Side& side : left) {
    if (side.partner < 0) {
      out.push_back({side.id(), {}, side.name(), {}});
      continue;
    }
    const Side& other = right[static_cast<std::size_t>(side.partner)];
    std::vector<Difference> differences = compare_graphs(side, other);
    if (!differences.empty()) {
      out.push_back({side.id(), other.id(), side.name(), std::move(differences)});
    }
  }
  for (const Side& side : right) {
    if (side.partner < 0) out.push_back({{}, side.id(), side.name(), {}});
  }
  std::vector<Difference> breaks = penstock::compare(breaks_of(before), breaks_of(after));
  if (!breaks.empty()) out.push_back({{}, {}, {}, std::move(breaks)});
  return out;
}

std::string to_text(const std::vector<GraphDifference>& differences) {
  std::string out;
  auto line = std::back_inserter(out);
  for (const GraphDifference& graph : differences) {
    bool both = !graph.before.empty() && !graph.after.empty();
    if (!both && graph.differences.empty()) {
      fmt::format_to(line, "{} graph [{}{}] {}\n", graph.before.empty() ? '+' : '-', graph.before,
                     graph.after, graph.name);
      continue;
    }
    if (!both) {
      out += "breaks\n";
    } else if (graph.before == graph.after) {
      fmt::format_to(line, "graph [{}] {}\n", graph.before, graph.name);
    } else {
      fmt::format_to(line, "graph [{}], now [{}] {}\n", graph.before, graph.after, graph.name);
    }
    for (const Difference& one : graph.differences) {
      if (one.kind == Difference::Kind::removed) fmt::format_to(line, "  - {}\n", one.before);
      if (one.kind == Difference::Kind::added) fmt::format_to(line, "  + {}\n", one.after);
      if (one.kind == Difference::Kind::changed) {
        auto [before, after] = trim(one.before, one.after);
        fmt::format_to(line, "  ~ {}: {}: {} -> {}\n", one.title, one.what, before, after);
      }
    }
  }
  return out;
}

std::string to_json(const std::vector<GraphDifference>& differences) {
  Json graphs = Json::array();
  for (const GraphDifference& graph : differences) {
    Json list = Json::array();
    for (const Difference& one : graph.differences) {
      Json record{{"change", to_string(one.kind)}, {"title", one.title}};
      if (!one.what.empty()) record["what"] = one.what;
      if (one.kind != Difference::Kind::added) record["before"] = one.before;
      if (one.kind != Difference::Kind::removed) record["after"] = one.after;
      list.push_back(std::move(record));
    }
    Json record{{"name", graph.name}, {"differences", std::move(list)}};
    if (!graph.before.empty()) record["before"] = graph.before;
    if (!graph.after.empty()) record["after"] = graph.after;
    graphs.push_back(std::move(record));
  }
  return to_pretty(Json{{"graphs", std::move(graphs)}}) + '\n';
}

}  // namespace penstock::formats
