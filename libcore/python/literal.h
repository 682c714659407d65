#pragma once

#include <Python.h>

#include <optional>
#include <string>

#include "ir/argument.h"
#include "ir/number.h"
#include "python/object.h"

namespace penstock::python {

/// `object` as a datum that documents can hold: None, bool, int of 64 bits, float, complex, str,
/// bytes, Ellipsis, torch's dtype, device, layout and memory_format, and exact list, tuple, slice
/// and dict of such. Nothing for all else. Runs no Python code of the program.
std::optional<Argument> literal_of(PyObject* object);

/// The Python object that `literal` describes; shared where Python shares (None, small ints), str
/// interned. torch's own words (dtype, device, layout, memory format) are asked from the program's
/// torch. Null with a Python error set for what has no object (a symbolic size, a graph value).
PyRef object_of(const Argument& literal);

/// The int of 64 bits or the float that `object` is exactly; nothing for all else, bools too.
std::optional<PythonNumber> plain_number(PyObject* object);
PyRef object_of(PythonNumber number);

/// True for objects whose value never changes and that compare by value: literals without list and
/// dict in them.
bool is_immutable_literal(PyObject* object);

/// True if the literal's object can be shared by all calls: nothing in it is mutable.
bool is_immutable(const Argument& literal);

/// True for objects whose contents never change and that hold nothing but such: None, bool, int,
/// float, complex, str, bytes, Ellipsis. Exact types only.
bool is_plain_immutable(PyObject* object);

/// True for torch.Size, which is a tuple to literal_of().
bool is_torch_size(PyObject* object);

/// The text of a str, or empty (no Python error is left).
std::string text_of(PyObject* str);

/// The qualified name under which people know a function, type or module: "torch.nn.Linear".
std::string qualified_name(PyObject* object);

}  // namespace penstock::python
