#include "tools/export/export_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "ir/declared_sizes.h"
#include "ir/export_contract.h"
#include "tools/capture/run_capture.h"
#include "tools/common/temporary_folder.h"
#include "tools/common/transform.h"
#include "tools/export/recorded_call.h"
#include "tools/export/write_export.h"

namespace penstock::tools {

namespace {

/// Runs the program; its documents are in `file` then. False: it failed, which is the answer.
Result<bool> record(Stage& stage, const ExportOptions& options,
                    const std::vector<std::string>& words, const std::string& file) {
  auto timer = stage.phase("program");
  auto python = check_surroundings(options.program);
  if (!python) return tl::unexpected(python.error());
  auto output = Output::open(file);
  if (!output) return tl::unexpected(output.error());
  auto recorded = record_program(stage, options.program, words, std::move(*python), *output, false);
  if (!recorded) return tl::unexpected(recorded.error());
  if (recorded->outcome.exit_status != 0 || recorded->outcome.signal != 0) {
    stage.answer(status(Exit::program));
    return false;
  }
  if (auto kept = output->commit(); !kept) return tl::unexpected(kept.error());
  return true;
}

/// Reports every reason why the graph is not what was declared; the last one is the error.
Result<void> check_declared(Stage& stage, const RecordedCall& call, const std::string& text) {
  auto declared = parse_declared_sizes(text);
  if (!declared) return tl::unexpected(declared.error());
  auto broken = broken_declarations(formats::interface_of(call.graph), *declared);
  if (broken.empty()) return {};
  for (Diagnostic& reason : broken) reason = with_readable_file(std::move(reason), call.graph.meta);
  for (std::size_t i = 0; i + 1 < broken.size(); ++i) stage.report(broken[i]);
  return tl::unexpected(std::move(broken.back()));
}

/// What whoever calls the file has to know and the program did not say.
void tell(Stage& stage, const RecordedCall& call) {
  const Interface& interface = formats::interface_of(call.graph);
  for (const Guard& guard : interface.guards) {
    if (!guard.condition) continue;
    stage.report(with_readable_file(
        {Code::PS0806,
         fmt::format("the file is for sizes with {}, which a line of the program asks for",
                     to_string(*guard.condition)),
         guard.location,
         {},
         "run refuses others, with this line.",
         Severity::note},
        call.graph.meta));
  }
  for (const formats::RecompileDocument& later : call.later) {
    for (const auto& entry : later.event.entries) {
      if (entry.id.recompile != 0 || entry.failed.empty()) continue;
      const FailedGuard& failed = entry.failed.front();
      stage.report(with_readable_file(
          {Code::PS0501,
           fmt::format("a later call of {} is not served: {} is {}, and {} was exported",
                       interface.name, failed.source, failed.actual, failed.expected),
           failed.location,
           {},
           {},
           Severity::warning},
          later.meta));
    }
  }
  const bool changes = std::ranges::any_of(interface.restore, [](const Restore& restore) {
    return restore.kind >= Restore::Kind::cell;
  });
  if (changes) {
    stage.report(
        {Code::PS0305,
         fmt::format("{} also changes Python objects, which the file does not", interface.name),
         interface.location,
         {},
         {},
         Severity::warning});
  }
}

}  // namespace

Result<void> export_program(Stage& stage, ExportOptions options,
                            const std::vector<std::string>& words) {
  const std::string& output = stage.settings().output;
  if (output.empty() || output == "-")
    return failure(Code::PS0101, "an exported file needs a name: -o FILE");
  if (auto sizes = parse_declared_sizes(options.program.dynamic_sizes); !sizes)
    return tl::unexpected(sizes.error());
  options.program.dynamic = "declared";
  if (!options.function.empty()) options.program.only = {options.function};
  auto store = store::Store::open(options.program.store);
  if (!store) return tl::unexpected(store.error());
  const TemporaryFolder work("penstock-export");
  if (work.path().empty()) return failure(Code::PS0103, "there is no folder for temporary files");
  const std::string stream = work.path() / "stream.cbor";
  auto ended = record(stage, options, words, stream);
  if (!ended || !*ended) return ended ? Result<void>() : tl::unexpected(ended.error());
  auto call = find_call(stage, stream, options.function);
  if (!call) return tl::unexpected(call.error());
  if (auto right = check_declared(stage, *call, options.program.dynamic_sizes); !right)
    return right;
  tell(stage, *call);
  return write_export(stage, output, std::move(call->program), std::move(call->graph), *store,
                      options.limits);
}

}  // namespace penstock::tools
