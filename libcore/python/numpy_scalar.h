#pragma once

#include <Python.h>

#include <optional>

#include "ir/argument.h"

namespace penstock::python {

/// True for a number or truth of NumPy's own types of C (numpy.float64, numpy.int32, numpy.bool):
/// its value never changes, and no Python code of the program's says what it does.
bool is_numpy_scalar(PyObject* object);

/// The bool, int of 64 bits or float that torch takes such a scalar for; nothing for all else, and
/// for an int that has no 64 bits.
std::optional<Argument> number_of_numpy(PyObject* object);

/// True for a function that the module numpy has, and that is an object of a type of NumPy's:
/// numpy.sqrt, numpy.prod. What a program makes by numpy.frompyfunc is none.
bool is_numpy_function(PyObject* object);

}  // namespace penstock::python
