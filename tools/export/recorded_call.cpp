#include "tools/export/recorded_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "tools/common/transform.h"

namespace penstock::tools {

namespace {

using formats::Document;
using formats::GraphDocument;

/// The documents of the run that matter.
struct Run {
  formats::ProgramDocument program;
  std::vector<GraphDocument> graphs;
  std::vector<formats::BreakDocument> breaks;
  std::vector<formats::SkipDocument> skips;
  std::vector<formats::RecompileDocument> recompiles;
};

Result<Run> read_run(Stage& stage, const std::string& file) {
  Run run;
  const auto keep = [&](Document document, const formats::DocumentReader&) -> Result<void> {
    if (auto* program = std::get_if<formats::ProgramDocument>(&document)) {
      run.program = std::move(*program);
    } else if (auto* graph = std::get_if<GraphDocument>(&document)) {
      run.graphs.push_back(std::move(*graph));
    } else if (auto* broken = std::get_if<formats::BreakDocument>(&document)) {
      run.breaks.push_back(std::move(*broken));
    } else if (auto* skip = std::get_if<formats::SkipDocument>(&document)) {
      run.skips.push_back(std::move(*skip));
    } else if (auto* again = std::get_if<formats::RecompileDocument>(&document)) {
      run.recompiles.push_back(std::move(*again));
    }
    return {};
  };
  if (auto read = for_each_document(stage, file, keep); !read) return tl::unexpected(read.error());
  return run;
}

bool is_whole(const Interface& interface) {
  return interface.end.kind == SegmentEnd::Kind::returned && interface.after.empty();
}

/// What broke the graph, the first place with its way out; the others are told of.
tl::unexpected<Diagnostic> not_whole(Stage& stage, const Run& run, const std::string& name) {
  auto wrong = failure(Code::PS0805, fmt::format("the call of {} is not one graph", name));
  for (std::size_t i = 0; i < run.breaks.size(); ++i) {
    const auto& [event, meta] = run.breaks[i];
    const CodeFacts* code = find_code(event.code);
    Diagnostic broken{code == nullptr ? Code::PS0601 : code->code,
                      "the graph breaks here: " + event.reason,
                      event.location,
                      {},
                      event.hint,
                      Severity::warning};
    if (i > 0) {
      stage.report(with_readable_file(std::move(broken), meta));
      continue;
    }
    broken.code = wrong.value().code;
    broken.severity = Severity::error;
    broken.message =
        fmt::format("{}, it breaks here ({}): {}", wrong.value().message, event.code, event.reason);
    wrong.value() = with_readable_file(std::move(broken), meta);
  }
  return wrong;
}

tl::unexpected<Diagnostic> no_call(const Run& run, const std::string& function) {
  auto none =
      failure(Code::PS0101, function.empty() ? "the program has called no function with tensor code"
                                             : fmt::format("no call of {} was recorded", function));
  none.value().hint =
      "--function takes the qualified name of a function that the program calls, as "
      "Net.forward: penstock capture PROGRAM | penstock report shows them.";
  if (!run.skips.empty()) {
    none.value().message += fmt::format("; {} was left to Python: {}", run.skips.front().event.name,
                                        run.skips.front().event.reason);
  }
  return none;
}

/// Functions that the program called by themselves, one behind the other.
std::vector<std::string> functions_of(const Run& run) {
  std::set<std::string> names;
  for (const GraphDocument& graph : run.graphs) names.insert(formats::interface_of(graph).name);
  return {names.begin(), names.end()};
}

}  // namespace

Result<RecordedCall> find_call(Stage& stage, const std::string& file, const std::string& function) {
  auto run = read_run(stage, file);
  if (!run) return tl::unexpected(run.error());
  if (run->graphs.empty() && run->breaks.empty()) return no_call(*run, function);
  const auto names = functions_of(*run);
  if (names.size() > 1 && function.empty()) {
    auto several = failure(
        Code::PS0101, fmt::format("the program calls {} functions with tensor code", names.size()));
    several.value().hint = fmt::format("Say which with --function: {}.", fmt::join(names, ", "));
    return several;
  }
  const bool whole = !run->graphs.empty() && is_whole(formats::interface_of(run->graphs.front()));
  if (!whole) return not_whole(stage, *run, names.empty() ? function : names.front());
  RecordedCall call{std::move(run->program), std::move(run->graphs.front()), {}};
  const std::int64_t frame = formats::interface_of(call.graph).id.frame;
  for (formats::RecompileDocument& later : run->recompiles) {
    if (later.event.id.frame == frame) call.later.push_back(std::move(later));
  }
  return call;
}

}  // namespace penstock::tools
