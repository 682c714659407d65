#pragma once

#include <Python.h>

#include <string>

#include "ir/argument.h"

namespace penstock::python {

/// A short text of the object for reports, without running foreign code: literals as repr writes
/// them (cut after 80 characters), other objects as "<TypeName object>".
std::string describe(PyObject* object);

/// The text of a literal as repr writes it.
std::string describe(const Argument& literal);

}  // namespace penstock::python
