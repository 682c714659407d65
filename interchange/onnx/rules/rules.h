#pragma once

#include "interchange/onnx/rule.h"

namespace penstock::onnx {

// Every rule that operators.def names, by file. A rule takes the detail of its row into account.
#define PS_ONNX(id, function, detail) void function(Rule& rule);
#define PS_ONNX_WHOLE(id, function, detail, condition) \
  void function(Rule& rule);                           \
  bool condition(ops::Arguments& arguments);
#include "interchange/onnx/operators.def"
#undef PS_ONNX_WHOLE
#undef PS_ONNX

/// A row of the numbers 0 … count-1, and one of start, start+step, ….
Name counted(Rule& rule, const SymExpr& count);
Name stepped(Rule& rule, const SymExpr& start, const SymExpr& step, const SymExpr& count);

/// The remainder with the sign of the divisor, of floating or integral numbers.
Name python_remainder(Rule& rule, const Name& a, const Name& b, DType dtype);

/// `condition ? a : b` where the operator has no kernel for bool.
Name select(Rule& rule, const Name& condition, Name a, Name b, DType dtype);

}  // namespace penstock::onnx
