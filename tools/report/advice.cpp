#include "tools/report/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tools/report/sources.h"

namespace penstock::report {

namespace {

/// Fewer recompiles than this are how a program finds out which sizes and numbers change.
constexpr std::size_t kManyRecompiles = 3;
/// A program that compiles for more than this share of its time is told so.
constexpr double kMuchCompiling = 0.5;

Advice of_kind(std::string_view kind) {
  Advice advice;
  advice.kind = kind;
  return advice;
}

/// Defects first, and what stops everything; that a short program compiles for most of its time is
/// nothing to be done about.
std::tuple<bool, bool, std::int64_t> rank(const Advice& advice) {
  return {advice.kind == "defect" || advice.kind == "replaced", advice.kind != "compile",
          advice.cost_ns};
}

class Adviser {
 public:
  explicit Adviser(const Report& report) : report_(report) {
    for (const GraphEntry& graph : report.graphs)
      graphs_.try_emplace(to_string(graph.interface.id), &graph);
    if (!report.end) return;
    for (const RunTotals::Entry& entry : report.end->entries) {
      Behind& behind = behind_[segment_of(entry.id)];
      behind.cost += entry.behind_ns;
      behind.times += entry.behind;
      entries_[entry.id] = &entry;
    }
  }

  std::vector<Advice> all() {
    for (std::size_t i = 0; i < report_.breaks.size(); ++i) add(report_.breaks[i], i);
    add_recompiles();
    add_skips();
    add_graphs();
    add_compiling();
    std::ranges::stable_sort(out_,
                             [](const Advice& a, const Advice& b) { return rank(a) > rank(b); });
    if (out_.empty()) add_none();
    return std::move(out_);
  }

 private:
  struct Behind {
    std::int64_t cost = 0, times = 0;
  };

  /// Each recompile of a segment ends at the same break. Segments that end at one line for one
  /// reason share a row: one change of that line is what to do about them.
  void add(const BreakEvent& event, std::size_t index) {
    const std::string segment = segment_of(to_string(event.after));
    if (Advice* known = told(event)) {
      known->entries.push_back(to_string(event.after));
      if (!counted_.insert({known->event, segment}).second) return;
      known->cost_ns += behind_[segment].cost;
      known->times += behind_[segment].times;
      return;
    }
    const CodeFacts* code = find_code(event.code);
    const Behind behind = behind_[segment];
    counted_.insert({index, segment});
    Advice advice = of_kind("break");
    advice.code = event.code;
    advice.title = fmt::format("graph break: {}", code ? code->title : "unknown code");
    advice.detail = event.reason;
    advice.hint = !event.hint.empty() ? event.hint : code ? std::string(code->hint) : "";
    advice.location = event.location;
    advice.entries.push_back(to_string(event.after));
    advice.cost_ns = behind.cost;
    advice.times = behind.times;
    advice.event = index;
    out_.push_back(std::move(advice));
  }

  /// The row of the first break at the line and for the reason of `event`, where there was one.
  Advice* told(const BreakEvent& event) {
    if (!event.location) return nullptr;
    const auto [row, added] = rows_.try_emplace(
        std::tuple(event.code, event.reason, event.location->file.text(), event.location->line),
        out_.size());
    return added ? nullptr : &out_[row->second];
  }

  /// The guard that failed most among those of one segment, and the recompiles that it made.
  void add_recompiles() {
    struct Cause {
      std::size_t first = 0, count = 0;
      const FailedGuard* guard = nullptr;
      EntryId id;
    };
    std::map<std::pair<std::int32_t, std::string>, Cause> causes;
    for (std::size_t i = 0; i < report_.recompiles.size(); ++i) {
      const RecompileEvent& event = report_.recompiles[i];
      if (event.entries.empty() || event.entries.front().failed.empty()) continue;
      const FailedGuard& guard = event.entries.front().failed.front();
      Cause& cause = causes[{event.entries.front().id.frame, guard.source}];
      if (cause.count++ == 0) cause = {i, 1, &guard, event.entries.front().id};
      if (event.limit) cause.count += kManyRecompiles;
    }
    for (const auto& [key, cause] : causes) {
      if (cause.count < kManyRecompiles) continue;
      Advice advice = of_kind("recompile");
      const FailedGuard& guard = *cause.guard;
      advice.title =
          fmt::format("{} is compiled again and again: {} changes", name_of(to_string(cause.id)),
                      guard.source.empty() ? guard.text : guard.source);
      advice.detail = guard.expected.empty()
                          ? guard.actual
                          : fmt::format("expected {}, got {}", guard.expected, guard.actual);
      advice.hint = cause.guard->hint;
      advice.location = cause.guard->location;
      if (const GraphEntry* graph = find(to_string(cause.id)); graph && advice.location)
        advice.location = users_line(report_, *graph, *advice.location);
      advice.entries.push_back(to_string(cause.id));
      advice.times = static_cast<std::int64_t>(cause.count);
      advice.event = cause.first;
      out_.push_back(std::move(advice));
    }
  }

