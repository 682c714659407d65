#pragma once

#include "python/frame.h"

namespace penstock::capture {

/// True when the CALL may run a tensor op: of torch (but for factory and random functions), or a call
/// of Python code. Asked before an instruction outside segments.
bool may_record_call(const python::Frame& frame, const python::Instruction& instruction);

/// Attributes of a tensor that are ops: T, mT, real …
bool is_view_attribute(PyObject* name);

}  // namespace penstock::capture
