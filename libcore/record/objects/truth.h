#pragma once

#include <functional>

#include "record/walk.h"

namespace penstock::record {

/// The method of the program's by which the object tells its truth, __bool__ or else __len__; null:
/// it has none in Python.
const char* truth_method(PyObject* object);

/// The instruction asks the object, which has such a method, for its truth, and gives that in the
/// place of `pops` operands.
bool asks_truth(Walk& walk, FrameShadow& frame, Operand object, int pops);

/// The instruction goes one of two ways by the truth of the operand on top: `taken` moves the
/// shadows once it has. False where the segment ends.
bool branches(Walk& walk, FrameShadow& frame, std::function<void(FrameShadow&)> taken);

}  // namespace penstock::record
