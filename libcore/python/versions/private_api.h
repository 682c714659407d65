#pragma once

// Functions that CPython exports in all versions, and declares in headers that move, or that do not
// compile as C++.
#include <Python.h>

extern "C" {
PyAPI_FUNC(int) _PyObject_GetMethod(PyObject* object, PyObject* name, PyObject** method);
PyAPI_FUNC(int) _PySet_Update(PyObject* set, PyObject* iterable);
PyAPI_FUNC(PyObject*) _PyList_Extend(PyListObject* list, PyObject* iterable);
PyAPI_FUNC(PyObject*)
    _PyUnicode_JoinArray(PyObject* separator, PyObject* const* items, Py_ssize_t count);
PyAPI_FUNC(int)
    _PySet_NextEntry(PyObject* set, Py_ssize_t* position, PyObject** key, Py_hash_t* hash);
// Since 3.14.
PyAPI_FUNC(PyObject*)
    _PyTuple_FromStackRefStealOnSuccess(const union _PyStackRef* items, Py_ssize_t count);
}

namespace penstock::python {

/// What is kept with each code object: the index of it, and an object's own.
inline Py_ssize_t code_extra_index(void (*free)(void*)) {
#if PY_VERSION_HEX >= 0x030c0000
  return PyUnstable_Eval_RequestCodeExtraIndex(free);
#else
  return _PyEval_RequestCodeExtraIndex(free);
#endif
}
inline int set_code_extra(PyObject* code, Py_ssize_t index, void* extra) {
#if PY_VERSION_HEX >= 0x030c0000
  return PyUnstable_Code_SetExtra(code, index, extra);
#else
  return _PyCode_SetExtra(code, index, extra);
#endif
}

/// A tuple that takes over the references. It is the collector's where CPython would make it so:
/// since 3.14.1 not if there is nothing in it to collect. Null with a Python error set, and the
/// references are the caller's still.
inline PyObject* tuple_of_owned(PyObject** items, Py_ssize_t count) {
#if PY_VERSION_HEX >= 0x030e0000
  return _PyTuple_FromStackRefStealOnSuccess(reinterpret_cast<const union _PyStackRef*>(items),
                                             count);
#else
  PyObject* tuple = PyTuple_New(count);
  if (tuple == nullptr) return nullptr;
  for (Py_ssize_t index = 0; index < count; ++index) PyTuple_SET_ITEM(tuple, index, items[index]);
  return tuple;
#endif
}

inline bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

}  // namespace penstock::python
