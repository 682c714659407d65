// Stage codegen: loop programs in, bundles of machine code out.
#include "codegen/codegen.h"

#include <fmt/format.h>

#include "formats/seal.h"
#include "pipeline/codegen_library.h"
#include "pipeline/stored_code.h"
#include "tools/common/compile_limits.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

/// What can be printed instead of a bundle.
constexpr struct {
  std::string_view name;
  codegen::CodeText text;
} kTexts[] = {{"llvm", codegen::CodeText::llvm},
              {"assembly", codegen::CodeText::assembly},
              {"object", codegen::CodeText::object}};

/// --probe: what this machine can do at most.
Result<void> probe(Stage& stage, const codegen::CodegenLibrary& library,
                   const codegen::CodegenOptions& how) {
  Result<codegen::Roofs> roofs = library.probe(how);
  if (!roofs) return tl::unexpected(roofs.error());
  std::string out =
      fmt::format("{}, vectors of {} x 32 bits\n{:.1f} GFLOP/s (float32, one thread)\n", roofs->cpu,
                  roofs->lanes, roofs->fma_gflops);
  for (const auto& copy : roofs->copies) {
    out +=
        fmt::format("{:.1f} GB/s on buffers of {} bytes\n", copy.gigabytes_per_second, copy.bytes);
  }
  return stage.write(out);
}

Result<void> print_code(Stage& stage, const codegen::CodegenLibrary& library,
                        const codegen::CodegenOptions& how, codegen::CodeText text) {
  if (text == codegen::CodeText::object && stage.settings().output.empty() && is_terminal(1)) {
    return failure(Code::PS0104, "an object file would go to the terminal");
  }
  auto print = [&](formats::Document document, const formats::DocumentReader&) -> Result<void> {
    const auto* graph = std::get_if<formats::GraphDocument>(&document);
    if (graph == nullptr) return {};
    if (auto right = formats::expect_level(*graph, Level::loops); !right) return right;
    auto code = library.generate_text(std::get<LoopProgram>(graph->graph), how, text);
    return code ? stage.write(*code) : tl::unexpected(code.error());
  };
  return for_each_document(stage, stage.inputs().front(), print);
}

void count(Stage& stage, const codegen::CodegenStatistics& statistics) {
  stage.count("kernels", statistics.kernels);
  stage.count("functions", statistics.functions);
  stage.count("shared objects from the cache", statistics.cached);
  stage.count("bytes of machine code", statistics.elf_bytes);
  stage.add_time("compile", std::chrono::nanoseconds(statistics.compile_ns));
  stage.add_time("link", std::chrono::nanoseconds(statistics.link_ns));
}

}  // namespace

int main(int argc, char** argv) {
  codegen::CodegenOptions how;
  std::vector<std::string> cpus;
  std::string directory;
  bool only_probe = false;
  CompileLimits limits;
  Stage stage(find_tool("codegen"), argc, argv,
              {.emits = {"json", "cbor", "text", "llvm", "assembly", "object"}});
  CommandLine& options = stage.options();
  options.texts(
      "--cpu", cpus, "CPU",
      "Make code for CPU, LLVM's name; `host` is this machine's level, `native` exactly it. "
      "Several: best first.");
  options.integer("--lanes", how.lanes, "N", "Use vectors of N 32-bit lanes, 8 or 16.");
  options.integer("--threads", how.threads, "N", "Compile with N threads.");
  declare(options, limits);
  options.text("--store", directory, "DIR", "Keep machine code in DIR.");
  options.flag("--probe", only_probe,
               "Measure what this machine can do at most, and compile nothing.");

  std::optional<store::Store> store;
  codegen::CodegenStatistics statistics;
  auto compile = [&](const LoopProgram& program, PassTrace&) -> Result<KernelBundle> {
    if (!store) {
      auto opened = store::Store::open(directory);
      if (!opened) return tl::unexpected(opened.error());
      store.emplace(std::move(*opened));
    }
    pipeline::StoredCode sink(*store);
    Budget budget(limits);
    codegen::CodegenOptions bounded = how;
    bounded.budget = &budget;
    auto bundle = pipeline::generate_code(program, bounded, sink, &statistics);
    // Where no record can be kept, `run` asks for trust.
    if (bundle) static_cast<void>(formats::trust_code(*bundle, *store));
    return bundle;
  };
  return stage.run([&](Stage&) -> Result<void> {
    if (!cpus.empty()) how.cpus = cpus;
    for (const auto& [name, text] : kTexts) {
      if (!only_probe && stage.settings().emit != name) continue;
      auto library = pipeline::open_codegen();
      if (!library) return tl::unexpected(library.error());
      return only_probe ? probe(stage, **library, how) : print_code(stage, **library, how, text);
    }
    Result<void> done =
        transform_documents(stage, Level::loops, graph_rewrite<LoopProgram>(compile));
    count(stage, statistics);
    return done;
  });
}
