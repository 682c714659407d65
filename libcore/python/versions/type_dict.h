#pragma once

#include <Python.h>

namespace penstock::python {

/// What a class itself has, without its bases; borrowed from the class. Null before it is ready.
/// Since 3.12 CPython's own types keep it elsewhere.
inline PyObject* type_dict(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030c0000
  PyObject* names = PyType_GetDict(type);
  Py_XDECREF(names);  // the class keeps it
  return names;
#else
  return type->tp_dict;
#endif
}

}  // namespace penstock::python
