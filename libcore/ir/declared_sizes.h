#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock {

/// A size of an input that the user wants to be dynamic: `x:0=batch[1..512]`. Sizes of one name are
/// equal in every call.
struct DeclaredSize {
  std::string input;
  std::int64_t dim = 0;
  std::string symbol;
  std::int64_t minimum = 1;  ///< inclusive range, the same for all of one name
  std::int64_t maximum = INT64_MAX;
};

/// Reads declarations that stand behind commas: INPUT:DIM=NAME, or INPUT:DIM=NAME[LEAST..MOST] with
/// either bound left out. Ranges of one name are intersected. PS0101 for what is none, for a size
/// that is declared twice and for ranges that have nothing in common.
Result<std::vector<DeclaredSize>> parse_declared_sizes(std::string_view text);

}  // namespace penstock
