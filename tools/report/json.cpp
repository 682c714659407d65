#include <nlohmann/json.hpp>

#include "formats/document.h"
#include "ir/argument_text.h"
#include "tools/report/report.h"

namespace penstock::report {

namespace {

using Json = nlohmann::json;

Json encode(const std::optional<Location>& location) {
  if (!location) return nullptr;
  return {{"file", location->file.text()},
          {"line", location->line},
          {"column", location->column},
          {"end_line", location->end_line},
          {"end_column", location->end_column}};
}

Json encode(const Shares& shares) {
  return {
      {"compiled", shares.compiled}, {"library", shares.library}, {"fallback", shares.fallback}};
}

Json encode(const GraphEntry& graph) {
  ValueName name = [&](ValueId id) {
    return id < graph.value_names.size() ? graph.value_names[id] : std::to_string(id);
  };
  Json calls = Json::array();
  for (const Call& call : graph.calls) {
    Json args = Json::array(), kwargs = Json::array();
    for (const Argument& argument : call.args) args.push_back(to_string(argument, name));
    for (const NamedArgument& argument : call.kwargs) {
      kwargs.push_back({{"name", argument.name}, {"value", to_string(argument.value, name)}});
    }
    Json location = call.stack == nullptr ? Json(nullptr) : encode(call.stack->location);
    calls.push_back({{"opcode", call.opcode},
                     {"name", call.name},
                     {"target", call.target},
                     {"args", args},
                     {"kwargs", kwargs},
                     {"location", location}});
  }
  Json guards = Json::array(), inputs = Json::array();
  for (const Guard& guard : graph.interface.guards) {
    guards.push_back({{"kind", facts(guard.kind).name},
                      {"text", to_string(guard, graph.interface.sources)},
                      {"location", encode(guard.location)}});
  }
  for (const Input& input : graph.interface.inputs) {
    inputs.push_back(
        {{"name", input.name}, {"kind", to_string(input.kind)}, {"type", to_string(input.type)}});
  }
  return {{"id", to_string(graph.interface.id)},
          {"name", graph.interface.name},
          {"level", to_string(graph.level)},
          {"after", graph.interface.after},
          {"location", encode(graph.interface.location)},
          {"ops", graph.ops},
          {"calls", calls},
          {"guards", guards},
          {"inputs", inputs},
          {"outputs", graph.outputs},
          {"shares", graph.shares ? encode(*graph.shares) : Json(nullptr)},
          {"not_placed", graph.not_placed}};
}

Json encode(const BreakEvent& event) {
  const CodeFacts* code = find_code(event.code);
  std::string hint = event.hint.empty() && code ? std::string(code->hint) : event.hint;
  return {{"code", event.code},
          {"title", code ? code->title : ""},
          {"explanation", code ? code->explanation : ""},
          {"after", to_string(event.after)},
          {"location", encode(event.location)},
          {"reason", event.reason},
          {"hint", hint}};
}

Json encode(const SkipEvent& event) {
  return {{"code", event.code}, {"name", event.name},     {"location", encode(event.location)},
          {"rule", event.rule}, {"reason", event.reason}, {"bypass", event.bypass}};
}

Json encode(const RecompileEvent& event) {
  Json entries = Json::array();
  for (const RecompileEvent::Entry& entry : event.entries) {
    Json failed = Json::array();
    for (const FailedGuard& guard : entry.failed) {
      failed.push_back({{"kind", facts(guard.kind).name},
                        {"source", guard.source},
                        {"text", guard.text},
                        {"expected", guard.expected},
                        {"actual", guard.actual},
                        {"location", encode(guard.location)},
                        {"hint", guard.hint}});
    }
    entries.push_back({{"id", to_string(entry.id)}, {"failed", failed}});
  }
  Json id = event.id.recompile >= 0 ? Json(to_string(event.id)) : Json(nullptr);
  return {{"id", id}, {"limit", event.limit}, {"entries", entries}};
}

Json encode(const RestartEvent& event) {
  return {
      {"id", to_string(event.id)}, {"reason", event.reason}, {"location", encode(event.location)}};
}

Json encode(const Summary& sum) {
  return {{"graphs", sum.graphs},
          {"graph_calls", sum.graph_calls},
          {"captured_ops", sum.captured_ops},
          {"total_ops", sum.total_ops},
          {"pct_ops", sum.pct_ops},
          {"pct_time", sum.pct_time},
          {"breaks", sum.breaks},
          {"recompiles", sum.recompiles},
          {"bypasses", sum.bypasses},
          {"executed", encode(sum.executed)}};
}

template <class Event>
Json encode_all(const std::vector<Event>& events) {
  Json list = Json::array();
  for (const Event& event : events) list.push_back(encode(event));
  return list;
}

Json encode_gates(const std::optional<RunTotals>& end) {
  Json list = Json::array();
  if (!end) return list;
  for (const RunTotals::Entry& entry : end->entries) {
    const GateReport& gate = entry.gate;
    if (gate.verdict == GateReport::Verdict::none) continue;
    list.push_back({{"id", entry.id},
                    {"verdict", formats::to_string(gate.verdict)},
                    {"pairs", gate.pairs},
                    {"entry_ns", gate.entry_ns},
                    {"plain_ns", gate.plain_ns},
                    {"remembered", gate.remembered}});
  }
  return list;
}

}  // namespace

std::string to_json(const Report& report) {
  Json whole = {{"argv", report.argv},
                {"graphs", encode_all(report.graphs)},
                {"breaks", encode_all(report.breaks)},
                {"skips", encode_all(report.skips)},
                {"recompiles", encode_all(report.recompiles)},
                {"restarts", encode_all(report.restarts)},
                {"gates", encode_gates(report.end)},
                {"complete", report.end.has_value()},
                {"exit_status", report.end ? Json(report.end->exit_status) : Json(nullptr)},
                {"signal", report.end ? Json(report.end->signal) : Json(nullptr)},
                {"summary", encode(summarize(report))}};
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace penstock::report
