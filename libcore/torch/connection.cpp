#include "torch/connection.h"

#include "python/tensor_functions.h"
#include "torch/op_counter.h"
#include "torch/state.h"
#include "torch/tensor_bridge.h"

namespace penstock::torch {

namespace {

constexpr std::int32_t kBool = 11;  // c10::ScalarType
constexpr std::int32_t kCpu = 0;    // c10::DeviceType

/// The one element of a bool tensor whose memory is at hand, read as torch would: the branch behind
/// a comparison of tensors. -1 for everything else, of which torch is asked.
int truth_of_element(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return -1;
  const auto bridge = TensorBridge::get();
  if (!bridge || *bridge == nullptr || !(*bridge)->is_plain_tensor(object)) return -1;
  if (!has_torch_truth(Py_TYPE(object)) || !ops_run_plainly()) return -1;
  TensorView view;
  if (!(*bridge)->read(object, view)) {
    PyErr_Clear();
    return -1;
  }
  if (view.dtype != kBool || view.device_type != kCpu || view.data == nullptr) return -1;
  for (const std::int64_t size : view.sizes) {
    if (size != 1) return -1;
  }
  count_op_as_run();  // aten::is_nonzero
  return *static_cast<const unsigned char*>(view.data) != 0 ? 1 : 0;
}

}  // namespace

void connect_to_python() {
  python::set_tensor_functions({truth_of_element, begin_ops_apart, end_ops_apart});
}

}  // namespace penstock::torch
