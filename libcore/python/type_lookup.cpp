#include "python/type_lookup.h"

#include "python/layout.h"
#include "python/versions/type_dict.h"

namespace penstock::python {

namespace {

/// A type of CPython's own that its headers do not name. Nothing is imported for it, which would
/// run Python code in the midst of what is walked: as long as its module is not there, no object is
/// of it.
class TypeOfModule {
 public:
  constexpr TypeOfModule(const char* module, const char* name) : module_(module), name_(name) {}
  bool is_of(PyObject* object) {
    if (type_ == nullptr) find();
    return type_ != nullptr && Py_TYPE(object) == type_;
  }

 private:
  void find() {
    PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), module_);
    PyRef type = module != nullptr && PyModule_Check(module)
                     ? PyRef::steal(PyObject_GetAttrString(module, name_))
                     : PyRef();
    PyErr_Clear();
    if (type && PyType_Check(type.get())) type_ = reinterpret_cast<PyTypeObject*>(type.release());
  }

  const char* module_;
  const char* name_;
  PyTypeObject* type_ = nullptr;
};

}  // namespace

bool is_deque(PyObject* object) {
  static TypeOfModule type("_collections", "deque");
  return type.is_of(object);
}

PyObject* item_of_deque(PyObject* deque, Py_ssize_t index) {
  const PyRef item = PyRef::steal(PySequence_GetItem(deque, index));
  if (!item) PyErr_Clear();
  return item.get();  // the deque holds it
}

bool is_default_dict(PyObject* object) {
  static TypeOfModule type("_collections", "defaultdict");
  return type.is_of(object);
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
