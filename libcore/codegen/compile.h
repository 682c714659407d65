#pragma once

#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/signature.h"
#include "codegen/target.h"

namespace penstock::codegen {

/// One function to make.
struct FunctionJob {
  const LoopKernel* kernel;
  const Signature* signature;
  std::string name;
};

/// What all jobs share.
struct CompileContext {
  const std::vector<Buffer>& buffers;
  const std::vector<std::string>& symbols;
  const Target& target;
  Budget* budget = nullptr;
};

/// Makes object files, of modules that up to `threads` threads take one after the other; at least
/// one, which also holds penstock_abi_version. Equal jobs give equal bytes, whatever the threads.
/// PS0709 where the budget is spent.
Result<std::vector<std::string>> compile_objects(const std::vector<FunctionJob>& jobs,
                                                 const CompileContext& context, int threads);

/// All jobs in one module, as IR, assembly or an object file.
Result<std::string> compile_text(const std::vector<FunctionJob>& jobs,
                                 const CompileContext& context, CodeText text);

/// Links objects to a shared object. lld is not thread-safe: one link at a time.
Result<std::string> link_shared_object(const std::vector<std::string>& objects);

}  // namespace penstock::codegen
