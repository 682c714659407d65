#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jit/executors/executor.h"

namespace penstock::jit {

/// What runs in front of another executor, and what of that is put back where the other one cannot
/// run: elements may decide a size there that the graph is not for, and torch may refuse a call.
struct FirstStage {
  std::unique_ptr<Executor> executor;
  std::vector<std::int32_t> writes;  ///< inputs
  bool draws = false;                ///< random numbers
  int gpu = -1;                      ///< that it runs on; -1: the CPU
};

/// Runs one executor behind the other, as split_stages() says: the first one's outputs, `handed`
/// tensors, are inputs of the second, behind the `inputs` of both.
Result<std::unique_ptr<Executor>> chain_executors(FirstStage first,
                                                  std::unique_ptr<Executor> second,
                                                  std::size_t inputs, std::size_t handed);

}  // namespace penstock::jit
