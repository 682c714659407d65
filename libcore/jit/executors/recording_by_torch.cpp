#include "jit/executors/recording_by_torch.h"

#include <utility>

#include "torch/state.h"

namespace penstock::jit {

using python::PyRef;

namespace {

/// Keeps the Python error that is set, until this goes.
class KeptError {
 public:
  KeptError() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~KeptError() { PyErr_Restore(type_, value_, traceback_); }
  KeptError(const KeptError&) = delete;
  KeptError& operator=(const KeptError&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

}  // namespace

PyRef torch_function(const char* module, const char* name) {
  const PyRef found = PyRef::steal(PyImport_ImportModule(module));
  return found ? PyRef::steal(PyObject_GetAttrString(found.get(), name)) : nullptr;
}

GradMode::GradMode() : before_(torch::grad_enabled()) {
  set(true);
}

GradMode::~GradMode() {
  const KeptError error;
  set(before_);
}

void GradMode::set(bool enabled) {
  if (torch::grad_enabled() == enabled) return;
  const PyRef function = torch_function("torch._C", "_set_grad_enabled");
  if (function) PyRef::steal(PyObject_CallOneArg(function.get(), enabled ? Py_True : Py_False));
  PyErr_Clear();
}

NoSavingHooks::NoSavingHooks() {
  const PyRef top = torch_function("torch._C._autograd", "_top_saved_tensors_default_hooks");
  const PyRef pop = torch_function("torch._C._autograd", "_pop_saved_tensors_default_hooks");
  while (top && pop) {
    PyRef hooks = PyRef::steal(PyObject_CallOneArg(top.get(), Py_False));
    if (!hooks || !PyTuple_Check(hooks.get()) || !PyRef::steal(PyObject_CallNoArgs(pop.get())))
      break;
    hooks_.push_back(std::move(hooks));
  }
  PyErr_Clear();
}

NoSavingHooks::~NoSavingHooks() {
  if (hooks_.empty()) return;
  const KeptError error;
  const PyRef push = torch_function("torch._C._autograd", "_push_saved_tensors_default_hooks");
  for (; push && !hooks_.empty(); hooks_.pop_back())
    PyRef::steal(PyObject_CallObject(push.get(), hooks_.back().get()));
}

}  // namespace penstock::jit
