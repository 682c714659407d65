#include "tools/extension/process_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include "diag/diagnostic.h"

namespace penstock::tools {
namespace {

constexpr std::uint64_t kShown = 4096;

std::string_view verdict_name(GateReport::Verdict verdict) {
  return verdict == GateReport::Verdict::accepted ? "gate: accepted" : "gate: refused";
}

}  // namespace

ProcessTrace& ProcessTrace::get() {
  static ProcessTrace trace;
  return trace;
}

ProcessTrace::ProcessTrace() : trace_("program"), process_(getpid()) {}

/// A child's events are its own.
void ProcessTrace::notice_fork() {
  if (process_ == getpid()) return;
  process_ = getpid();
  forked_ = true;
  trace_.forget();
}

/// Whether this run is one of those that are shown: all, until they are too many.
bool ProcessTrace::is_shown() {
  if (runs_ >= kShown * stride_ * 2) stride_ *= 2;
  return runs_++ % stride_ == 0;
}

std::string ProcessTrace::title(std::string_view what, EntryId id) const {
  const auto found = names_.find({id.frame, id.recompile});
  std::string text(what);
  if (id.frame >= 0) text += fmt::format(" [{}]", to_string(id));
  if (found != names_.end()) text += " " + found->second;
  return text;
}

void ProcessTrace::span(std::string_view name, capture::Stretch::Time begin,
                        capture::Stretch::Time end) {
  const Trace::Facts one_of = {{"of", std::to_string(stride_)}};
  trace_.span(name, begin, end, stride_ == 1 ? Trace::Facts() : one_of);
}

void ProcessTrace::name(EntryId id, const std::string& function) {
  if (active()) names_[{id.frame, id.recompile}] = function;
}

void ProcessTrace::ran(const capture::Stretch& stretch, const jit::EntryCount* row) {
  using Kind = capture::Stretch::Kind;
  if (!active() || stretch.kind == Kind::behind) return;
  notice_fork();
  if (stretch.kind == Kind::record || stretch.kind == Kind::compile) {
    const char* what = stretch.kind == Kind::record ? "capture" : "compile";
    trace_.span(title(what, stretch.id), stretch.begin, stretch.end);
    return;
  }
  if (is_shown())
    span(title(stretch.kind == Kind::entry ? "entry" : "plain Python", stretch.id), stretch.begin,
         stretch.end);
  if (row == nullptr) return;
  GateReport::Verdict& known = verdicts_[{row->frame, row->recompile}];
  const GateReport::Verdict now = row->gate.verdict;
  const bool decided = now == GateReport::Verdict::accepted || now == GateReport::Verdict::refused;
  if (decided && known != now) {
    trace_.instant(title(verdict_name(now), stretch.id), stretch.end,
                   {{"entry ns", std::to_string(row->gate.entry_ns)},
                    {"plain Python ns", std::to_string(row->gate.plain_ns)}});
  }
  known = now;
}

void ProcessTrace::left_root(capture::Stretch::Time begin, capture::Stretch::Time end) {
  if (!active()) return;
  notice_fork();
  if (is_shown()) span("root", begin, end);
  if (forked_) {
    trace_.write();
  } else {
    trace_.write_some();
  }
}

void ProcessTrace::passed(std::string_view pass, std::chrono::nanoseconds time) {
  if (!active() || pass == "capture") return;  // a stretch of its own
  notice_fork();
  const auto now = Trace::Clock::now();
  trace_.span(pass, now - time, now);
}

void ProcessTrace::broke(const BreakEvent& event) {
  if (!active()) return;
  notice_fork();
  Trace::Facts facts = {{"reason", event.reason}, {"after", to_string(event.after)}};
  if (event.location) {
    facts.emplace_back("line",
                       fmt::format("{}:{}", event.location->file.text(), event.location->line));
  }
  trace_.instant(fmt::format("break {}", event.code), Trace::Clock::now(), facts);
}

void ProcessTrace::finish() {
  notice_fork();
  if (!trace_.write())
    fmt::print(stderr, "penstock: PENSTOCK_TRACE names a file that cannot be written\n");
}

}  // namespace penstock::tools
