#include "python/getter.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "python/literal.h"
#include "python/object.h"

namespace penstock::python {

bool is_getter(PyObject* object) {
  constexpr std::array<std::string_view, 3> kNames = {"operator.itemgetter", "operator.attrgetter",
                                                      "operator.methodcaller"};
  return std::ranges::find(kNames, std::string_view(Py_TYPE(object)->tp_name)) != kNames.end();
}

namespace {

bool holds_literals(PyObject* sequence) {
  const PyRef items = PyRef::steal(PySequence_Fast(sequence, ""));
  if (!items) PyErr_Clear();
  for (Py_ssize_t i = 0; items && i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    if (!python::is_immutable_literal(PySequence_Fast_GET_ITEM(items.get(), i))) return false;
  }
  return static_cast<bool>(items);
}

}  // namespace

/// It tells what it was made of itself: the class and what that was called with, or, of a
/// methodcaller with names, a partial of the class and the rest.
bool is_getter_of_literals(PyObject* getter) {
  if (!is_getter(getter)) return false;
  const PyRef parts = PyRef::steal(PyObject_CallMethod(getter, "__reduce__", nullptr));
  PyErr_Clear();
  if (!parts || !PyTuple_Check(parts.get()) || PyTuple_GET_SIZE(parts.get()) != 2) return false;
  PyObject* maker = PyTuple_GET_ITEM(parts.get(), 0);
  if (!holds_literals(PyTuple_GET_ITEM(parts.get(), 1))) return false;
  if (PyType_Check(maker)) return true;
  const PyRef args = PyRef::steal(PyObject_GetAttrString(maker, "args"));
  const PyRef named = PyRef::steal(PyObject_GetAttrString(maker, "keywords"));
  PyErr_Clear();
  if (!args || !named || !PyDict_Check(named.get())) return false;
  const PyRef values = PyRef::steal(PyDict_Values(named.get()));
  return holds_literals(args.get()) && values && holds_literals(values.get());
}

}  // namespace penstock::python
