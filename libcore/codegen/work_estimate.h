#pragma once

#include "codegen/signature.h"

namespace penstock::codegen {

/// What one run of a kernel does, for --profile: arithmetic instructions (a transcendental function
/// counts as one) and bytes of the buffers that it touches, each once.
struct WorkEstimate {
  SymExpr flops = 0;
  SymExpr bytes = 0;
};
WorkEstimate estimate_work(const LoopKernel& kernel, const std::vector<Buffer>& buffers);

}  // namespace penstock::codegen
