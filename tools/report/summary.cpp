#include <fmt/format.h>

#include <map>

#include "tools/report/advice.h"
#include "tools/report/report.h"

namespace penstock::report {

namespace {

double percent(double part, double whole) {
  return whole > 0 ? 100.0 * part / whole : 0.0;
}

std::map<std::string, std::int64_t> calls_by_entry(const Report& report) {
  std::map<std::string, std::int64_t> calls;
  if (!report.end) return calls;
  for (const RunTotals::Entry& entry : report.end->entries) {
    calls[entry.id] += entry.calls;
  }
  return calls;
}

}  // namespace

std::string gate_text(const GateReport& gate) {
  const char* remembered = gate.remembered ? ", measured by an earlier process" : "";
  const std::string times =
      gate.pairs == 0
          ? std::string()
          : fmt::format(": {} a call, plain Python {} (least of {}{})", duration(gate.entry_ns),
                        duration(gate.plain_ns), gate.pairs, remembered);
  switch (gate.verdict) {
    case GateReport::Verdict::none:
      return {};
    case GateReport::Verdict::off:
      return "off: nothing is measured";
    case GateReport::Verdict::open:
      return "open, too few calls were measured" + times;
    case GateReport::Verdict::accepted:
      return "accepted" + times;
    case GateReport::Verdict::refused:
      return "refused, plain Python runs the calls" + times;
  }
  return {};
}

std::string backend_text(const BackendEvent& event) {
  const bool runs = event.outcome == BackendEvent::Outcome::runs;
  std::string text = event.backend + (event.version.empty() ? "" : " " + event.version) + " ";
  text += runs ? std::string("runs the calls") : std::string(to_string(event.outcome));
  if (!event.reason.empty()) text += ": " + event.reason;
  if (event.backend_ns == 0 || event.own_ns == 0) return text;
  return text + fmt::format("{} {} a call, penstock's code {}{}", event.reason.empty() ? ":" : ",",
                            duration(event.backend_ns), duration(event.own_ns),
                            event.remembered ? ", measured by an earlier process" : "");
}

Summary summarize(const Report& report) {
  Summary sum;
  auto calls = calls_by_entry(report);
  for (const GraphEntry& graph : report.graphs) {
    ++sum.graphs;
    auto counted = calls.find(to_string(graph.interface.id));
    std::int64_t times = report.end ? (counted == calls.end() ? 0 : counted->second) : 1;
    sum.graph_calls += times;
    sum.captured_ops += times * graph.ops;
    if (graph.shares) {
      sum.executed.compiled += times * graph.shares->compiled;
      sum.executed.library += times * graph.shares->library;
      sum.executed.fallback += times * graph.shares->fallback;
    }
  }
  sum.breaks = static_cast<std::int64_t>(report.breaks.size());
  sum.recompiles = static_cast<std::int64_t>(report.recompiles.size());
  sum.total_ops = sum.captured_ops;
  if (report.end) {
    sum.total_ops += report.end->native_ops;
    sum.bypasses = report.end->bypasses;
    sum.pct_time = percent(static_cast<double>(report.end->entry_ns),
                           static_cast<double>(report.end->root_ns));
  }
  sum.pct_ops = percent(static_cast<double>(sum.captured_ops), static_cast<double>(sum.total_ops));
  return sum;
}

}  // namespace penstock::report
