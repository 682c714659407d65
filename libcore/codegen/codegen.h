#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/kernel_bundle.h"
#include "diag/budget.h"
#include "fusion/loop_program.h"

namespace penstock::codegen {

struct CodegenOptions {
  /// LLVM CPU names, best first; "host": the x86-64 level of this machine, "native": exactly it.
  std::vector<std::string> cpus = {"host"};
  /// What code for a device is made for: NVIDIA's names of the oldest GPUs that are to run it.
  /// Those from Ampere on have the same code but for what they do not need.
  std::vector<std::string> gpus = {"sm_80"};
  int lanes = 0;             ///< 32-bit lanes of a vector: 8 or 16; 0: as the CPU is best used
  int threads = 0;           ///< threads that compile; 0: as many as there are CPUs
  Budget* budget = nullptr;  ///< asked whether to go on; null: always
};

/// Where generated code goes: a store of blobs with a cache in front. Called by one thread.
class CodeSink {
 public:
  virtual ~CodeSink() = default;
  /// The blob that was put for `key` before, on this machine or another; nothing: make it.
  virtual std::optional<std::string> find(std::string_view key) = 0;
  /// Keeps an ELF shared object and gives the name of its blob.
  virtual Result<std::string> put(std::string_view key, std::string_view elf) = 0;
};

/// What a run of the code generator came to, for --stats and --time.
struct CodegenStatistics {
  int kernels = 0;    ///< loop kernels of the program
  int functions = 0;  ///< after equal ones were joined
  int cached = 0;     ///< shared objects found in the cache
  std::int64_t compile_ns = 0, link_ns = 0, elf_bytes = 0;
};

/// The targets of a program: CPUs, or GPUs for one whose kernels run on a device.
const std::vector<std::string>& targets_of(const LoopProgram& program,
                                           const CodegenOptions& options);

/// Turns loop kernels into machine code: LLVM IR with explicit vectors, straight to ELF.
/// Needs: a loop program that fusion's contract holds for. Leaves: a bundle that runs without LLVM.
/// PS0702 for what has no machine code, PS0703 for a CPU that is not supported.
Result<KernelBundle> generate(const LoopProgram& program, const CodegenOptions& options,
                              CodeSink& sink, CodegenStatistics* statistics = nullptr);

/// What `codegen --emit` prints for people: the kernels for the first CPU of the options.
enum class CodeText : std::uint8_t { llvm, assembly, object };
Result<std::string> generate_text(const LoopProgram& program, const CodegenOptions& options,
                                  CodeText text);

}  // namespace penstock::codegen
