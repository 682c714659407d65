#include "python/type_lookup.h"

#include "python/layout.h"

namespace penstock::python {

bool has_only_names(PyTypeObject* type) {
  PyObject* order = type->tp_mro;
  for (Py_ssize_t i = 0; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    auto* names = reinterpret_cast<PyDictObject*>(base->tp_dict);
    if (names != nullptr && names->ma_keys->dk_kind == DICT_KEYS_GENERAL) return false;
  }
  return true;
}

}  // namespace penstock::python
