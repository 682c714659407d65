#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

/// A Python int of 64 bits or a Python float.
struct PythonNumber {
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;

  static PythonNumber of(std::int64_t value) { return {false, value, 0}; }
  static PythonNumber of(double value) { return {true, 0, value}; }
  double as_double() const { return is_float ? real : static_cast<double>(integer); }
};

/// Arithmetic on numbers; the rows are in ir/number_ops.def.
enum class NumberOp : std::uint8_t {
#define PS_NUMBER_OP(name, form, text) name,
#include "ir/number_ops.def"
#undef PS_NUMBER_OP
};

/// True for an op that gives a truth, as 0 or 1.
inline bool is_comparison(NumberOp op) {
  return op >= NumberOp::less && op <= NumberOp::greater_equal;
}

struct NumberOpFacts {
  enum class Form : std::uint8_t { infix, prefix, unary, binary };
  NumberOp op;
  Form form;
  std::string_view text;
  bool takes_two() const { return form == Form::infix || form == Form::binary; }
};
const NumberOpFacts& facts(NumberOp op);
std::optional<NumberOp> number_op(std::string_view text, NumberOpFacts::Form form);

/// What CPython computes, to the bit; `b` counts for ops that take two.
/// Nothing where Python raises, where the result is complex or leaves 64 bits, and for ints that a
/// float cannot hold where the operation goes through floats.
std::optional<PythonNumber> compute(NumberOp op, PythonNumber a, PythonNumber b = {});

}  // namespace penstock
