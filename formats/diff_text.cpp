// Differences of streams as text and as JSON.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/diff.h"
#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

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

const DiffItem* item_at(const DiffItems& items, std::int32_t position) {
  return position < 0 ? nullptr : &items[static_cast<std::size_t>(position)];
}

/// "  (model.py:12)", "  (model.py:12, now model.py:14)"; empty: not known.
std::string places(const StreamDifference& all, const GraphDifference& graph,
                   const Difference& one) {
  const DiffItem* old = item_at(graph.before_items, one.before_item);
  const DiffItem* now = item_at(graph.after_items, one.after_item);
  const std::string before = old ? place_of(*old, all.before_files) : std::string();
  const std::string after = now ? place_of(*now, all.after_files) : std::string();
  if (before.empty() && after.empty()) return {};
  if (before.empty() || after.empty() || before == after)
    return fmt::format("  ({})", after.empty() ? before : after);
  return fmt::format("  ({}, now {})", before, after);
}

/// The first line of a graph's differences.
std::string heading(const GraphDifference& graph) {
  if (graph.before.empty() && graph.after.empty()) return "breaks\n";
  if (graph.before.empty()) return fmt::format("+ graph [{}] {}\n", graph.after, graph.name);
  if (graph.after.empty()) return fmt::format("- graph [{}] {}\n", graph.before, graph.name);
  if (graph.before == graph.after) return fmt::format("graph [{}] {}\n", graph.before, graph.name);
  return fmt::format("graph [{}], now [{}] {}\n", graph.before, graph.after, graph.name);
}

bool is_guard(const GraphDifference& graph, const Difference& one) {
  const DiffItem* item = item_at(graph.after_items, one.after_item);
  if (item == nullptr) item = item_at(graph.before_items, one.before_item);
  return item != nullptr && item->label.starts_with("guard ");
}

/// "  + %y = …  (model.py:12)\n".
std::string line_of(const StreamDifference& all, const GraphDifference& graph,
                    const Difference& one) {
  const std::string at = places(all, graph, one);
  if (one.kind == Difference::Kind::removed) return fmt::format("  - {}{}\n", one.before, at);
  if (one.kind == Difference::Kind::added) return fmt::format("  + {}{}\n", one.after, at);
  const auto [before, after] = trim(one.before, one.after);
  return fmt::format("  ~ {}: {}: {} -> {}{}\n", one.title, one.what, before, after, at);
}

Json place_json(const DiffItem& item, const ProgramFiles& files) {
  const Location& location = users_frame(files, item.stack)->location;
  return {{"file", location.file.text()}, {"line", location.line}};
}

}  // namespace

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

std::string place_of(const DiffItem& item, const ProgramFiles& files) {
  const StackFrame* frame = users_frame(files, item.stack);
  if (frame == nullptr) return {};
  return fmt::format("{}:{}", frame->location.file.text(), frame->location.line);
}

std::string to_text(const StreamDifference& difference) {
  std::string out;
  for (const GraphDifference& graph : difference.graphs) {
    out += heading(graph);
    std::string guards;  // of another version of a library there are many; what is computed first
    for (const Difference& one : graph.comparison.differences)
      (is_guard(graph, one) ? guards : out) += line_of(difference, graph, one);
    out += guards;
  }
  return out;
}

std::string to_json(const StreamDifference& difference) {
  Json graphs = Json::array();
  for (const GraphDifference& graph : difference.graphs) {
    Json list = Json::array();
    for (const Difference& one : graph.comparison.differences) {
      Json record{{"change", to_string(one.kind)}, {"title", one.title}};
      if (!one.what.empty()) record["what"] = one.what;
      if (one.kind != Difference::Kind::added) record["before"] = one.before;
      if (one.kind != Difference::Kind::removed) record["after"] = one.after;
      const DiffItem* old = item_at(graph.before_items, one.before_item);
      const DiffItem* now = item_at(graph.after_items, one.after_item);
      if (old && old->stack) record["before_at"] = place_json(*old, difference.before_files);
      if (now && now->stack) record["after_at"] = place_json(*now, difference.after_files);
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
