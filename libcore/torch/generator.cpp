#include "torch/generator.h"

namespace penstock::torch {

using python::PyRef;

PyRef default_generator(int gpu) {
  PyObject* torch =
      PyDict_GetItemString(PyImport_GetModuleDict(), gpu < 0 ? "torch" : "torch.cuda");
  PyRef generator = torch == nullptr
                        ? PyRef()
                        : PyRef::steal(PyObject_GetAttrString(
                              torch, gpu < 0 ? "default_generator" : "default_generators"));
  if (generator && gpu >= 0) generator = PyRef::steal(PySequence_GetItem(generator.get(), gpu));
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
