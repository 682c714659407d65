#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/argument.h"

namespace penstock {

/// What an element that chooses along a dim may be.
struct IndexRange {
  std::int64_t dim = 0, size = 0;       ///< below the size of the dim
  bool wraps = false;                   ///< from -size on; else from 0 on
  std::optional<std::int64_t> ignored;  ///< or this one, which chooses nothing

  constexpr bool holds(std::int64_t element) const {
    return (element >= (wraps ? -size : 0) && element < size) || element == ignored;
  }
};

/// The range that attributes say: the integers `dim`, `size` and `ignored`, the flag `wraps`. What
/// is left out is 0, none or false.
IndexRange index_range(std::span<const NamedArgument> attributes);

/// What is to be said of an op that was given an element beyond. What a program demands of elements
/// is taken apart into an index that is one where it does not hold (passes/decompose, `demanded`).
inline std::string beyond_message(std::string_view op, std::int64_t element,
                                  const IndexRange& range) {
  if (op == "aten._assert_async.default")
    return std::string(op) + ": what the program asks of these elements does not hold";
  return std::string(op) + ": index " + std::to_string(element) + " is out of range for dim " +
         std::to_string(range.dim) + " of size " + std::to_string(range.size);
}

}  // namespace penstock
