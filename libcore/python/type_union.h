#pragma once

#include "python/object.h"

namespace penstock::python {

/// True for the class of what "int | None" gives, whose name is another since CPython 3.14.
inline bool is_union_type(const PyTypeObject* type) {
  static const PyTypeObject* const of_unions = [] {
    const PyRef made =
        PyRef::steal(PyNumber_Or(reinterpret_cast<PyObject*>(&PyLong_Type), Py_None));
    return made ? Py_TYPE(made.get()) : nullptr;
  }();
  return type == of_unions;
}

}  // namespace penstock::python
