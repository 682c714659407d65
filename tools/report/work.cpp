#include "tools/report/work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/memory_verify.h"
#include "passes/decompose.h"
#include "tools/report/table.h"

namespace penstock::report {

namespace {

using Json = nlohmann::ordered_json;

/// The graph at level core; nothing for a level that has no ops.
Result<Graph> core_graph(const formats::GraphDocument& document) {
  if (const auto* placed = std::get_if<PlacedGraph>(&document.graph)) return placed->graph;
  const auto* graph = std::get_if<Graph>(&document.graph);
  if (graph == nullptr) {
    auto late = failure(Code::PS0204, "the graph has no ops any more, which --flops counts");
    late.value().hint = "Give it the documents that `penstock capture` writes.";
    return late;
  }
  if (graph->level == Level::core) return *graph;
  PassTrace untold;
  return passes::decompose(*graph, {}, untold);
}

std::string place_of(const Call& call) {
  if (call.stack == nullptr) return {};
  return fmt::format("{}:{}", call.stack->location.file.text(), call.stack->location.line);
}

bool is_nothing(const ops::Work& work) {
  return work.products == SymExpr(0) && work.elementwise == SymExpr(0) && work.bytes == SymExpr(0);
}

/// 1234567 as "1.23 M".
std::string short_number(double number) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t unit = 0;
  for (; number >= 1000 && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  return unit == 0 ? fmt::format("{:.0f}", number) : fmt::format("{:.2f}{}", number, kUnits[unit]);
}

std::string value_text(const SymExpr& expression, const SizeValue& value) {
  const auto number = value(expression);
  const std::string short_text = number ? short_number(static_cast<double>(*number)) : "?";
  return expression.is_constant() ? short_text
                                  : fmt::format("{} = {}", short_text, expression.to_string());
}

std::string sizes_text(const Interface& interface) {
  std::vector<std::string> sizes;
  for (const Symbol& symbol : interface.symbols) {
    if (symbol.hint) sizes.push_back(fmt::format("{} = {}", symbol.name, *symbol.hint));
  }
  return sizes.empty() ? std::string() : fmt::format(", with {}", fmt::join(sizes, ", "));
}

Json figures(const ops::Work& work, const SizeValue& value) {
  const auto pair = [&](const SymExpr& expression) {
    Json out{{"expression", expression.to_string()}};
    if (const auto number = value(expression)) out["number"] = *number;
    return out;
  };
  return {{"products", pair(work.products)},
          {"elementwise", pair(work.elementwise)},
          {"bytes", pair(work.bytes)}};
}

}  // namespace

Result<GraphWork> count_work(const formats::GraphDocument& document) {
  auto graph = core_graph(document);
  if (!graph) return tl::unexpected(std::move(graph.error()));
  GraphWork out;
  out.interface = graph->interface;
  std::vector<ops::Work> by_call(graph->calls.size());
  ops::Work others;
  std::set<std::string> unknown;
  for (const Node& node : graph->nodes) {
    const auto work = ops::work_of(*graph, node);
    if (!work) {
      unknown.insert(node.op);
      continue;
    }
    const bool known = node.call >= 0 && static_cast<std::size_t>(node.call) < by_call.size();
    (known ? by_call[static_cast<std::size_t>(node.call)] : others) += *work;
    out.total += *work;
  }
  for (std::size_t i = 0; i < by_call.size(); ++i) {
    const Call& call = graph->calls[i];
    if (!is_nothing(by_call[i]))
      out.calls.push_back({call.name, call.target, place_of(call), by_call[i]});
  }
  if (!is_nothing(others)) out.calls.push_back({"", "(made by passes)", "", others});
  out.least_bytes = ops::least_bytes(*graph);
  out.not_counted.assign(unknown.begin(), unknown.end());
  return out;
}

std::string work_text(const std::vector<GraphWork>& graphs, int width) {
  std::string text;
  for (const GraphWork& graph : graphs) {
    const SizeValue value = recorded_sizes(graph.interface.symbols);
    text +=
        fmt::format("{}graph [{}] {}{}\n", text.empty() ? "" : "\n", to_string(graph.interface.id),
                    graph.interface.name, sizes_text(graph.interface));
    Table table({"call", "target", "products", "elementwise", "bytes", "place"});
    for (const CallWork& call : graph.calls) {
      table.add({call.name, call.target, value_text(call.work.products, value),
                 value_text(call.work.elementwise, value), value_text(call.work.bytes, value),
                 call.place});
    }
    table.add({"all", "", value_text(graph.total.products, value),
               value_text(graph.total.elementwise, value), value_text(graph.total.bytes, value),
               ""});
    text += table.text(width, "  ");
    text += fmt::format("  inputs and outputs: {} bytes\n", value_text(graph.least_bytes, value));
    if (!graph.not_counted.empty())
      text += fmt::format("  not counted: {}\n", fmt::join(graph.not_counted, ", "));
  }
  return text;
}

std::string work_json(const std::vector<GraphWork>& graphs) {
  Json rows = Json::array();
  for (const GraphWork& graph : graphs) {
    const SizeValue value = recorded_sizes(graph.interface.symbols);
    Json row{{"id", to_string(graph.interface.id)}, {"name", graph.interface.name}};
    row["total"] = figures(graph.total, value);
    row["inputs_and_outputs"] = figures({0, 0, graph.least_bytes}, value)["bytes"];
    row["calls"] = Json::array();
    for (const CallWork& call : graph.calls) {
      Json each{{"name", call.name}, {"target", call.target}, {"place", call.place}};
      each.update(figures(call.work, value));
      row["calls"].push_back(std::move(each));
    }
    row["not_counted"] = graph.not_counted;
    rows.push_back(std::move(row));
  }
  return Json{{"graphs", std::move(rows)}}.dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace penstock::report
