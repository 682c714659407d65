#pragma once

#include <memory>

#include "jit/executors/executor.h"

namespace penstock::jit {

/// Runs one executor behind the other, as split_stages() says: the first one's outputs, `handed`
/// tensors, are inputs of the second, behind the `inputs` of both.
Result<std::unique_ptr<Executor>> chain_executors(std::unique_ptr<Executor> first,
                                                  std::unique_ptr<Executor> second,
                                                  std::size_t inputs, std::size_t handed);

}  // namespace penstock::jit
