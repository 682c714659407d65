#include <fmt/format.h>

#include <iterator>

#include "tools/report/advice.h"
#include "tools/report/listing.h"
#include "tools/report/report.h"

namespace penstock::report {

namespace {

/// Rows of advice that a merge request is shown.
constexpr std::size_t kRows = 10;

/// Text from documents as Markdown that shows it: nothing in it is markup, a link or a tag.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '\n' || c == '\r') {
      out += ' ';
    } else {
      if (std::string_view("\\`*_{}[]()#+!|~@").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const Report& report) : report_(report) {}

  std::string all() {
    head();
    advice();
    figures();
    graphs();
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void line(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Parts>(parts)...);
    out_ += '\n';
  }

  void head() {
    std::string command;
    for (const std::string& word : report_.argv) command += (command.empty() ? "" : " ") + word;
    line("### penstock: {}\n", escaped(command.empty() ? "program" : command));
    if (!report_.end) line("The stream has no end: it was cut off.\n");
    if (report_.end && report_.end->exit_status != 0)
      line("The program ended with status {}.\n", report_.end->exit_status);
  }

  void advice() {
    line("**What to do first**\n");
    const std::vector<Advice> rows = advise(report_);
    for (std::size_t i = 0; i < rows.size() && i < kRows; ++i) {
      const Advice& row = rows[i];
      std::string text = fmt::format("{}. {}{}", i + 1, row.code.empty() ? "" : row.code + " ",
                                     escaped(row.title));
      if (row.cost_ns > 0) text += fmt::format(" ({})", duration(row.cost_ns));
      if (row.location)
        text += fmt::format(" at {}:{}", escaped(row.location->file.text()), row.location->line);
      if (!row.detail.empty()) text += ": " + escaped(row.detail);
      line("{}", text);
      if (!row.hint.empty()) line("   - {}", escaped(row.hint));
    }
    if (rows.size() > kRows) line("{}. and {} more", kRows + 1, rows.size() - kRows);
    out_ += '\n';
  }

  void figures() {
    const Summary sum = summarize(report_);
    line("| graphs | calls | ops in graphs | of ops | of time | breaks | recompiles | given up |");
    line("|---:|---:|---:|---:|---:|---:|---:|---:|");
    const bool timed = report_.end && report_.end->root_ns > 0;
    line("| {} | {} | {} of {} | {:.1f}% | {} | {} | {} | {} |\n", sum.graphs, sum.graph_calls,
         sum.captured_ops, sum.total_ops, sum.pct_ops,
         timed ? fmt::format("{:.1f}%", sum.pct_time) : "–", sum.breaks, sum.recompiles,
         sum.bypasses);
  }

  void graphs() {
    if (report_.graphs.empty()) return;
    line("<details><summary>{} graphs</summary>\n", report_.graphs.size());
    line("| graph | function | where | ops | guards | recompiles |");
    line("|---|---|---|---:|---:|---:|");
    for (const auto& segment : segments_of(report_)) {
      const GraphEntry& graph = report_.graphs[segment.front()];
      const std::optional<Location>& location = graph.interface.location;
      line("| {} | {} | {} | {} | {} | {} |", escaped(to_string(graph.interface.id)),
           escaped(graph.interface.name),
           location ? escaped(fmt::format("{}:{}", location->file.text(), location->line)) : "",
           graph.ops, graph.interface.guards.size(), segment.size() - 1);
    }
    line("\n</details>");
  }

  const Report& report_;
  std::string out_;
};

}  // namespace

std::string to_markdown(const Report& report) {
  return Writer(report).all();
}

}  // namespace penstock::report
