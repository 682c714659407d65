#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fusion/loop_program.h"

namespace penstock::codegen {

/// How a loop kernel meets bundle/kernel_abi.h.
struct Signature {
  /// The pointers that it gets: the memories that it touches, each once, in order of first use.
  /// Views stand for the buffer that they are windows on; scratch buffers are none of them.
  std::vector<BufferId> buffers;
  std::unordered_map<BufferId, int> position;  ///< of every buffer's memory in `buffers`
  const Loop* parallel = nullptr;              ///< the loop that [begin, end) splits; null: none
  std::int64_t scratch_bytes = 0;
  std::vector<bool> stored;  ///< by position: the kernel writes it
};
Signature signature_of(const LoopKernel& kernel, const std::vector<Buffer>& buffers);

/// Calls `visit` for every instruction of `body`, inner loops included, in order.
void for_each_instruction(const std::vector<Statement>& body,
                          const std::function<void(const Instruction&)>& visit);

/// A text that is equal for two kernels exactly when one function can serve both: names of kernels,
/// loops, scalars and buffers do not count, symbols do (by their position in `symbols`).
std::string structure_key(const LoopKernel& kernel, const Signature& signature,
                          const std::vector<Buffer>& buffers,
                          const std::vector<std::string>& symbols);

}  // namespace penstock::codegen
