#include "python/literal_text.h"

#include "python/literal.h"

namespace penstock::python {

namespace {

constexpr std::size_t kTextLimit = 80;

std::string short_repr(PyObject* object) {
  const PyRef repr = PyRef::steal(PyObject_Repr(object));
  if (!repr) PyErr_Clear();
  std::string text = repr ? text_of(repr.get()) : "?";
  if (text.size() > kTextLimit) text.replace(kTextLimit - 3, std::string::npos, "...");
  return text;
}

/// Only built-in values all the way down: their repr runs no foreign code.
bool repr_is_safe(PyObject* object, int depth) {
  if (is_plain_immutable(object)) return true;
  if (depth == 0) return false;
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!repr_is_safe(PySequence_Fast_GET_ITEM(object, i), depth - 1)) return false;
    }
    return true;
  }
  if (!PyDict_CheckExact(object)) return false;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(object, &position, &key, &value)) {
    if (!repr_is_safe(key, depth - 1) || !repr_is_safe(value, depth - 1)) return false;
  }
  return true;
}

}  // namespace

std::string describe(PyObject* object) {
  if (object == nullptr) return "nothing";
  if (PyType_Check(object)) return reinterpret_cast<PyTypeObject*>(object)->tp_name;
  if (repr_is_safe(object, 3)) return short_repr(object);
  return "<" + std::string(Py_TYPE(object)->tp_name) + " object>";
}

std::string describe(const Argument& literal) {
  if (const auto* named = literal.as<Argument::Named>()) return named->name;
  if (const auto* dtype = literal.as<DType>()) return "torch." + std::string(facts(*dtype).name);
  if (const auto* expression = literal.as<SymExpr>()) return expression->to_string();
  PyRef object = object_of(literal);
  if (!object) {
    PyErr_Clear();
    return "?";
  }
  return short_repr(object.get());
}

}  // namespace penstock::python
