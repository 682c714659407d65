#pragma once

// Where a CALL's callable lies on the operand stack. In 3.11 and 3.12 there is below the arguments
// either a null and the callable or a function and its self, since 3.13 the callable and its self
// or a null.

#include <Python.h>

namespace penstock::python {

#if PY_VERSION_HEX >= 0x030d0000
inline constexpr bool kSelfAboveCallable = true;
#else
inline constexpr bool kSelfAboveCallable = false;
#endif

/// How far below the top of the stack the operands of a CALL lie that takes `count` arguments.
struct CallOperands {
  bool has_self;  ///< it is the first of count + 1 arguments
  int callable;   ///< below the top
};
/// `below(n)`: the object n places below the top; the two slots behind the arguments are asked for.
template <typename Below>
CallOperands call_operands(int count, const Below& below) {
  const bool has_self = below(kSelfAboveCallable ? count : count + 1) != nullptr;
  return {has_self, kSelfAboveCallable || has_self ? count + 1 : count};
}

/// Where the operands of a CALL_FUNCTION_EX lie, below the top: its keywords, if it has any, are on
/// top. Since 3.14 there is a null where it has none.
struct UnpackingOperands {
  bool has_keywords;
  int arguments;
  int callable;
  int count;  ///< of operands, with the null beside the callable
};
template <typename Below>
UnpackingOperands unpacking_operands([[maybe_unused]] int argument,
                                     [[maybe_unused]] const Below& below) {
#if PY_VERSION_HEX >= 0x030e0000
  const bool has_keywords = below(0) != nullptr, has_place = true;
#else
  const bool has_keywords = (argument & 1) != 0, has_place = has_keywords;
#endif
  const int arguments = has_place ? 1 : 0;
  return {has_keywords, arguments, arguments + (kSelfAboveCallable ? 2 : 1), arguments + 3};
}

/// A `with` keeps its manager's __exit__ in two slots, a function and its self or a callable and a
/// null.
inline constexpr bool kWithKeepsSelf = PY_VERSION_HEX >= 0x030e0000;

}  // namespace penstock::python
