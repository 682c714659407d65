#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "ir/interface.h"
#include "shape/prover.h"

namespace penstock::ops {

/// Answers the questions about symbolic sizes that shape rules ask. Only questions that a graph's
/// shapes depend on are asked, so whoever answers from a hint must record the condition.
class ShapeContext {
 public:
  virtual ~ShapeContext() = default;
  /// Whether `condition` holds in this graph; nothing: it cannot be decided (an unbacked size).
  virtual std::optional<bool> decide(const Condition& condition) = 0;
};

/// Decides by the symbols' ranges and the guards that stand, and records nothing.
class RangeShapes : public ShapeContext {
 public:
  explicit RangeShapes(const Interface& interface);
  std::optional<bool> decide(const Condition& condition) override;
  /// Whether so much was asked that questions are hardly looked into any more.
  bool is_exhausted() const { return facts_.is_exhausted(); }

 protected:
  /// The condition holds.
  void note(const Condition& condition);

  RangeFacts facts_;
  std::unordered_map<std::string, bool> known_;  ///< by the condition's text
};

/// Decides by ranges and the guards recorded so far, then by the symbols' hints; what a hint
/// decided becomes a guard of the graph, so that nothing is baked in unseen.
class GuardingShapes : public RangeShapes {
 public:
  /// `interface` receives the guards and must outlive this.
  explicit GuardingShapes(Interface& interface);
  std::optional<bool> decide(const Condition& condition) override;
  /// One more symbol is known.
  void add(const Symbol& symbol);

 private:
  void note_hint(const Symbol& symbol);

  Interface& interface_;
  std::unordered_map<std::string, std::int64_t> hints_;
};

}  // namespace penstock::ops
