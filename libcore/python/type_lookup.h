#pragma once

#include <Python.h>

#include "python/versions/type_dict.h"

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

/// The type's version: it has another one once it, or one of its bases, has changed. CPython gives
/// one at a lookup; 0: it gives none. tp_version_tag.
inline unsigned version_of(PyTypeObject* type) {
  if (type->tp_version_tag == 0) type_lookup(type, "__class__");
  return type->tp_version_tag;
}

/// The type of a method of C's that is bound: of (None).__str__.
PyTypeObject* method_wrapper_type();

/// True for a collections.deque, and not for an instance of a subclass.
bool is_deque(PyObject* object);
/// Borrowed; null without an error where it has none there.
PyObject* item_of_deque(PyObject* deque, Py_ssize_t index);
/// True for a collections.defaultdict, and not for an instance of a subclass.
bool is_default_dict(PyObject* object);

/// False where the type or one of its bases has a key that is no string: looking a name up there
/// may compare the two by code of the program's, and what that does cannot be done twice.
bool has_only_names(PyTypeObject* type);

}  // namespace penstock::python
