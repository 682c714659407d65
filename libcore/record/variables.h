#pragma once

// Variables of frames: globals, cells, arguments.

#include "record/walk.h"

namespace penstock::record {

bool is_handled(const FrameShadow& frame);
/// What LOAD_GLOBAL of the name finds in the frame's globals and builtins. Borrowed; null, without
/// an error, where there is none.
PyObject* find_global(const python::Frame& frame, PyObject* name);
Shadow global_value(Walk& walk, FrameShadow& frame, PyObject* name, PyObject* value);
/// Fills the locals of a frame that begins.
void bind_arguments(Walk& walk, FrameShadow& frame, const BoundArguments& arguments,
                    const Expected& expected);
/// The shadow of the cell that the closure of the frame's function has for a free variable.
Shadow free_variable(Walk& walk, const FrameShadow& frame, PyObject* cell, PyObject* name, int slot,
                     int index);
void store_global(Walk& walk, FrameShadow& frame, PyObject* name, Operand value);

}  // namespace penstock::record
