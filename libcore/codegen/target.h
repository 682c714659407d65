#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"

namespace llvm {
class TargetMachine;
}

namespace penstock::codegen {

/// A CPU, or a GPU, to make code for.
struct Target {
  std::string cpu;                    ///< LLVM's name: "x86-64-v3", "x86-64-v4", "znver5"
  std::vector<std::string> features;  ///< those of bundle/cpu_features.def that code may use
  int lanes = 8;                      ///< 32-bit lanes of a vector: 16 with AVX-512, else 8
  bool avx512 = false;                ///< AVX512 F, BW, DQ, VL: masked access to every dtype
  bool device = false;                ///< a GPU: "sm_80"; its vectors have one lane
};

/// The target called `cpu`: a name of LLVM's, "native" for the exact CPU of this machine, or "host"
/// for the highest x86-64 level that it has. `lanes` overrides the vector width (8 or 16; 0: by the
/// CPU). "sm_80" and its like are NVIDIA GPUs. PS0703 for an unknown CPU or one below x86-64-v3.
Result<Target> find_target(std::string_view cpu, int lanes);

/// A code generator for `target`; one per thread.
Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const Target& target);

}  // namespace penstock::codegen
