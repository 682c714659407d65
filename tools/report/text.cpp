#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "diag/render.h"
#include "tools/report/advice.h"
#include "tools/report/listing.h"
#include "tools/report/report.h"
#include "tools/report/sources.h"

namespace penstock::report {

namespace {

/// " (SIGTERM)"; nothing for a number that has no name.
std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "" : fmt::format(" (SIG{})", name);
}

/// Appends sections to one text; knows the width and whether to colour.
class Printer {
 public:
  Printer(const Report& report, const TextOptions& options) : report_(report), options_(options) {
    if (report.end) {
      for (const RunTotals::Entry& entry : report.end->entries) {
        calls_[entry.id] = &entry;
      }
    }
  }

  std::string all() {
    if (!options_.summary) {
      print_head();
      print_advice();
      print_recompiles();
      for (const RestartEvent& restart : report_.restarts) print(restart);
      print_skips();
      for (const auto& segment : segments_of(report_)) print_segment(segment);
    }
    print_summary();
    return without_control(out_);
  }

 private:
  template <class... Parts>
  void line(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Parts>(parts)...);
    out_ += '\n';
  }

  /// Names and reasons come from the documents: nothing in them may steer a terminal, but for
  /// colours, which are ours.
  std::string without_control(const std::string& text) const {
    if (!options_.color) return printable(text);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t found = text.find("\033[", at);
      const std::size_t end =
          found == text.npos ? found : text.find_first_not_of("0123456789;", found + 2);
      const bool color = end != text.npos && text[end] == 'm';
      const std::size_t plain = std::min(color ? found : end, text.size());
      out += printable(std::string_view(text).substr(at, plain - at));
      at = color ? end + 1 : plain;
      if (color) out += text.substr(found, at - found);
    }
    return out;
  }

  std::string strong(const std::string& text) const {
    return options_.color ? "\033[1m" + text + "\033[0m" : text;
  }

  static std::string place(const std::optional<Location>& location) {
    return location ? fmt::format("{}:{}", location->file.text(), location->line) : "";
  }

  /// One line: what was run, and how much of it is in graphs.
  void print_head() {
    std::string command;
    for (const std::string& word : report_.argv) command += (command.empty() ? "" : " ") + word;
    const Summary sum = summarize(report_);
    line("{}: {} of {} ops in {} graph{}", strong(command.empty() ? "program" : command),
         sum.captured_ops, sum.total_ops, sum.graphs, sum.graphs == 1 ? "" : "s");
    out_ += '\n';
  }

  /// What to do first, the dearest first; a break with its place, its reason and what avoids it.
  void print_advice() {
    const std::vector<Advice> rows = advise(report_);
    line("{}", strong("what to do first"));
    std::size_t number = 0;
    for (const Advice& advice : rows) {
      std::string facts;
      if (advice.cost_ns > 0) facts += "  " + duration(advice.cost_ns);
      if (advice.times > 1) facts += fmt::format("  {} times", advice.times);
      const std::string code = advice.code.empty() ? "" : strong(advice.code) + " ";
      const std::string after = advice.kind == "break"
                                    ? fmt::format(" after [{}]", fmt::join(advice.entries, "], ["))
                                    : "";
      line("{:>2}. {}{}{}{}", ++number, code, advice.title, after, facts);
      print_excerpt(advice.location);
      if (!advice.detail.empty()) wrapped("    reason: ", advice.detail);
      if (advice.kind == "break") print_explanation(report_.breaks[advice.event]);
      if (!advice.hint.empty()) wrapped("    hint: ", advice.hint);
    }
    out_ += '\n';
  }

  void print_explanation(const BreakEvent& event) {
    const CodeFacts* code = find_code(event.code);
    if (!event.rule.empty()) wrapped("    rule: ", event.rule);
    if (code && !code->explanation.empty()) wrapped("    explanation: ", code->explanation);
  }

  /// `text` behind `head`, broken between words at the width; lines go on under the text's start.
  void wrapped(const std::string& head, std::string_view text) {
    const std::size_t room =
        std::max<std::size_t>(24, static_cast<std::size_t>(options_.width) - head.size());
    std::string indent = head;
    while (!text.empty()) {
      std::size_t end = text.size();
      if (end > room) {
        end = text.rfind(' ', room);
        if (end == text.npos || end == 0) end = std::min(text.find(' '), text.size());
      }
      line("{}{}", indent, text.substr(0, end));
      text.remove_prefix(std::min(text.size(), end + 1));
      indent.assign(head.size(), ' ');
    }
  }

  /// A location with the path of its file, so that it can be opened from anywhere.
  std::optional<Location> openable(std::optional<Location> location) const {
    if (!location) return location;
    location->file = formats::path_of(report_.files, location->file);
    return location;
  }

  /// The first entry with its calls; of each recompile, what is other in it.
  void print_segment(const std::vector<std::size_t>& segment) {
    const GraphEntry& first = report_.graphs[segment.front()];
    print_first_line(first);
    print_gate(first, "  gate: ");
    print_backends(first, "  back end: ");
    out_ += listing(first).text(options_.table_width, "  ");
    if (options_.guards) print_guards(first.interface);
    print_saved(first.interface);
    for (std::size_t i = 1; i < segment.size(); ++i) {
      const GraphEntry& graph = report_.graphs[segment[i]];
      out_ += "  ";
      print_first_line(graph);
      wrapped("    ", difference_from(first, graph));
      print_gate(graph, "    gate: ");
      print_backends(graph, "    back end: ");
      if (options_.guards) print_guards(graph.interface);
    }
    out_ += '\n';
  }

  void print_first_line(const GraphEntry& graph) {
    const Interface& interface = graph.interface;
    std::string head = fmt::format("[{}] {}", to_string(interface.id), interface.name);
    std::string facts;
    if (interface.location) facts += "  " + place(interface.location);
    if (!interface.after.empty()) facts += fmt::format("  after [{}]", interface.after);
    if (interface.training.role != GraphRole::inference)
      facts += fmt::format("  {}", to_string(interface.training.role));
    facts += fmt::format("  {} ops, {} guards", graph.ops, interface.guards.size());
    if (auto calls = calls_.find(to_string(interface.id)); calls != calls_.end()) {
      const std::int64_t count = calls->second->calls;
      facts += fmt::format(", {} call{}", count, count == 1 ? "" : "s");
    }
    line("{}{}", strong(head), facts);
  }

  /// What a backward graph is given of its forward graph.
  void print_saved(const Interface& interface) {
    std::int64_t bytes = 0;
    for (const Saved& saved : interface.training.saved) {
      const Input& input = interface.inputs[static_cast<std::size_t>(saved.input)];
      line("  saved {}: {}", input.name, to_string(input.type));
      bytes += known_bytes(input.type);
    }
    for (const Passed& passed : interface.training.passed) {
      const Input& input = interface.inputs[static_cast<std::size_t>(passed.input)];
      line("  reads forward's input {}: {}", input.name, to_string(input.type));
    }
    if (interface.training.role == GraphRole::backward) line("  saved in all: {} bytes", bytes);
  }

  void print_gate(const GraphEntry& graph, const std::string& head) {
    const auto found = calls_.find(to_string(graph.interface.id));
    const std::string text = found == calls_.end() ? std::string() : gate_text(found->second->gate);
    if (!text.empty()) line("{}{}", head, text);
  }

  void print_backends(const GraphEntry& graph, const std::string& head) {
    for (const BackendEvent& event : report_.backends) {
      if (event.id == graph.interface.id) wrapped(head, backend_text(event));
    }
  }

  void print_guards(const Interface& interface) {
    for (const Guard& guard : interface.guards) {
      std::string where = place(guard.location);
      line("  guard {}{}", to_string(guard, interface.sources),
           where.empty() ? "" : "  # " + where);
    }
  }

  void print_excerpt(const std::optional<Location>& named) {
    const std::optional<Location> location = openable(named);
    if (!location) return;
    RenderOptions render;
    render.color = options_.color;
    out_ += excerpt(*location, render);
  }

  /// Recompiles of one segment that one guard caused are told once, with the line of the program's
  /// author.
  void print_recompiles() {
    struct Cause {
      std::vector<std::string> ids;
      const FailedGuard* guard = nullptr;
      std::string before;
      bool limit = false;
    };
    std::vector<Cause> causes;
    std::map<std::pair<std::int32_t, std::string>, std::size_t> known;
    for (const RecompileEvent& event : report_.recompiles) {
      if (event.entries.empty() || event.entries.front().failed.empty()) continue;
      const FailedGuard& guard = event.entries.front().failed.front();
      const EntryId before = event.entries.front().id;
      const auto [found, fresh] = known.try_emplace({before.frame, guard.text}, causes.size());
      if (fresh) causes.push_back({{}, &guard, to_string(before), false});
      Cause& cause = causes[found->second];
      cause.limit |= event.limit;
      if (event.id.recompile >= 0) cause.ids.push_back("[" + to_string(event.id) + "]");
    }
    for (const Cause& cause : causes) {
      line("{}{}", strong(cause.ids.empty() ? "no entry fits" : "recompile "),
           fmt::format("{}", fmt::join(cause.ids, " ")));
      line("  [{}] failed: {}", cause.before, cause.guard->text);
      line("    expected {}, got {}", cause.guard->expected, cause.guard->actual);
      print_excerpt(users(cause.before, cause.guard->location));
      if (!cause.guard->hint.empty()) wrapped("    hint: ", cause.guard->hint);
      if (cause.limit) line("    the limit is reached: plain Python runs what fits no entry");
    }
    if (!causes.empty()) out_ += '\n';
  }

  std::optional<Location> users(const std::string& id, std::optional<Location> location) const {
    for (const GraphEntry& graph : report_.graphs) {
      if (!location || to_string(graph.interface.id) != id) continue;
      return users_line(report_, graph, *location);
    }
    return location;
  }

  void print(const RestartEvent& event) {
    line("{}: {}", strong(fmt::format("restart [{}]", to_string(event.id))), event.reason);
    print_excerpt(event.location);
    out_ += '\n';
  }

  void print_skips() {
    if (report_.skips.empty()) return;
    Table table({"not captured", "where", "rule", "reason"});
    for (const SkipEvent& skip : report_.skips) {
      table.add({skip.name, place(skip.location), skip.rule.empty() ? skip.code : skip.rule,
                 (skip.bypass ? "bypass: " : "") + skip.reason});
    }
    out_ += table.text(options_.table_width);
    out_ += '\n';
  }

  void print_summary() {
    Summary sum = summarize(report_);
    Table table({"graphs", "graph_calls", "captured_ops", "total_ops", "pct_ops", "pct_time",
                 "compiled", "library", "fallback", "breaks", "recompiles", "bypasses"});
    auto share = [&](std::int64_t part) {
      std::int64_t placed = sum.executed.compiled + sum.executed.library + sum.executed.fallback;
      return placed > 0 ? fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) /
                                                     static_cast<double>(placed))
                        : std::string("-");
    };
    table.add({std::to_string(sum.graphs), std::to_string(sum.graph_calls),
               std::to_string(sum.captured_ops), std::to_string(sum.total_ops),
               fmt::format("{:.1f}%", sum.pct_ops),
               report_.end && report_.end->root_ns > 0 ? fmt::format("{:.1f}%", sum.pct_time) : "-",
               share(sum.executed.compiled), share(sum.executed.library),
               share(sum.executed.fallback), std::to_string(sum.breaks),
               std::to_string(sum.recompiles), std::to_string(sum.bypasses)});
    for (const GraphEntry& graph : report_.graphs) {
      if (options_.summary)
        print_gate(graph, fmt::format("[{}] gate: ", to_string(graph.interface.id)));
      if (options_.summary)
        print_backends(graph, fmt::format("[{}] back end: ", to_string(graph.interface.id)));
      if (!graph.shares) {
        line("[{}] could not be placed: {}", to_string(graph.interface.id), graph.not_placed);
      }
    }
    out_ += table.text(0);  // figures are never cut
    if (!report_.end) line("the stream has no end: it was cut off, and every graph counts once");
    if (report_.end && report_.end->signal != 0) {
      line("the program was ended by signal {}{}", report_.end->signal,
           signal_name(report_.end->signal));
    } else if (report_.end && report_.end->exit_status != 0) {
      line("the program ended with status {}", report_.end->exit_status);
    }
  }

  const Report& report_;
  const TextOptions& options_;
  std::map<std::string, const RunTotals::Entry*> calls_;
  std::string out_;
};

}  // namespace

std::string to_text(const Report& report, const TextOptions& options) {
  return Printer(report, options).all();
}

}  // namespace penstock::report
