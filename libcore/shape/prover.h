#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shape/sym_expr.h"

namespace penstock {

/// Inclusive integer bounds; the extremes of int64 stand for "unbounded".
struct Interval {
  std::int64_t lower = std::numeric_limits<std::int64_t>::min();
  std::int64_t upper = std::numeric_limits<std::int64_t>::max();
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Inclusive bounds of one symbol; either may mention other symbols (an index below a size), but not
/// in a cycle. Nothing: unbounded.
struct SymRange {
  std::optional<SymExpr> lower;
  std::optional<SymExpr> upper;
};

/// What is known of symbols: ranges of sizes (s0 >= 2) and of loop indices (0 <= i <= s0 - 1), and what
/// relates sizes to each other (s1 <= s0).
class RangeFacts {
 public:
  void set(std::string_view symbol, SymRange range);
  /// The symbol is an index of a loop: 0 <= symbol < extent.
  void set_index(std::string_view symbol, const SymExpr& extent);
  /// The expression is at least 0.
  void assume(const SymExpr& expression);
  /// The range of `symbol`; unbounded when nothing was set.
  const SymRange& of(std::string_view symbol) const;
  /// Expressions that are at least 0, beside the ranges.
  const std::vector<SymExpr>& assumptions() const { return assumptions_; }

 private:
  bool narrow(std::string_view symbol, bool from_below, std::int64_t bound);

  std::map<std::string, SymRange, std::less<>> ranges_;
  std::vector<SymExpr> assumptions_;
};

/// Numeric bounds of `expression`; sound, not always tight.
Interval bounds(const SymExpr& expression, const RangeFacts& facts);

/// Whether `expression` is known to be at least 0. False: not known.
bool is_nonnegative(const SymExpr& expression, const RangeFacts& facts);

/// The truth of a comparison, or nothing when the facts do not decide it.
std::optional<bool> prove_equal(const SymExpr& a, const SymExpr& b, const RangeFacts& facts);
std::optional<bool> prove_less(const SymExpr& a, const SymExpr& b, const RangeFacts& facts);
std::optional<bool> prove_less_equal(const SymExpr& a, const SymExpr& b, const RangeFacts& facts);

/// An equal expression with fewer divisions: floordiv and mod go where intervals or divisibility
/// decide them, min and max where the order of their operands is known.
///   0 <= i < 8:  floordiv(8*j + i, 8) → j;  mod(8*j + i, 8) → i;  floordiv(8*j + i, 32) → floordiv(j, 4)
SymExpr simplify(const SymExpr& expression, const RangeFacts& facts);

}  // namespace penstock
