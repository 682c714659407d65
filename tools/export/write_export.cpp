#include "tools/export/write_export.h"

#include <fmt/format.h>

#include <variant>

#include "formats/pack.h"
#include "formats/seal.h"
#include "ir/call_location.h"
#include "ir/export_contract.h"
#include "pipeline/compile.h"
#include "pipeline/stored_code.h"
#include "tools/common/pass_printer.h"
#include "tools/common/transform.h"

namespace penstock::tools {

namespace {

/// PS0801 for what no file without torch can run.
Result<void> check_fallbacks(const KernelBundle& bundle) {
  for (const BundleStep& step : bundle.steps) {
    const auto* call = std::get_if<FallbackCall>(&step);
    if (call == nullptr) continue;
    auto needed = failure(Code::PS0801, fmt::format("{} needs torch: {}", call->op, call->reason));
    needed.value().location = location_of(bundle.calls, call->calls);
    return needed;
  }
  return {};
}

Result<formats::GraphDocument> compile_call(Stage& stage, const CompileLimits& limits,
                                            formats::GraphDocument document, store::Store& store) {
  const formats::Meta meta = document.meta;
  auto& graph = std::get<Graph>(document.graph);
  leave_program(graph.interface);
  PassPrinter passes(stage);
  passes.begin(to_string(graph.interface.id), [&] { return text_of(document); });
  pipeline::StoredCode sink(store);
  pipeline::CompileOptions how;
  how.limits = limits;
  auto bundle = pipeline::compile(std::move(graph), how, sink, passes);
  if (!bundle) return tl::unexpected(with_readable_file(std::move(bundle.error()), meta));
  if (auto alone = check_fallbacks(*bundle); !alone)
    return tl::unexpected(with_readable_file(std::move(alone.error()), meta));
  // Where no record can be kept, `run` asks for trust.
  static_cast<void>(formats::trust_code(*bundle, store));
  return formats::GraphDocument{std::move(*bundle), meta};
}

/// The graph as it was recorded but for the tensors of that call, and what is put back.
Result<formats::PackMember> captured_graph(formats::GraphDocument document) {
  auto& interface = std::get<Graph>(document.graph).interface;
  std::vector<Guard> guards = interface.guards;  // they tell the containers of the arguments
  leave_program(interface);
  interface.guards = std::move(guards);
  auto bytes = formats::encode(document, {});
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  return formats::PackMember{std::string(formats::kCapturedGraph), std::move(*bytes)};
}

}  // namespace

Result<void> write_export(Stage& stage, const std::string& output, formats::ProgramDocument program,
                          formats::GraphDocument graph, store::Store& store,
                          const CompileLimits& limits) {
  auto captured = captured_graph(graph);
  if (!captured) return tl::unexpected(std::move(captured.error()));
  auto compiled = compile_call(stage, limits, std::move(graph), store);
  if (!compiled) return tl::unexpected(std::move(compiled.error()));
  auto timer = stage.phase("pack");
  return formats::write_pack(output,
                             {std::move(program), std::move(*compiled), formats::EndDocument{}},
                             store, {std::move(*captured)});
}

}  // namespace penstock::tools
