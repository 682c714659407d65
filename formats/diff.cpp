#include "formats/diff.h"

#include <fmt/format.h>

#include "formats/graph_pairs.h"
#include "ir/call_location.h"

namespace penstock::formats {

namespace {

Comparison compare_graphs(const ComparedGraph& before, const ComparedGraph& after) {
  Level left = level(*before.document), right = level(*after.document);
  if (left == right) return penstock::compare(before.items, after.items);
  return {{},
          {{Difference::Kind::changed, "graph", "level", std::string(penstock::to_string(left)),
            std::string(penstock::to_string(right))}}};
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
    item.stack = stack_of(broke->event.location);
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

StreamDifference compare(const std::vector<Document>& before, const std::vector<Document>& after) {
  StreamDifference out;
  for (const Document& document : before) add_files(document, out.before_files);
  for (const Document& document : after) add_files(document, out.after_files);
  std::vector<ComparedGraph> left = graphs_of(before), right = graphs_of(after);
  pair_graphs(left, right);
  for (ComparedGraph& graph : left) {
    if (graph.partner < 0) {
      out.graphs.push_back({graph.id(), {}, graph.name(), std::move(graph.items), {}, {}});
      continue;
    }
    ComparedGraph& other = right[static_cast<std::size_t>(graph.partner)];
    Comparison comparison = compare_graphs(graph, other);
    if (comparison.differences.empty()) {
      ++out.same;
      continue;
    }
    out.graphs.push_back({graph.id(), other.id(), other.name(), std::move(graph.items),
                          std::move(other.items), std::move(comparison)});
  }
  for (ComparedGraph& graph : right) {
    if (graph.partner >= 0) continue;
    out.graphs.push_back({{}, graph.id(), graph.name(), {}, std::move(graph.items), {}});
  }
  DiffItems breaks_before = breaks_of(before), breaks_after = breaks_of(after);
  Comparison breaks = penstock::compare(breaks_before, breaks_after);
  if (!breaks.differences.empty()) {
    out.graphs.push_back(
        {{}, {}, {}, std::move(breaks_before), std::move(breaks_after), std::move(breaks)});
  }
  return out;
}

}  // namespace penstock::formats
