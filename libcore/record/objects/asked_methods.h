#pragma once

// The methods of classes that an operator or a comparison asks (asked_methods.cpp).

#include "record/walk.h"

namespace penstock::record {

struct OperatorName {
  const char* special;    ///< the left operand's method
  const char* reflected;  ///< the right operand's
  const char* in_place;   ///< the left operand's where it is to become the result
};

/// `left OP right` where a class has a method in Python that is asked. False with `known` false:
/// none is, or C code answers before one.
bool ask_operator(Walk& walk, FrameShadow& frame, const OperatorName& names, bool in_place,
                  bool& known);
/// The same of a comparison, by its Py_LT to Py_GE.
bool ask_comparison(Walk& walk, FrameShadow& frame, int comparison, bool& known);

}  // namespace penstock::record
