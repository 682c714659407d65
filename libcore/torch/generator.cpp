#include "torch/generator.h"

namespace penstock::torch {

using python::PyRef;

PyRef default_generator() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  PyRef generator =
      torch == nullptr ? PyRef() : PyRef::steal(PyObject_GetAttrString(torch, "default_generator"));
  if (!generator) PyErr_Clear();
  return generator;
}

PyRef generator_state(const PyRef& generator) {
  PyRef state = generator ? PyRef::steal(PyObject_CallMethod(generator.get(), "get_state", nullptr))
                          : PyRef();
  if (!state) PyErr_Clear();
  return state;
}

bool set_generator_state(const PyRef& generator, PyObject* state) {
  const PyRef done =
      generator ? PyRef::steal(PyObject_CallMethod(generator.get(), "set_state", "O", state))
                : PyRef();
  if (!done) PyErr_Clear();
  return static_cast<bool>(done);
}

}  // namespace penstock::torch
