#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusion/loop_program.h"
#include "shape/prover.h"

namespace penstock::fusion {

/// Proves that the elements that a kernel accesses lie in its buffers. It is told of the kernel's
/// loops and instructions in the order of its text.
class AccessProver {
 public:
  /// `sizes`: ranges of the size symbols.
  explicit AccessProver(RangeFacts sizes) : facts_(std::move(sizes)) {}

  void enter(const Loop& loop);
  void leave(const Loop& loop);
  /// Learns what an instruction's result can be.
  void learn(const Instruction& instruction);

  /// Whether first <= index <= last in every iteration in which `mask` is true (-1: in every one).
  /// False: not proved.
  bool inside(const SymExpr& index, const SymExpr& first, const SymExpr& last, ScalarId mask) const;

 private:
  /// Expressions that are at least 0 where a boolean is true.
  using Conditions = std::vector<SymExpr>;

  void learn_integer(const Instruction& instruction);
  void learn_condition(const Instruction& instruction);
  std::optional<SymExpr> value_of(ScalarId scalar) const;
  SymRange range_of(ScalarId scalar) const;
  bool nonnegative(const SymExpr& expression, const Conditions& conditions) const;
  bool holds_everywhere(const SymExpr& index, const SymExpr& first, const SymExpr& last,
                        const Conditions& conditions) const;

  RangeFacts facts_;
  std::vector<const Loop*> loops_;             ///< outermost first
  std::map<ScalarId, SymExpr> values_;         ///< integer scalars that are expressions
  std::map<ScalarId, SymRange> ranges_;        ///< other integer scalars
  std::map<ScalarId, Conditions> conditions_;  ///< of booleans
};

}  // namespace penstock::fusion
