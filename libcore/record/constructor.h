#pragma once

#include <Python.h>

#include "python/frame.h"

namespace penstock::record {

/// The C function that gives, of a constructor and an object, a callable in the place of the
/// object's class: called with the constructor's arguments it runs the constructor on that object
/// and gives the object. So a call of a class can go on inside __init__ with an object that was
/// made before. Borrowed, there for good; null with a Python error set when there is no memory.
PyObject* construct_function();

/// Where the operand that `instruction` calls lies on the stack, counted from the bottom; -1 for an
/// instruction that is no call.
int callable_position(const python::Frame& frame, const python::Instruction& instruction);

}  // namespace penstock::record
