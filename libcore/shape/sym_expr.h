#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock {

class SymExpr;

/// A factor that a polynomial does not look into: a symbol, or floor division, modulo, minimum or
/// maximum of two expressions.
struct SymAtom {
  enum class Kind : std::uint8_t { symbol, floordiv, mod, minimum, maximum };
  Kind kind;
  std::string text;               ///< canonical text; atoms are ordered and compared by it
  std::vector<SymExpr> operands;  ///< two for all kinds but symbol
};

/// coefficient * atom * atom …; the atoms sorted by text, repeated for powers.
struct SymTerm {
  std::int64_t coefficient;
  std::vector<std::shared_ptr<const SymAtom>> atoms;
};

/// An integer expression over symbolic sizes ("s0"), kept in one canonical form: a polynomial with
/// integer coefficients over atoms, terms sorted by their atoms. Two expressions that are equal as
/// polynomials compare equal. Immutable; copies share. A constant costs no allocation.
///
/// Division rounds to minus infinity as Python's // does, and mod has the sign of the divisor.
/// What does not fit in 64 bits is the largest or the least number (shape/saturating.h): only
/// damaged documents have such sizes, and one that wrapped around might pass for a small one.
class SymExpr {
 public:
  SymExpr() = default;                               ///< 0
  SymExpr(std::int64_t value) : constant_(value) {}  // NOLINT: sizes are mostly plain numbers
  SymExpr(int value) : constant_(value) {}           // NOLINT
  /// The symbol `name`: a letter or '_', then letters, digits, '_'.
  static SymExpr symbol(std::string_view name);

  bool is_constant() const { return terms_ == nullptr; }
  /// The value, if the expression has no symbol.
  std::optional<std::int64_t> constant() const {
    return is_constant() ? std::optional(constant_) : std::nullopt;
  }
  /// The constant term of the polynomial.
  std::int64_t constant_term() const { return constant_; }
  /// The other terms.
  const std::vector<SymTerm>& terms() const;
  /// The symbol's name, if the expression is one symbol alone; else empty.
  std::string_view symbol_name() const;

  friend SymExpr operator+(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator-(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator*(const SymExpr& a, const SymExpr& b);
  SymExpr& operator+=(const SymExpr& b) { return *this = *this + b; }
  SymExpr& operator-=(const SymExpr& b) { return *this = *this - b; }
  SymExpr& operator*=(const SymExpr& b) { return *this = *this * b; }
  friend SymExpr operator-(const SymExpr& a) { return SymExpr(0) - a; }
  friend bool operator==(const SymExpr& a, const SymExpr& b);

  /// Canonical text: "2*s0+1", "floordiv(s1, 8)", "s0*s1-3".
  std::string to_string() const;

  /// Calls `visit` once per symbol occurrence.
  void for_each_symbol(const std::function<void(std::string_view)>& visit) const;

  /// Replaces symbols; `value_of` returns nullopt to keep one.
  SymExpr substitute(const std::function<std::optional<SymExpr>(std::string_view)>& value_of) const;

  /// The number, when `value_of` knows every symbol, no divisor is 0 and nothing overflows 64 bits.
  std::optional<std::int64_t> evaluate(
      const std::function<std::optional<std::int64_t>(std::string_view)>& value_of) const;

 private:
  friend SymExpr make_expression(std::int64_t constant, std::vector<SymTerm> terms);
  std::int64_t constant_ = 0;
  std::shared_ptr<const std::vector<SymTerm>> terms_;  ///< null for a constant; never empty
};

/// The expression with these parts. The terms must be canonical: sorted by their atoms, no two with
/// the same atoms, no coefficient 0.
SymExpr make_expression(std::int64_t constant, std::vector<SymTerm> terms);

/// Floor division as in Python. A constant zero divisor stays unevaluated.
SymExpr floordiv(const SymExpr& a, const SymExpr& b);
/// Modulo as in Python.
SymExpr mod(const SymExpr& a, const SymExpr& b);
SymExpr minimum(const SymExpr& a, const SymExpr& b);
SymExpr maximum(const SymExpr& a, const SymExpr& b);

/// Reads canonical or hand-written text: + - * // % ( ) integers, symbols, floordiv mod min max.
Result<SymExpr> parse_sym_expr(std::string_view text);

}  // namespace penstock
