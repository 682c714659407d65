#include "torch/tensor_allocations.h"

#include <utility>

#include "python/hook.h"

namespace penstock::torch {
namespace {

allocfunc g_allocate = nullptr;

PyObject* allocate(PyTypeObject* type, Py_ssize_t items) {
  python::note_tensor();
  return g_allocate(type, items);
}

}  // namespace

void watch_tensor_allocations(const TensorBridge& bridge) {
  PyTypeObject* type = bridge.tensor_type();
  if (type->tp_alloc != allocate) g_allocate = std::exchange(type->tp_alloc, allocate);
}

}  // namespace penstock::torch
