#include "python/type_lookup.h"

#include "python/layout.h"
#include "python/versions/type_dict.h"

namespace penstock::python {

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
