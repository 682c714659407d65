#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "shape/prover.h"

namespace penstock {

/// Levels of expressions within expressions that a proof looks into.
inline constexpr int kMaxDepth = 12;

/// One question to the prover: the facts, the work that it may still take, and what was found on
/// the way. Work is counted in atoms and terms that are looked at, so that an answer depends on
/// nothing but the question.
class Inquiry {
 public:
  explicit Inquiry(const RangeFacts& facts) : facts_(facts), left_(facts.grant()) {}
  ~Inquiry() { facts_.charge(spent_); }
  Inquiry(const Inquiry&) = delete;

  const RangeFacts& facts() const { return facts_; }

  /// Takes `units` of work; false once there are no more: the answer is then not known.
  bool spend(std::size_t units = 1) {
    const auto taken = static_cast<std::int64_t>(units);
    spent_ += taken;
    return (left_ -= taken) > 0;
  }

  /// Whether a witness of the facts makes `expression` negative.
  bool is_refuted(const SymExpr& expression) {
    return std::ranges::any_of(facts_.witnesses(), [&](const Witness& witness) {
      spend();
      return witness.value_of(expression).value_or(0) < 0;
    });
  }

  /// What was found of an atom with as many levels left to look into, or more.
  std::optional<Interval> known_bounds(const SymAtom& atom, int depth) const {
    const auto found = bounds_.find(atom.text);
    return found == bounds_.end() || found->second.first > depth
               ? std::nullopt
               : std::optional(found->second.second);
  }
  void note_bounds(const SymAtom& atom, int depth, Interval interval) {
    if (left_ > 0) bounds_.insert_or_assign(atom.text, std::pair(depth, interval));
  }

  const SymExpr* known_simplified(const SymAtom& atom) const {
    const auto found = simplified_.find(atom.text);
    return found == simplified_.end() ? nullptr : &found->second;
  }
  void note_simplified(const SymAtom& atom, const SymExpr& expression) {
    if (left_ > 0) simplified_.insert_or_assign(atom.text, expression);
  }

 private:
  const RangeFacts& facts_;
  std::int64_t left_, spent_ = 0;
  std::unordered_map<std::string, std::pair<int, Interval>>
      bounds_;  ///< by an atom's text: at which depth, and what
  std::unordered_map<std::string, SymExpr> simplified_;
};

/// Bounds as the public function gives them, `depth` levels down already.
Interval bounds(const SymExpr& expression, Inquiry& inquiry, int depth);
Interval atom_bounds(const SymAtom& atom, Inquiry& inquiry, int depth);

}  // namespace penstock
