#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "diag/render.h"
#include "ir/argument_text.h"
#include "tools/report/report.h"
#include "tools/report/table.h"

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
      for (const GraphEntry& graph : report_.graphs) print(graph);
      for (const RecompileEvent& recompile : report_.recompiles) print(recompile);
      for (const RestartEvent& restart : report_.restarts) print(restart);
      for (const BreakEvent& event : report_.breaks) print(event);
      print_skips();
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

  void print(const GraphEntry& graph) {
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
    print_gate(graph, "  gate: ");
    out_ += listing(graph).text(options_.width, "  ");
    if (options_.guards) print_guards(interface);
    print_saved(interface);
    out_ += '\n';
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

  /// The listing that FX prints: opcode, name, target, args, kwargs.
  static Table listing(const GraphEntry& graph) {
    ValueName name = [&](ValueId id) {
      return id < graph.value_names.size() ? graph.value_names[id] : fmt::format("%{}", id);
    };
    Table table({"opcode", "name", "target", "args", "kwargs"});
    for (const Input& input : graph.interface.inputs) {
      table.add({"placeholder", input.name, to_string(input.type), "()", "{}"});
    }
    for (const Call& call : graph.calls) {
      std::string args =
          to_string(Argument(Argument::Sequence{Argument::Sequence::Kind::tuple, call.args}), name);
      std::string kwargs = "{";
      for (const NamedArgument& argument : call.kwargs) {
        if (kwargs.size() > 1) kwargs += ", ";
        kwargs += quote(argument.name) + ": " + to_string(argument.value, name);
      }
      table.add({call.opcode, call.name, call.target, args, kwargs + "}"});
    }
    std::string outputs;
    for (const std::string& output : graph.outputs) {
      outputs += (outputs.empty() ? "" : ", ") + output;
    }
    table.add({"output", "output", "output", "(" + outputs + ")", "{}"});
    return table;
  }

  void print_gate(const GraphEntry& graph, const std::string& head) {
    const auto found = calls_.find(to_string(graph.interface.id));
    const std::string text = found == calls_.end() ? std::string() : gate_text(found->second->gate);
    if (!text.empty()) line("{}{}", head, text);
  }

  void print_guards(const Interface& interface) {
    for (const Guard& guard : interface.guards) {
      std::string where = place(guard.location);
      line("  guard {}{}", to_string(guard, interface.sources),
           where.empty() ? "" : "  # " + where);
    }
  }

  void print_excerpt(const std::optional<Location>& location) {
    if (!location) return;
    RenderOptions render;
    render.color = options_.color;
    out_ += excerpt(*location, render);
  }

  void print(const BreakEvent& event) {
    const CodeFacts* code = find_code(event.code);
    line("{} after [{}]: {}", strong(fmt::format("break {}", event.code)), to_string(event.after),
         code ? code->title : std::string_view("unknown code"));
    print_excerpt(event.location);
    if (!event.reason.empty()) line("  reason: {}", event.reason);
    if (!event.rule.empty()) line("  rule: {}", event.rule);
    if (code && !code->explanation.empty()) line("  explanation: {}", code->explanation);
    std::string_view hint = !event.hint.empty() ? event.hint : code ? code->hint : "";
    if (!hint.empty()) line("  hint: {}", hint);
    out_ += '\n';
  }

  void print(const RecompileEvent& event) {
    std::string head = event.limit ? "recompile limit reached"
                       : event.id.recompile >= 0
                           ? fmt::format("recompile [{}]", to_string(event.id))
                           : "no entry fits";
    line("{}", strong(head));
    for (const RecompileEvent::Entry& entry : event.entries) {
      for (const FailedGuard& failed : entry.failed) {
        line("  [{}] failed: {}", to_string(entry.id), failed.text);
        line("    expected {}, got {}", failed.expected, failed.actual);
        print_excerpt(failed.location);
        if (!failed.hint.empty()) line("    hint: {}", failed.hint);
      }
    }
    out_ += '\n';
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
    out_ += table.text(options_.width);
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
               report_.end && report_.end->root_ns > 0 && options_.summary
                   ? fmt::format("{:.1f}%", sum.pct_time)
                   : "-",
               share(sum.executed.compiled), share(sum.executed.library),
               share(sum.executed.fallback), std::to_string(sum.breaks),
               std::to_string(sum.recompiles), std::to_string(sum.bypasses)});
    out_ += table.text(options_.width);
    for (const GraphEntry& graph : report_.graphs) {
      if (options_.summary)
        print_gate(graph, fmt::format("[{}] gate: ", to_string(graph.interface.id)));
      if (!graph.shares) {
        line("[{}] could not be placed: {}", to_string(graph.interface.id), graph.not_placed);
      }
    }
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
