#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/bytecode.h"

namespace penstock::capture {

/// A loop of a code object, by its control flow: what lies in its text but never comes back to its
/// head (a `return`, a `break` and what is before it) is no part of it, and a handler of an
/// exception that does is, wherever CPython puts its code.
struct NaturalLoop {
  const python::Instruction* head;  ///< every turn comes to it: FOR_ITER, or the body's first
  std::int32_t begin;               ///< unit at which a turn begins, behind FOR_ITER
  std::vector<bool> instructions;   ///< those that belong to it, by index
  std::size_t size = 0;             ///< how many
  bool holds(const python::Instruction& one) const {
    return instructions[static_cast<std::size_t>(one.index)];
  }
  /// The instruction is between turns, or outside.
  bool is_between_turns(const python::Instruction& one) const {
    return !holds(one) || one.offset == begin || &one == head;
  }
};

/// The sources of what may be another number in each turn, as reports print them: the variables
/// that the loop's instructions store, and what its iterator gives.
std::vector<std::string> changing_sources(const NaturalLoop& loop, const python::Bytecode& code);

/// The loops of statements in a code object; those of comprehensions and of awaiting are none.
class NaturalLoops {
 public:
  explicit NaturalLoops(const python::Bytecode& code);
  /// An outer loop is before those inside it.
  const std::vector<NaturalLoop>& all() const { return loops_; }
  /// The innermost loop that holds the instruction, by its place in all(); -1: none does.
  int innermost(const python::Instruction& one) const {
    return innermost_[static_cast<std::size_t>(one.index)];
  }

 private:
  std::vector<NaturalLoop> loops_;
  std::vector<std::int16_t> innermost_;
};

}  // namespace penstock::capture
