#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shape/sym_expr.h"

namespace penstock {

class RangeFacts;

/// Values of symbols at which all facts hold. What is false there follows from no facts, so that
/// nobody need look for a proof of it.
struct Witness {
  std::map<std::string, std::int64_t, std::less<>> values;

  /// What `expression` comes to; nothing where it has a symbol without a value, divides by 0 or
  /// does not fit in 64 bits.
  std::optional<std::int64_t> value_of(const SymExpr& expression) const;
};

/// A few witnesses of `facts`, which differ in how large sizes are and where between their bounds
/// indices lie. None may be found though there are some. Takes a time linear in the facts.
std::vector<Witness> find_witnesses(const RangeFacts& facts);

}  // namespace penstock
