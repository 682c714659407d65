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

/// The callable of a CALL_FUNCTION_EX with or without keywords, below the top.
inline constexpr int unpacking_callable(bool has_keywords) {
  return (has_keywords ? 2 : 1) + (kSelfAboveCallable ? 1 : 0);
}

}  // namespace penstock::python
