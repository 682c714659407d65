#include "tools/extension/kept_tensors.h"

#include "formats/safetensors.h"
#include "torch/tensor_bridge.h"

namespace penstock::tools {

namespace {

using python::PyRef;

PyRef call(PyObject* object, const char* method) {
  return PyRef::steal(PyObject_CallMethod(object, method, nullptr));
}

}  // namespace

Result<std::string> keep_tensor(store::Store& store, PyObject* tensor, const TensorType& type) {
  auto bridge = torch::TensorBridge::get();
  if (!bridge || *bridge == nullptr || !(*bridge)->is_tensor(tensor)) return std::string();
  PyRef plain = call(tensor, "detach");
  if (plain) plain = call(plain.get(), "cpu");
  if (plain) plain = call(plain.get(), "contiguous");
  torch::TensorView view;
  if (!plain || !(*bridge)->read(plain.get(), view)) {
    PyErr_Clear();
    return std::string();
  }
  formats::TensorBytes bytes{"data", type.dtype, {view.sizes.begin(), view.sizes.end()}, {}};
  std::size_t count = 1;
  for (std::int64_t size : bytes.sizes) count *= static_cast<std::size_t>(size);
  bytes.bytes = {static_cast<const char*>(view.data), count * facts(type.dtype).size};
  return formats::put_tensor(store, bytes);
}

}  // namespace penstock::tools
