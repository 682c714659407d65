#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/buffer.h"
#include "ir/graph.h"
#include "ir/interface.h"

namespace penstock {

/// How a kernel of a device is started: blocks along x, y and z, and threads of a block. What is
/// bound to a dim works for any number of blocks, so that a launch may take fewer.
struct Launch {
  SymExpr grid_x = 1, grid_y = 1, grid_z = 1;
  std::int32_t block_x = 1, block_y = 1;
};

/// A call of a function of the bundle's ELF (bundle/kernel_abi.h).
struct KernelCall {
  std::string name;                ///< of the loop kernel, for profiles: "k0_add_gelu"
  std::string function;            ///< symbol in the ELF; kernels of equal structure share one
  std::vector<BufferId> buffers;   ///< the function's buffers, in its order
  SymExpr extent = 1;              ///< iterations of the outermost loop
  bool parallel = false;           ///< iterations may be split among threads
  std::int64_t grain = 1;          ///< least iterations per thread
  std::int64_t scratch_bytes = 0;  ///< per thread
  SymExpr flops = 0, bytes = 0;    ///< of one run, for --profile
  std::vector<std::int32_t> calls;
  std::optional<Launch> launch = {};  ///< of bundles for a device
};

using BundleStep = std::variant<KernelCall, LibraryCall, FallbackCall>;

/// Level `kernels`: all that `run` needs. Needs no LLVM and no Python.
struct KernelBundle {
  Interface interface;
  std::vector<Call> calls;
  std::int32_t abi = 1;               ///< PENSTOCK_KERNEL_ABI
  std::string target;                 ///< "x86-64-v3", "x86-64-v4", "znver5"
  std::vector<std::string> features;  ///< CPU features that must be there: "avx512f", "fma" …
  /// ELF shared object: hash in the store; several for several --cpu, best first. Empty: no kernel.
  struct Code {
    std::string target;
    std::vector<std::string> features;
    std::string blob;
    std::string hash = {};  ///< of its bytes: `blob`, also where that was left out of a document
    /// Of a device's code: "ptx", text that its driver compiles for any GPU of at least `target`
    /// ("sm_80"), or "cubin", machine code of that one. Empty: an ELF shared object of the CPU.
    std::string format = {};
  };
  std::vector<Code> code;
  std::vector<std::string> symbols;  ///< order of the values in penstock_kernel's `symbols`
  std::vector<Buffer> buffers;
  std::vector<BundleStep> steps;
  std::vector<BufferId> outputs;
  SymExpr arena_bytes = 0;
  std::string device = "cpu";  ///< as LoopProgram's
  /// False: a document of format 1.0 that had no seal, so that nothing says that code and calls
  /// belong together.
  bool sealed = true;
};

}  // namespace penstock