  void add_skips() {
    for (const SkipEvent& skip : report_.skips) {
      if (skip.code == facts(Code::PS0402).id) add_replaced_op(skip);
      if (!skip.bypass) continue;
      Advice advice = of_kind("defect");
      advice.code = skip.code;
      advice.title = fmt::format("{} was given up: a defect of penstock", skip.name);
      advice.detail = skip.reason;
      advice.hint = "Please report it, with the program or what `penstock reduce` makes of it.";
      advice.location = skip.location;
      out_.push_back(std::move(advice));
    }
  }

  void add_replaced_op(const SkipEvent& skip) {
    Advice advice = of_kind("replaced");
    advice.code = skip.code;
    advice.title = "an op of torch's was replaced, and nothing compiled from then on";
    advice.detail = skip.reason;
    advice.hint = facts(Code::PS0402).hint;
    advice.location = skip.location;
    out_.push_back(std::move(advice));
  }

  void add_graphs() {
    std::map<std::string, Advice> fallbacks;
    for (const GraphEntry& graph : report_.graphs) {
      const std::string id = to_string(graph.interface.id);
      const auto entry = entries_.find(id);
      if (entry != entries_.end() && entry->second->gate.verdict == GateReport::Verdict::refused)
        add_refused(graph, *entry->second);
      for (const StepEntry& step : graph.stages.steps) {
        if (step.place != "fallback") continue;
        Advice& advice = fallbacks[step.name];
        advice.kind = "fallback";
        advice.title = fmt::format("{} runs in torch, between compiled kernels", step.name);
        advice.detail = step.reason;
        advice.hint = "It is correct, and costs what it costs in plain Python.";
        if (advice.entries.empty() || advice.entries.back() != id) advice.entries.push_back(id);
        ++advice.times;
        if (!advice.location && !step.calls.empty()) advice.location = place(graph, step.calls[0]);
      }
    }
    for (auto& [name, advice] : fallbacks) out_.push_back(std::move(advice));
  }

  void add_refused(const GraphEntry& graph, const RunTotals::Entry& entry) {
    Advice advice = of_kind("refused");
    advice.title =
        fmt::format("[{}] {} is not used: plain Python was faster", entry.id, graph.interface.name);
    advice.detail = gate_text(entry.gate);
    advice.hint = "Nothing is lost. Larger inputs, or fewer breaks around it, would make it pay.";
    advice.location = graph.interface.location;
    advice.entries.push_back(entry.id);
    out_.push_back(std::move(advice));
  }

  void add_compiling() {
    if (!report_.end || report_.end->root_ns <= 0) return;
    const std::int64_t compiling = report_.end->capture_ns + report_.end->compile_ns;
    const double share = static_cast<double>(compiling) / static_cast<double>(report_.end->root_ns);
    if (share < kMuchCompiling) return;
    Advice advice = of_kind("compile");
    advice.title =
        fmt::format("compiling took {} of {}", duration(compiling), duration(report_.end->root_ns));
    advice.detail = "the program ran too few calls to win that back";
    advice.hint = "Let it run longer; later runs find their kernels in the store.";
    advice.cost_ns = compiling;
    out_.push_back(std::move(advice));
  }

  void add_none() {
    Advice advice = of_kind("none");
    const bool nothing = report_.graphs.empty();
    advice.title = nothing ? "nothing was captured" : "nothing to do: no graph ends early";
    if (nothing) advice.hint = "Is PyTorch used, and for long enough? --compile=now does not wait.";
    out_.push_back(std::move(advice));
  }

  const GraphEntry* find(const std::string& id) const {
    const auto found = graphs_.find(id);
    return found == graphs_.end() ? nullptr : found->second;
  }
  /// Names an entry and its recompiles: modules of several classes share a frame.
  std::string segment_of(const std::string& id) const {
    return id.substr(0, id.find('/')) + " " + name_of(id);
  }
  std::string name_of(const std::string& id) const {
    const GraphEntry* graph = find(id);
    return graph ? graph->interface.name : "[" + id + "]";
  }
  std::optional<Location> place(const GraphEntry& graph, std::int32_t call) const {
    if (call < 0 || call >= static_cast<std::int32_t>(graph.calls.size())) return {};
    const CallStack& stack = graph.calls[static_cast<std::size_t>(call)].stack;
    if (stack == nullptr) return {};
    return users_line(report_, graph, stack->location);
  }

  const Report& report_;
  std::map<std::string, Behind> behind_;  // by segment
  std::map<std::string, const GraphEntry*> graphs_;
  std::map<std::string, const RunTotals::Entry*> entries_;
  std::map<std::tuple<std::string, std::string, std::string, std::int32_t>, std::size_t> rows_;
  std::set<std::pair<std::size_t, std::string>> counted_;  // a row's event, and a segment in it
  std::vector<Advice> out_;
};

}  // namespace

std::string duration(std::int64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  return value < 1e6   ? fmt::format("{:.3g} us", value / 1e3)
         : value < 1e9 ? fmt::format("{:.3g} ms", value / 1e6)
                       : fmt::format("{:.3g} s", value / 1e9);
}

std::vector<Advice> advise(const Report& report) {
  return Adviser(report).all();
}

}  // namespace penstock::report
