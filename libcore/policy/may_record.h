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

/// True when the CALL is of a factory whose result is the same each time: ones, zeros, full,
/// arange. A segment may start there if an op of it takes what that makes.
bool fills_tensor(const python::Frame& frame, const python::Instruction& instruction,
                  Callables& callables);

/// Factory and random functions, by the name behind "torch.": a segment starts at one only where
/// fills_tensor() holds.
bool makes_tensor_of_nothing(std::string_view name);

/// Attributes of a tensor that are ops: T, mT, real …
bool is_view_attribute(PyObject* name);

}  // namespace penstock::policy
