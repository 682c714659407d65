#pragma once

#include <Python.h>

#include "ir/argument.h"

namespace penstock::python {

/// True if `object` is what `literal` describes: the same exact built-in type and equal contents
/// (floats bit by bit, so that nan matches itself and -0.0 is not 0.0), or equal as torch's own
/// words are (dtypes, devices, layouts, memory formats). Runs no foreign code. False for data that
/// is no plain Python value (a symbolic size, a graph value, an object that is known by its name
/// only).
bool matches(PyObject* object, const Argument& literal);

}  // namespace penstock::python
