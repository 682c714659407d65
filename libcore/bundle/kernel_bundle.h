#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/buffer.h"
#include "ir/graph.h"
#include "ir/interface.h"

namespace penstock {

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
  };
  std::vector<Code> code;
  std::vector<std::string> symbols;  ///< order of the values in penstock_kernel's `symbols`
  std::vector<Buffer> buffers;
  std::vector<BundleStep> steps;
  std::vector<BufferId> outputs;
  SymExpr arena_bytes = 0;
  /// False: a document of format 1.0 that had no seal, so that nothing says that code and calls
  /// belong together.
  bool sealed = true;
};

}  // namespace penstock
