#pragma once

#include <Python.h>

#include "python/object.h"

namespace penstock::python {

/// What the type or the first of its bases has under a name, as `type.__getattribute__` looks for
/// it: no descriptor is run. Borrowed; null without an error where none has it. _PyType_Lookup of
/// CPython's Objects/typeobject.c.
inline PyObject* type_lookup(PyTypeObject* type, PyObject* name) {
  return _PyType_Lookup(type, name);
}

inline PyObject* type_lookup(PyTypeObject* type, const char* name) {
  PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  return _PyType_Lookup(type, text.get());
}

}  // namespace penstock::python
