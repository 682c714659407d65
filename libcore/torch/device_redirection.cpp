#include "torch/device_redirection.h"

#include <cstdint>
#include <utility>

namespace penstock::torch {

using python::PyRef;

namespace {

/// An attribute of the module `name`; null where it is missing.
PyRef part_of(const char* name, const char* attribute) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
  PyRef part =
      PyRef::steal(module == nullptr ? nullptr : PyObject_GetAttrString(module, attribute));
  if (!part) PyErr_Clear();
  return part;
}

/// Null where it raised.
template <class... Arguments>
PyRef call(const char* module, const char* function, const char* format, Arguments... arguments) {
  const PyRef callable = part_of(module, function);
  if (!callable) return {};
  PyRef result = PyRef::steal(PyObject_CallFunction(callable.get(), format, arguments...));
  if (!result) PyErr_Clear();
  return result;
}

}  // namespace

std::shared_ptr<void> DeviceRedirection::begin(void* stream) {
  if (!pool_) pool_ = call("torch.cuda", "graph_pool_handle", nullptr);
  const auto address = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(stream));
  const PyRef other = call("torch.cuda", "ExternalStream", "Ki", address, index_);
  PyRef before = call("torch.cuda", "current_stream", "i", index_);
  if (!pool_ || !other || !before) return nullptr;
  if (!call("torch._C", "_cuda_beginAllocateCurrentThreadToPool", "iO", index_, pool_.get()))
    return nullptr;
  std::shared_ptr<void> redirected(before.get(), [this](void* object) {
    end(static_cast<PyObject*>(object));
    Py_DECREF(static_cast<PyObject*>(object));
  });
  before.release();
  return call("torch.cuda", "set_stream", "(O)", other.get()) ? redirected : nullptr;
}

void DeviceRedirection::end(PyObject* before) {
  call("torch.cuda", "set_stream", "(O)", before);
  call("torch._C", "_cuda_endAllocateToPool", "iO", index_, pool_.get());
  // A pool that is not in use gives its memory back, which graphs still work on.
  if (std::exchange(is_kept_, true))
    call("torch._C", "_cuda_releasePool", "iO", index_, pool_.get());
}

}  // namespace penstock::torch
