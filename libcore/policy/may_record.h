#pragma once

#include <string_view>

#include "policy/callables.h"
#include "python/frame.h"

namespace penstock::policy {

/// True when the CALL may run a tensor op: of torch (but for factory and random functions), or a
/// call of Python code. Asked before an instruction outside segments.
bool may_record_call(const python::Frame& frame, const python::Instruction& instruction,
                     Callables& callables);

/// True when the CALL is of an op of torch, but for factory and random functions.
bool calls_op(const python::Frame& frame, const python::Instruction& instruction,
              Callables& callables);

/// True when the CALL is of a factory whose result is the same each time, as rules say it (`fill`).
/// A segment may start there if an op of it takes what that makes.
bool fills_tensor(const python::Frame& frame, const python::Instruction& instruction,
                  Callables& callables);

/// True for ops that the rules which come with penstock call factories (`factory`, `fill`), by
/// their names without "aten::".
bool makes_tensor_of_nothing(std::string_view op);

}  // namespace penstock::policy
