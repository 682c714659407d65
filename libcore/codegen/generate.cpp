#include <xxhash.h>

#include <chrono>
#include <unordered_map>

#include "bundle/kernel_abi.h"
#include "codegen/codegen.h"
#include "codegen/compile.h"
#include "codegen/work_estimate.h"
#include "fusion/tile.h"

namespace penstock::codegen {

namespace {

/// Raised with every change of what the generator makes of a structure key.
constexpr int kGeneratorVersion = 2;

std::string hash_text(std::string_view text) {
  XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return digits;
}

/// The program's kernels and the functions that serve them: equal structure, one function.
struct FunctionTable {
  std::vector<std::string> symbols;
  std::vector<std::unique_ptr<LoopKernel>> kernels;    ///< tiled, in order of steps
  std::vector<std::unique_ptr<Signature>> signatures;  ///< one per kernel
  std::vector<std::string> functions;                  ///< name per kernel
  std::vector<FunctionJob> jobs;                       ///< one per function
  std::string key;                                     ///< of all structures
};

FunctionTable tabulate(const LoopProgram& program) {
  FunctionTable table;
  for (const Symbol& symbol : program.interface.symbols) table.symbols.push_back(symbol.name);
  std::unordered_map<std::string, std::string> known;
  for (const ProgramStep& step : program.steps) {
    auto* scheduled = std::get_if<LoopKernel>(&step);
    if (scheduled == nullptr) continue;
    table.kernels.push_back(std::make_unique<LoopKernel>(fusion::tile_loops(*scheduled)));
    const LoopKernel& kernel = *table.kernels.back();
    table.signatures.push_back(
        std::make_unique<Signature>(signature_of(kernel, program.buffers)));
    const Signature& signature = *table.signatures.back();
    std::string key = structure_key(kernel, signature, program.buffers, table.symbols);
    auto [entry, fresh] = known.try_emplace(std::move(key), "");
    if (fresh) {
      entry->second = "f" + std::to_string(table.jobs.size());
      table.key += entry->first;
      table.jobs.push_back({&kernel, &signature, entry->second});
    }
    table.functions.push_back(entry->second);
  }
  return table;
}

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// The shared object for one CPU, from the cache or made.
Result<KernelBundle::Code> make_code(const LoopProgram& program, const FunctionTable& table,
                                     const Target& target, const CodegenOptions& options,
                                     CodeSink& sink, CodegenStatistics& statistics) {
  KernelBundle::Code code{target.cpu, target.features, {}};
  std::string key = hash_text("generator " + std::to_string(kGeneratorVersion) + " abi " +
                              std::to_string(PENSTOCK_KERNEL_ABI) + ' ' + target.cpu + ' ' +
                              std::to_string(target.lanes) + ' ' + table.key);
  if (auto blob = sink.find(key)) {
    ++statistics.cached;
    code.blob = std::move(*blob);
    return code;
  }
  std::int64_t start = now_ns();
  CompileContext context{program.buffers, table.symbols, target};
  auto objects = compile_objects(table.jobs, context, options.threads);
  if (!objects) return tl::unexpected(objects.error());
  std::int64_t compiled = now_ns();
  auto elf = link_shared_object(*objects);
  if (!elf) return tl::unexpected(elf.error());
  statistics.compile_ns += compiled - start;
  statistics.link_ns += now_ns() - compiled;
  statistics.elf_bytes += static_cast<std::int64_t>(elf->size());
  auto blob = sink.put(key, *elf);
  if (!blob) return tl::unexpected(blob.error());
  code.blob = std::move(*blob);
  return code;
}

KernelCall make_call(const LoopKernel& kernel, const Signature& signature,
                     const std::string& function, const std::vector<Buffer>& buffers) {
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
  return call;
}

}  // namespace

Result<KernelBundle> generate(const LoopProgram& program, const CodegenOptions& options,
                              CodeSink& sink, CodegenStatistics* statistics) {
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
  for (const std::string& cpu : options.cpus) {
    auto target = find_target(cpu, options.lanes);
    if (!target) return tl::unexpected(target.error());
    if (bundle.target.empty()) {
      bundle.target = target->cpu;
      bundle.features = target->features;
    }
    if (table.jobs.empty()) continue;
    auto code = make_code(program, table, *target, options, sink, counted);
    if (!code) return tl::unexpected(code.error());
    bundle.code.push_back(std::move(*code));
  }
  std::size_t next = 0;
  for (const ProgramStep& step : program.steps) {
    if (auto* kernel = std::get_if<LoopKernel>(&step)) {
      bundle.steps.push_back(
          make_call(*kernel, *table.signatures[next], table.functions[next], program.buffers));
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

Result<std::string> generate_text(const LoopProgram& program, const CodegenOptions& options,
                                  CodeText text) {
  FunctionTable table = tabulate(program);
  auto target = find_target(options.cpus.empty() ? "host" : options.cpus.front(), options.lanes);
  if (!target) return tl::unexpected(target.error());
  return compile_text(table.jobs, {program.buffers, table.symbols, *target}, text);
}

}  // namespace penstock::codegen
