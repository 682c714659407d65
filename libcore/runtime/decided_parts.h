#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
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
    /// All symbols that elements decide and that something here, or a guard on this size, names.
    std::vector<std::int32_t> needs;
  };
  DecidedSizes sizes;
  std::vector<Part> parts;
  std::vector<std::int32_t> buffer_part, step_part;  ///< by buffer, by step; -1: waits for none
  std::vector<std::int32_t> decides;                 ///< by step: the size that it decides, or -1
  std::vector<std::int32_t> symbol_part;  ///< by symbol of the bundle; -1: inputs give it
  std::map<std::string, std::int32_t, std::less<>> symbols;  ///< their positions in the bundle

  bool empty() const { return parts.empty(); }
  /// The position of a symbol in the bundle; -1: it has none of that name.
  std::int32_t symbol_of(std::string_view name) const {
    const auto found = symbols.find(name);
    return found == symbols.end() ? -1 : found->second;
  }
};

/// PS0205 for a step that stands before what decides a size of it.
Result<DecidedParts> decided_parts(const KernelBundle& bundle);

}  // namespace penstock::runtime
