#include "python/type_lookup.h"

#include "python/layout.h"
#include "python/versions/type_dict.h"

namespace penstock::python {

namespace {

/// A type of CPython's own that its headers do not name.
PyTypeObject* type_of_module(const char* module_name, const char* name) {
  const PyRef module = PyRef::steal(PyImport_ImportModule(module_name));
  PyRef type = module ? PyRef::steal(PyObject_GetAttrString(module.get(), name)) : PyRef();
  PyErr_Clear();
  return type && PyType_Check(type.get()) ? reinterpret_cast<PyTypeObject*>(type.release())
                                          : nullptr;
}

}  // namespace

bool is_deque(PyObject* object) {
  static const PyTypeObject* const type = type_of_module("_collections", "deque");
  return Py_TYPE(object) == type;
}

PyObject* item_of_deque(PyObject* deque, Py_ssize_t index) {
  const PyRef item = PyRef::steal(PySequence_GetItem(deque, index));
  if (!item) PyErr_Clear();
  return item.get();  // the deque holds it
}

bool is_default_dict(PyObject* object) {
  static const PyTypeObject* const type = type_of_module("_collections", "defaultdict");
  return Py_TYPE(object) == type;
}

PyTypeObject* method_wrapper_type() {
  static PyTypeObject* const type = [] {
    const PyRef bound = PyRef::steal(PyObject_GetAttrString(Py_None, "__str__"));
    return bound ? Py_TYPE(bound.get()) : nullptr;
  }();
  return type;
}

bool has_only_names(PyTypeObject* type) {
  PyObject* order = type->tp_mro;
  for (Py_ssize_t i = 0; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    auto* names = reinterpret_cast<PyDictObject*>(type_dict(base));
    if (names != nullptr && names->ma_keys->dk_kind == DICT_KEYS_GENERAL) return false;
  }
  return true;
}

}  // namespace penstock::python
