// Tensors over memory of ours, through DLPack.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "ir/dtype.h"
#include "torch/tensor_abi.h"

namespace penstock::torch {

using python::PyRef;

namespace {

/// DLPack's code and width of our dtypes.
struct DLPackType {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr DLPackType kTypes[] = {
    {DType::uint8, 1, 8},        {DType::int8, 0, 8},     {DType::int16, 0, 16},
    {DType::int32, 0, 32},       {DType::int64, 0, 64},   {DType::float16, 2, 16},
    {DType::float32, 2, 32},     {DType::float64, 2, 64}, {DType::complex64, 5, 64},
    {DType::complex128, 5, 128}, {DType::bool_, 6, 8},    {DType::bfloat16, 4, 16},
};

std::optional<dlpack::DataType> dlpack_type(int scalar_type) {
  const auto dtype = dtype_from_torch(scalar_type);
  if (!dtype) return std::nullopt;
  for (const DLPackType& row : kTypes) {
    if (row.dtype == *dtype) return dlpack::DataType{row.code, row.bits, 1};
  }
  return std::nullopt;
}
/// A managed tensor over memory of ours, with its shape; made and freed as one block.
struct Managed {
  dlpack::VersionedTensor versioned{};
  dlpack::ManagedTensor managed{};
  void (*release)(void*) = nullptr;
  void* context = nullptr;
  std::array<std::int64_t, 8> few;          ///< sizes and strides of up to four dimensions
  std::unique_ptr<std::int64_t[]> extents;  ///< of more
};

void destroy(Managed* managed) {
  const std::unique_ptr<Managed> owner(managed);
  if (owner->release != nullptr) owner->release(owner->context);
}
void destroy_versioned(dlpack::VersionedTensor* tensor) {
  destroy(static_cast<Managed*>(tensor->context));
}
void destroy_managed(dlpack::ManagedTensor* tensor) {
  destroy(static_cast<Managed*>(tensor->context));
}

/// A capsule that torch did not take over still owns the tensor.
void destroy_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
  auto* tensor = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  tensor->release(tensor);
}

}  // namespace

PyRef TensorBridge::make(const TensorSpec& spec) const {
  const auto dtype = dlpack_type(spec.dtype);
  if (!dtype) {
    PyErr_SetString(PyExc_TypeError, "a dtype that DLPack does not carry");
    return nullptr;
  }
  // torch throws an exception of C++ through this ABI.
  if (std::ranges::any_of(spec.strides, [](std::int64_t stride) { return stride < 0; })) {
    PyErr_SetString(PyExc_ValueError, "a tensor has no negative strides");
    return nullptr;
  }
  const std::size_t dimensions = spec.sizes.size();
  auto made = std::make_unique<Managed>();
  std::int64_t* extents = made->few.data();
  if (2 * dimensions > made->few.size()) {
    made->extents = std::make_unique<std::int64_t[]>(2 * dimensions);
    extents = made->extents.get();
  }
  std::copy(spec.sizes.begin(), spec.sizes.end(), extents);
  std::copy(spec.strides.begin(), spec.strides.end(), extents + dimensions);
  const bool host = spec.device_index < 0;
  const dlpack::Device device{host ? 1 : 2, host ? 0 : spec.device_index};
  const dlpack::Tensor tensor{spec.data, device,  static_cast<std::int32_t>(dimensions),
                              *dtype,    extents, extents + dimensions,
                              0};
  Managed* block = made.get();
  PyRef result;
  if (abi_->exchange != nullptr) {
    block->versioned = {{1, 0}, block, destroy_versioned, 0, tensor};
    void* object = nullptr;
    if (abi_->exchange->to_object(&block->versioned, &object) == 0) {
      result = PyRef::steal(static_cast<PyObject*>(object));
    }
  } else {
    block->managed = {tensor, block, destroy_managed};
    const PyRef capsule = PyRef::steal(PyCapsule_New(&block->managed, "dltensor", destroy_capsule));
    if (!capsule) return nullptr;
    made.release();  // the capsule owns it now
    result = PyRef::steal(PyObject_CallOneArg(abi_->from_dlpack.get(), capsule.get()));
  }
  if (!result) return nullptr;
  made.release();  // torch owns it now
  block->release = spec.release;
  block->context = spec.context;
  if (spec.resizable && abi_->resizable_byte != Abi::kUnknown) abi_->let_resize(result.get());
  return result;
}

}  // namespace penstock::torch
