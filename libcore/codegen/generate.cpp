// What is made of a program without LLVM: calls, keys of the cache, and the code itself where the
// cache has it.
#include <xxhash.h>

#include <algorithm>

#include "bundle/kernel_abi.h"
#include "codegen/compiler.h"
#include "codegen/function_table.h"
#include "codegen/work_estimate.h"
#include "fusion/loops.h"

namespace penstock::codegen {

using fusion::Body;

namespace {

/// Raised with every change of what the generator makes of a structure key.
constexpr int kGeneratorVersion = 5;

std::string hash_text(std::string_view text) {
  XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return digits;
}

/// The shared object for one CPU, from the cache or made.
Result<KernelBundle::Code> make_code(const LoopProgram& program, const FunctionTable& table,
                                     const Target& target, const CodegenOptions& options,
                                     CodeSink& sink, const OpenCompiler& open,
                                     CodegenStatistics& statistics) {
  KernelBundle::Code code{target.cpu, target.features, {}};
  if (target.device) code.format = "ptx";
  std::string key = hash_text("generator " + std::to_string(kGeneratorVersion) + " abi " +
                              std::to_string(PENSTOCK_KERNEL_ABI) + ' ' + target.cpu + ' ' +
                              std::to_string(target.lanes) + ' ' + table.key);
  if (auto blob = sink.find(key)) {
    ++statistics.cached;
    code.hash = code.blob = std::move(*blob);
    return code;
  }
  auto compiler = open();
  if (!compiler) return tl::unexpected(compiler.error());
  CompileContext context{program.buffers, table.symbols, target, options.budget};
  auto elf = target.device
                 ? (*compiler)->make_ptx(table.jobs, context, statistics)
                 : (*compiler)->make_elf(table.jobs, context, options.threads, statistics);
  if (!elf) return tl::unexpected(elf.error());
  if (auto may = check(options.budget, "loading"); !may)
    return tl::unexpected(std::move(may.error()));
  auto blob = sink.put(key, *elf);
  if (!blob) return tl::unexpected(blob.error());
  code.hash = code.blob = std::move(*blob);
  return code;
}

/// Blocks that give each group of iterations bound to a dim a thread. What a loop around decides is
/// left to one block.
void add_blocks(const Body& body, const LoopKernel& kernel, Launch& launch) {
  const auto blocks = [](const Loop& loop, std::int64_t threads) {
    const std::int64_t neighbours = std::clamp<std::int64_t>(loop.schedule.unroll, 1, 8);
    const std::int64_t each = threads * (loop.schedule.vectorize ? neighbours : 1);
    bool fixed = true;
    loop.extent.for_each_symbol([&](std::string_view name) { fixed &= name.front() == 's'; });
    return fixed ? floordiv(loop.extent + (each - 1), each) : SymExpr(1);
  };
  for (const Statement& statement : body) {
    const Loop* loop = fusion::as_loop(statement);
    if (loop == nullptr) continue;
    const Bind bind = loop->schedule.bind;
    if (bind == Bind::global_x) launch.grid_x = blocks(*loop, kernel.block_x);
    if (bind == Bind::global_y) launch.grid_y = blocks(*loop, kernel.block_y);
    if (bind == Bind::global_z) launch.grid_z = blocks(*loop, 1);
    add_blocks(loop->body, kernel, launch);
  }
}

KernelCall make_call(const LoopKernel& kernel, const Signature& signature,
                     const std::string& function, const std::vector<Buffer>& buffers,
                     bool is_device) {
  KernelCall call;
  call.name = kernel.name;
  call.function = function;
  call.buffers = signature.buffers;
  if (signature.parallel != nullptr) {
    call.extent = signature.parallel->extent;
    call.parallel = true;
    call.grain = signature.parallel->schedule.grain;
  }
  call.scratch_bytes = signature.scratch_bytes;
  WorkEstimate work = estimate_work(kernel, buffers);
  call.flops = work.flops;
  call.bytes = work.bytes;
  call.calls = kernel.calls;
  if (is_device) {
    Launch& launch = call.launch.emplace();
    launch.block_x = kernel.block_x;
    launch.block_y = kernel.block_y;
    add_blocks(kernel.body, kernel, launch);
  }
  return call;
}

Result<Target> target_of(const std::string& cpu, int lanes, const OpenCompiler& open) {
  if (auto level = level_target(cpu, lanes)) return *level;
  auto compiler = open();
  return compiler ? (*compiler)->find_target(cpu, lanes) : tl::unexpected(compiler.error());
}

}  // namespace

const std::vector<std::string>& targets_of(const LoopProgram& program,
                                           const CodegenOptions& options) {
  return program.device == "cpu" ? options.cpus : options.gpus;
}

Result<KernelBundle> generate(const LoopProgram& program, const CodegenOptions& options,
                              CodeSink& sink, CodegenStatistics* statistics,
                              const OpenCompiler& open) {
  CodegenStatistics counted;
  FunctionTable table = tabulate(program);
  counted.kernels = static_cast<int>(table.functions.size());
  counted.functions = static_cast<int>(table.jobs.size());
  KernelBundle bundle;
  bundle.interface = program.interface;
  bundle.calls = program.calls;
  bundle.abi = PENSTOCK_KERNEL_ABI;
  bundle.symbols = table.symbols;
  bundle.buffers = program.buffers;
  bundle.outputs = program.outputs;
  bundle.arena_bytes = program.arena_bytes;
  bundle.device = program.device;
  for (const std::string& cpu : targets_of(program, options)) {
    auto target = target_of(cpu, options.lanes, open);
    if (!target) return tl::unexpected(target.error());
    if (bundle.target.empty()) {
      bundle.target = target->cpu;
      bundle.features = target->features;
    }
    if (table.jobs.empty()) continue;
    auto code = make_code(program, table, *target, options, sink, open, counted);
    if (!code) return tl::unexpected(code.error());
    bundle.code.push_back(std::move(*code));
  }
  std::size_t next = 0;
  for (const ProgramStep& step : program.steps) {
    if (auto* kernel = std::get_if<LoopKernel>(&step)) {
      bundle.steps.push_back(make_call(*kernel, *table.signatures[next], table.functions[next],
                                       program.buffers, program.device != "cpu"));
      ++next;
    } else if (auto* library = std::get_if<LibraryCall>(&step)) {
      bundle.steps.push_back(*library);
    } else {
      bundle.steps.push_back(std::get<FallbackCall>(step));
    }
  }
  if (statistics != nullptr) *statistics = counted;
  return bundle;
}

}  // namespace penstock::codegen
