#pragma once

#include "guards/guard_step.h"

namespace penstock::guards {

/// Finds out how `name` (interned) is reached on `base` by the generic algorithm, without running
/// foreign code: a value of the instance, a slot, or a value of the type. `missing` where nothing
/// is found or where Python code decides (a property, __getattr__, __getattribute__, a method that
/// would be bound).
AttributePath resolve_attribute(PyObject* base, PyObject* name);

/// True if the path says what to do for `base`.
inline bool path_fits(const AttributePath& path, PyObject* base) {
  if (path.version == 0) return false;
  PyTypeObject* type = Py_TYPE(base);
  if (path.type != type)
    return path.type == reinterpret_cast<PyTypeObject*>(base) &&
           path.type->tp_version_tag == path.version;
  return type->tp_version_tag == path.version;
}

}  // namespace penstock::guards
