#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "shape/sym_expr.h"

namespace penstock::guards {

/// A size expression compiled to postfix, for evaluation on every call over a row of symbol values.
class SizeProgram {
 public:
  SizeProgram() = default;
  /// `position` gives a symbol's place in the row, or -1: then the expression cannot be evaluated.
  SizeProgram(const SymExpr& expression, const std::function<int(std::string_view)>& position);

  bool is_constant() const { return steps_.empty(); }
  std::int64_t constant() const { return constant_; }
  /// False if a symbol had no place.
  bool valid() const { return valid_; }
  /// The value; a division by zero gives 0. `symbols` is the row.
  std::int64_t evaluate(const std::int64_t* symbols) const {
    return steps_.empty() ? constant_ : run(symbols);
  }

 private:
  enum class Op : std::uint8_t { number, symbol, add, multiply, floordiv, mod, minimum, maximum };
  struct Step {
    Op op;
    std::int64_t operand;  // number: the value; symbol: its place
  };
  void compile(const SymExpr& expression, const std::function<int(std::string_view)>& position);
  void compile(const SymAtom& atom, const std::function<int(std::string_view)>& position);
  std::int64_t run(const std::int64_t* symbols) const;

  std::vector<Step> steps_;
  std::int64_t constant_ = 0;
  int depth_ = 0;  // operands on the stack at the place that is being compiled
  int max_depth_ = 0;
  bool valid_ = true;
};

}  // namespace penstock::guards
