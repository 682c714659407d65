#pragma once

#include <Python.h>

#include <string>

#include "ir/argument.h"
#include "python/object.h"

namespace penstock::python {

/// True if `object` is what `literal` describes: the same exact built-in type and equal contents
/// (floats bit by bit, so that nan matches itself and -0.0 is not 0.0), or equal as torch's own words are (dtypes,
/// devices, layouts, memory formats). Runs no foreign code. False for data that is no plain Python value (a symbolic
/// size, a graph value, an object that is known by its name only).
bool matches(PyObject* object, const Argument& literal);

/// The Python object that `literal` describes; shared where Python shares (None, small ints), str
/// interned. torch's own words (dtype, device, layout, memory format) are asked from the program's
/// torch. Null with a Python error set for what has no object (a symbolic size, a graph value).
python::PyRef make_literal(const Argument& literal);

/// True if the literal's object can be shared by all calls: nothing in it is mutable.
bool is_immutable(const Argument& literal);

/// True for objects whose contents never change and that hold nothing but such: None, bool, int,
/// float, complex, str, bytes, Ellipsis. Exact types only.
bool is_plain_immutable(PyObject* object);

/// A short text of the object for reports, without running foreign code: literals as repr writes
/// them (cut after 80 characters), other objects as "<TypeName object>".
std::string describe(PyObject* object);

/// The text of a literal as repr writes it.
std::string describe(const Argument& literal);

}  // namespace penstock::python
