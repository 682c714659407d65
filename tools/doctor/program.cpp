#include "tools/doctor/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "diag/render.h"
#include "tools/common/child.h"
#include "tools/common/launch.h"
#include "tools/common/temporary_folder.h"
#include "tools/common/transform.h"
#include "tools/doctor/printed.h"
#include "tools/report/advice.h"
#include "tools/report/gather.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

/// A screen holds so many.
constexpr std::size_t kAdvice = 6;
constexpr std::size_t kLongestLine = 100;

/// The program in plain Python and compiled.
struct Runs {
  ChildOutcome plain, compiled;
  report::Report report;
};

std::vector<std::string> compiled_command(const TrialOptions& options, const std::string& documents,
                                          const Stage& stage,
                                          const std::vector<std::string>& words) {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> command = {own / "penstock-run", "--color=never", "-o", documents};
  if (!options.python.empty()) command.push_back("--python=" + options.python);
  if (!options.store.empty()) command.push_back("--store=" + options.store);
  const auto& python = stage.settings().python;
  command.insert(command.end(), python.begin(), python.end());
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

std::vector<std::string> plain_command(const std::string& python, const Stage& stage,
                                       const std::vector<std::string>& words) {
  std::vector<std::string> command = {python};
  const auto& options = stage.settings().python;
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

std::string cut(const std::string& text) {
  const std::string shown = printable(text);
  return shown.size() <= kLongestLine ? shown : shown.substr(0, kLongestLine) + "…";
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

std::string times_of(const Runs& runs) {
  std::string out = fmt::format("times      plain Python {:.2f} s, compiled {:.2f} s",
                                runs.plain.seconds, runs.compiled.seconds);
  if (const auto& end = runs.report.end; end && end->compile_ns > 0) {
    out +=
        fmt::format(", {} of them compiling", report::duration(end->capture_ns + end->compile_ns));
  }
  return out + "\n";
}

std::string captured_of(const report::Report& report) {
  const report::Summary sum = report::summarize(report);
  return fmt::format(
      "captured   {:.1f}% of ops in {} graphs, {:.1f}% of the time of what is "
      "compiled; {} breaks, {} recompiles\n",
      sum.pct_ops, sum.graphs, sum.pct_time, sum.breaks, sum.recompiles);
}

std::string advice_of(const report::Report& report) {
  const auto rows = report::advise(report);
  std::string out = "\nWhat to change first\n";
  for (std::size_t i = 0; i < rows.size() && i < kAdvice; ++i) {
    const report::Advice& row = rows[i];
    out +=
        fmt::format("{:>2}. {}{}", i + 1, row.code.empty() ? "" : row.code + " ", cut(row.title));
    if (row.cost_ns > 0) out += "  " + report::duration(row.cost_ns);
    out += "\n";
    if (row.location)
      out += cut(fmt::format("    {}:{}: {}", row.location->file.text(), row.location->line,
                             row.detail)) +
             "\n";
    if (!row.hint.empty()) out += cut("    " + row.hint) + "\n";
  }
  if (rows.size() > kAdvice)
    out += fmt::format("    and {} more: penstock report\n", rows.size() - kAdvice);
  return out;
}

/// Whether both runs ended and printed the same, as a line; false where they did not.
class Comparison {
 public:
  explicit Comparison(const std::vector<std::string>& plain) : plain_(plain) {}

  std::pair<std::string, bool> of(const Runs& runs, const fs::path& folder) const {
    if (runs.plain.status != runs.compiled.status) {
      return {
          fmt::format("output     ! plain Python ended with status {}, compiled with {}: {}\n",
                      runs.plain.status, runs.compiled.status, cut(last_line(runs.compiled.said))),
          false};
    }
    const PrintedDifference found = compare_printed(runs.plain.printed, runs.compiled.printed);
    switch (found.kind) {
      case PrintedDifference::Kind::same:
        return {fmt::format("output     the same: {} lines\n", found.lines), true};
      case PrintedDifference::Kind::rounded:
        return {fmt::format("output     the same but for rounding: {} lines\n", found.lines), true};
      case PrintedDifference::Kind::differs:
        break;
    }
    const std::string where = fmt::format("           plain:    {}\n           compiled: {}\n",
                                          cut(found.first), cut(found.second));
    const ChildOutcome again = run_child(plain_, folder, 0);
    if (compare_printed(runs.plain.printed, again.printed).kind ==
        PrintedDifference::Kind::differs) {
      return {fmt::format("output     - the program prints something else each time (line {}), "
                          "also in plain Python: set its seeds to compare\n",
                          found.line),
              true};
    }
    return {fmt::format("output     ! line {} differs; please report it\n{}", found.line, where),
            false};
  }

 private:
  const std::vector<std::string>& plain_;  ///< runs it in plain Python
};

}  // namespace

Result<void> examine_program(Stage& stage, const TrialOptions& options,
                             const std::vector<std::string>& words) {
  const auto python = find_python(options.python);
  if (!python) return tl::unexpected(python.error());
  const TemporaryFolder folder("penstock-doctor");
  if (folder.path().empty()) {
    return failure(Code::PS0106,
                   fmt::format("no temporary folder can be made: {}", strerror(errno)));
  }
  const std::string documents = folder.path() / "documents";
  const std::vector<std::string> plain = plain_command(*python, stage, words);
  Runs runs;
  runs.plain = run_child(plain, folder.path(), 0);
  runs.compiled = run_child(compiled_command(options, documents, stage, words), folder.path(), 0);
  // What was not written tells its reason on standard error of the program.
  (void)for_each_document(stage, documents, [&](formats::Document document, const auto&) {
    report::add(document, runs.report, report::Depth::places);
    return Result<void>();
  });
  const auto [output, same] = Comparison(plain).of(runs, folder.path());
  std::string text = output;
  if (runs.plain.status != 0) {
    text += fmt::format("program    ! plain Python itself ends with status {}: {}\n",
                        runs.plain.status, cut(last_line(runs.plain.said)));
  }
  text += times_of(runs) + captured_of(runs.report) + advice_of(runs.report);
  if (!same || runs.plain.status != 0) stage.answer(status(Exit::negative));
  return stage.write(text);
}

}  // namespace penstock::tools
