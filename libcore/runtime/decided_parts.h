#pragma once

#include <cstdint>
#include <vector>

#include "bundle/kernel_bundle.h"
#include "ir/decided_sizes.h"

namespace penstock::runtime {

/// What of a bundle waits for sizes that elements decide in a run (ir/decided_sizes.h).
struct DecidedParts {
  /// By size, in the order in which they are decided.
  struct Part {
    std::int32_t symbol = -1;  ///< position in KernelBundle::symbols; -1: it has to be a number
    std::vector<BufferId> buffers;
    std::vector<std::int32_t> steps;
  };
  DecidedSizes sizes;
  std::vector<Part> parts;
  std::vector<std::int32_t> buffer_part, step_part;  ///< by buffer, by step; -1: waits for none
  std::vector<std::int32_t> decides;                 ///< by step: the size that it decides, or -1

  bool empty() const { return parts.empty(); }
  /// The position of the size that a symbol of the bundle is; -1: inputs give it.
  std::int32_t part_of_symbol(std::int32_t symbol) const;
};

/// PS0205 for a step that stands before what decides a size of it.
Result<DecidedParts> decided_parts(const KernelBundle& bundle);

}  // namespace penstock::runtime
