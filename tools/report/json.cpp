#include "tools/report/json.h"

#include "formats/document.h"
#include "tools/report/advice.h"
#include "tools/report/sources.h"

namespace penstock::report {

namespace {

using report::encode;
using Json = nlohmann::json;

Json encode(const BreakEvent& event) {
  const CodeFacts* code = find_code(event.code);
  std::string hint = event.hint.empty() && code ? std::string(code->hint) : event.hint;
  return {{"code", event.code},
          {"title", code ? code->title : ""},
          {"explanation", code ? code->explanation : ""},
          {"after", to_string(event.after)},
          {"rule", event.rule},
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

Json encode(const BackendEvent& event) {
  return {{"id", to_string(event.id)},      {"backend", event.backend},
          {"version", event.version},       {"outcome", to_string(event.outcome)},
          {"reason", event.reason},         {"remembered", event.remembered},
          {"backend_ns", event.backend_ns}, {"own_ns", event.own_ns}};
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

Json encode(const Advice& advice) {
  return {{"kind", advice.kind},       {"code", advice.code},
          {"title", advice.title},     {"detail", advice.detail},
          {"hint", advice.hint},       {"location", encode(advice.location)},
          {"entries", advice.entries}, {"cost_ns", advice.cost_ns},
          {"times", advice.times},     {"event", advice.event}};
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

Json encode_entries(const std::optional<RunTotals>& end) {
  Json list = Json::array();
  if (!end) return list;
  for (const RunTotals::Entry& entry : end->entries) {
    list.push_back({{"id", entry.id},
                    {"calls", entry.calls},
                    {"total_ns", entry.total_ns},
                    {"behind_ns", entry.behind_ns},
                    {"behind", entry.behind}});
  }
  return list;
}

Json encode_times(const std::optional<RunTotals>& end) {
  if (!end) return nullptr;
  return {{"roots_ns", end->root_ns},
          {"entries_ns", end->entry_ns},
          {"capture_ns", end->capture_ns},
          {"compile_ns", end->compile_ns}};
}

Json encode_timeline(const std::optional<RunTotals>& end) {
  Json list = Json::array();
  if (!end) return list;
  for (const RunTotals::Span& span : end->timeline) {
    list.push_back({{"kind", span.kind},
                    {"id", span.id},
                    {"begin_ns", span.begin_ns},
                    {"end_ns", span.end_ns}});
  }
  return list;
}

Json encode_sources(const tools::SourceLines& sources) {
  Json list = Json::array();
  for (const auto& [file, lines] : sources) {
    Json rows = Json::array();
    for (const auto& [line, text] : lines) rows.push_back({{"line", line}, {"text", text}});
    list.push_back({{"file", file}, {"lines", rows}});
  }
  return list;
}

Json encode_files(const Report& report) {
  Json list = Json::array();
  for (const auto& [file, path] : report.files.paths)
    list.push_back({{"name", file}, {"value", path}});
  return list;
}

Json encode_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json list = Json::array();
  for (const auto& [name, value] : pairs) list.push_back({{"name", name}, {"value", value}});
  return list;
}

}  // namespace

std::string to_json(const Report& report, bool pretty) {
  Json whole = {{"penstock", "report"},
                {"version", {1, 0}},
                {"argv", report.argv},
                {"directory", report.files.directory},
                {"files", encode_files(report)},
                {"versions", encode_pairs(report.versions)},
                {"settings", encode_pairs(report.settings)},
                {"advice", encode_all(advise(report))},
                {"graphs", encode_all(report.graphs)},
                {"breaks", encode_all(report.breaks)},
                {"skips", encode_all(report.skips)},
                {"recompiles", encode_all(report.recompiles)},
                {"restarts", encode_all(report.restarts)},
                {"backends", encode_all(report.backends)},
                {"gates", encode_gates(report.end)},
                {"entries", encode_entries(report.end)},
                {"times", encode_times(report.end)},
                {"timeline", encode_timeline(report.end)},
                {"sources", encode_sources(source_lines(report))},
                {"complete", report.end.has_value()},
                {"exit_status", report.end ? Json(report.end->exit_status) : Json(nullptr)},
                {"signal", report.end ? Json(report.end->signal) : Json(nullptr)},
                {"summary", encode(summarize(report))}};
  return whole.dump(pretty ? 2 : -1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace penstock::report
