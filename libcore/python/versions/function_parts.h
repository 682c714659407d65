#pragma once

#include <Python.h>

namespace penstock::python {

/// The part of a function that SET_FUNCTION_ATTRIBUTE sets by that argument; null: none that is
/// known.
inline PyObject** function_part(PyFunctionObject* function, int argument) {
  switch (argument) {
    case 0x01:
      return &function->func_defaults;
    case 0x02:
      return &function->func_kwdefaults;
    case 0x04:
      return &function->func_annotations;
    case 0x08:
      return &function->func_closure;
#if PY_VERSION_HEX >= 0x030e0000
    case 0x10:
      return &function->func_annotate;
#endif
    default:
      return nullptr;
  }
}

}  // namespace penstock::python
