#include "torch/tensor_facts.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace penstock::torch {

namespace {

std::vector<SymExpr> sizes_of(std::span<const std::int64_t> numbers) {
  return std::vector<SymExpr>(numbers.begin(), numbers.end());
}

std::string device_text(const TensorView& view) {
  switch (view.device_type) {
    case 0:
      return "cpu";
    case 1:
      return "cuda:" + std::to_string(view.device_index);
    case 14:
      return "meta";
    default:
      return "device" + std::to_string(view.device_type);
  }
}

}  // namespace

std::optional<TensorType> type_of_tensor(const TensorBridge& bridge, PyObject* tensor) {
  TensorView view;
  if (!bridge.read(tensor, view)) {
    PyErr_Clear();
    return std::nullopt;
  }
  auto dtype = dtype_from_torch(view.dtype);
  if (!dtype) return std::nullopt;
  TensorType type;
  type.dtype = *dtype;
  type.sizes = sizes_of(view.sizes);
  type.strides = sizes_of(view.strides);
  type.storage_offset = view.storage_offset;
  type.device = device_text(view);
  type.requires_grad = view.requires_grad;
  return type;
}

std::optional<PythonNumber> element_of(const TensorView& view) {
  const bool one = std::ranges::all_of(view.sizes, [](std::int64_t size) { return size == 1; });
  const auto dtype = dtype_from_torch(view.dtype);
  if (!one || !dtype || view.device_type != 0 || view.data == nullptr) return std::nullopt;
  switch (*dtype) {
    case DType::int64:
      return PythonNumber::of(*static_cast<const std::int64_t*>(view.data));
    case DType::int32:
      return PythonNumber::of(std::int64_t{*static_cast<const std::int32_t*>(view.data)});
    case DType::int16:
      return PythonNumber::of(std::int64_t{*static_cast<const std::int16_t*>(view.data)});
    default:
      return std::nullopt;
  }
}

}  // namespace penstock::torch
