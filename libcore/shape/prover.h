#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shape/sym_expr.h"
#include "shape/witness.h"

namespace penstock {

/// Inclusive integer bounds; the extremes of int64 stand for "unbounded".
struct Interval {
  std::int64_t lower = std::numeric_limits<std::int64_t>::min();
  std::int64_t upper = std::numeric_limits<std::int64_t>::max();
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Inclusive bounds of one symbol; either may mention other symbols (an index below a size), but
/// not in a cycle. Nothing: unbounded.
struct SymRange {
  std::optional<SymExpr> lower;
  std::optional<SymExpr> upper;
  std::optional<std::int64_t> hint = std::nullopt;  ///< a value at which all facts held
};

/// What is known of symbols: ranges of sizes (s0 >= 2) and of loop indices (0 <= i <= s0 - 1), and
/// what relates sizes to each other (s1 <= s0).
class RangeFacts {
 public:
  RangeFacts();
  void set(std::string_view symbol, SymRange range);
  /// The symbol is an index of a loop: 0 <= symbol < extent.
  void set_index(std::string_view symbol, const SymExpr& extent);
  /// The expression is at least 0.
  void assume(const SymExpr& expression);
  /// The range of `symbol`; unbounded when nothing was set.
  const SymRange& of(std::string_view symbol) const;
  const std::map<std::string, SymRange, std::less<>>& ranges() const { return ranges_; }
  /// An expression that is at least 0, beside the ranges, and one of its terms.
  struct Taken {
    std::shared_ptr<const SymExpr> assumption;
    std::size_t term;
    std::size_t number;  ///< of the assumption, counted as they were made
  };
  /// Those with a term that begins with the atom of this text.
  const std::vector<Taken>& assumptions_on(std::string_view atom) const;
  bool assumes() const;
  /// Whether `holds` says so of every assumption.
  bool all_assumptions(const std::function<bool(const SymExpr&)>& holds) const;
  /// Values at which all of this holds, a few (shape/witness.h); looked for when they are first
  /// asked for.
  const std::vector<Witness>& witnesses() const;

  /// The work that questions with these facts and their copies took so far, in atoms and terms that
  /// were looked at.
  std::int64_t work() const;
  /// Once questions took `units` of work together, one more may take little: more answers are "not
  /// known" then.
  void set_limit(std::int64_t units) { limit_ = units; }
  bool is_exhausted() const { return work() >= limit_; }
  /// What one more question may take.
  std::int64_t grant() const;
  /// A question took `units` of work. One thread at a time asks.
  void charge(std::int64_t units) const;

 private:
  /// What copies share until one of them learns more.
  struct Assumptions;

  bool narrow(std::string_view symbol, bool from_below, std::int64_t bound);
  Assumptions& own_assumptions();

  std::map<std::string, SymRange, std::less<>> ranges_;
  std::shared_ptr<Assumptions> assumptions_;
  std::int64_t limit_ = std::numeric_limits<std::int64_t>::max();
  /// Nothing: they are not looked for yet. Copies share them until one learns more.
  mutable std::shared_ptr<const std::vector<Witness>> witnesses_;
};

/// Numeric bounds of `expression`; sound, not always tight.
Interval bounds(const SymExpr& expression, const RangeFacts& facts);

/// Whether `expression` is known to be at least 0. False: not known.
bool is_nonnegative(const SymExpr& expression, const RangeFacts& facts);

/// The truth of a comparison, or nothing when the facts do not decide it, or not with the work that
/// is granted.
std::optional<bool> prove_equal(const SymExpr& a, const SymExpr& b, const RangeFacts& facts);
std::optional<bool> prove_less(const SymExpr& a, const SymExpr& b, const RangeFacts& facts);
std::optional<bool> prove_less_equal(const SymExpr& a, const SymExpr& b, const RangeFacts& facts);

/// An equal expression with fewer divisions: floordiv and mod go where intervals or divisibility
/// decide them, min and max where the order of their operands is known.
///   0 <= i < 8:  floordiv(8*j + i, 8) → j;  mod(8*j + i, 8) → i;  floordiv(8*j + i, 32) →
///   floordiv(j, 4)
SymExpr simplify(const SymExpr& expression, const RangeFacts& facts);

}  // namespace penstock
