#include <chrono>

#include "codegen/compiler.h"
#include "codegen/function_table.h"

namespace penstock::codegen {

namespace {

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

Result<std::string> make_elf(const std::vector<FunctionJob>& jobs, const CompileContext& context,
                             int threads, CodegenStatistics& statistics) {
  const std::int64_t start = now_ns();
  auto objects = compile_objects(jobs, context, threads);
  if (!objects) return tl::unexpected(objects.error());
  const std::int64_t compiled = now_ns();
  auto elf = link_shared_object(*objects);
  if (!elf) return elf;
  statistics.compile_ns += compiled - start;
  statistics.link_ns += now_ns() - compiled;
  statistics.elf_bytes += static_cast<std::int64_t>(elf->size());
  return elf;
}

Result<std::string> make_ptx(const std::vector<FunctionJob>& jobs, const CompileContext& context,
                             CodegenStatistics& statistics) {
  const std::int64_t start = now_ns();
  auto text = compile_text(jobs, context, CodeText::assembly);
  statistics.compile_ns += now_ns() - start;
  if (text) statistics.elf_bytes += static_cast<std::int64_t>(text->size());
  return text;
}

}  // namespace

const Compiler& local_compiler() {
  static constexpr Compiler compiler{find_target, make_elf, make_ptx};
  return compiler;
}

Result<KernelBundle> generate(const LoopProgram& program, const CodegenOptions& options,
                              CodeSink& sink, CodegenStatistics* statistics) {
  return generate(program, options, sink, statistics,
                  [] { return Result<const Compiler*>(&local_compiler()); });
}

Result<std::string> generate_text(const LoopProgram& program, const CodegenOptions& options,
                                  CodeText text) {
  FunctionTable table = tabulate(program);
  const std::vector<std::string>& names = targets_of(program, options);
  auto target = find_target(names.empty() ? "host" : names.front(), options.lanes);
  if (!target) return tl::unexpected(target.error());
  return compile_text(table.jobs, {program.buffers, table.symbols, *target}, text);
}

}  // namespace penstock::codegen
