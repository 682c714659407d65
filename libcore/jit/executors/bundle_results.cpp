// The results of a bundle: as tensors of the program's, and as what an observer keeps.
#include <algorithm>
#include <utility>

#include "jit/executors/bundle_executor.h"
#include "torch/state.h"

namespace penstock::jit {

namespace {

using python::PyRef;
using runtime::OutputTensor;
using runtime::PooledMemory;

/// The memory of a tensor, which is held as long as somebody has that. Needs the GIL throughout.
class TensorMemory final : public runtime::MemoryPool {
 public:
  TensorMemory(PyRef tensor, void* data) : tensor_(std::move(tensor)), data_(data) {}
  void* acquire(std::size_t) override { return data_; }
  void release(void*) override { tensor_ = nullptr; }

 private:
  PyRef tensor_;
  void* data_;
};

}  // namespace

/// The kernels' result in memory of its own, laid out otherwise than they left it or copied from
/// memory that is not the program's to write.
PyRef BundleExecutor::copied_tensor(std::size_t index) {
  const OutputTensor& result = results_[index];
  const TensorLayout& layout = made_layouts_[index];
  if (!std::ranges::equal(layout.sizes(), result.sizes)) {
    PyErr_SetString(PyExc_SystemError, "penstock: an output has other sizes than were recorded");
    return {};
  }
  const auto element = static_cast<std::size_t>(facts(result.dtype).size);
  const std::size_t before = static_cast<std::size_t>(layout.offset()) * element;
  const std::size_t bytes = before + static_cast<std::size_t>(layout.extent()) * element;
  if (device_index_ >= 0) return copied_on_device(index, before, bytes);
  PooledMemory memory(std::make_shared<runtime::MemoryPool>(0), bytes);
  if (!memory) {
    PyErr_NoMemory();
    return {};
  }
  copy_elements({result.data, element, result.sizes, result.strides},
                static_cast<char*>(memory.data()) + before, layout.strides());
  return pending_tensor(index, std::move(memory)).make(bridge_);
}

/// The same on a GPU, where torch copies.
PyRef BundleExecutor::copied_on_device(std::size_t index, std::size_t before, std::size_t bytes) {
  const TensorLayout& layout = made_layouts_[index];
  PooledMemory memory(executor_->memory(), bytes);
  if (!memory) {
    PyErr_NoMemory();
    return {};
  }
  const runtime::TensorWindow target{static_cast<char*>(memory.data()) + before,
                                     results_[index].dtype, layout.sizes(), layout.strides()};
  if (auto copied = copy_result(results_[index], target); !copied) {
    PyErr_SetString(PyExc_SystemError, copied.error().message.c_str());
    return {};
  }
  return pending_tensor(index, std::move(memory)).make(bridge_);
}

Result<void> BundleExecutor::copy_result(const OutputTensor& result,
                                         const runtime::TensorWindow& target) {
  const PyRef source =
      fallback_.tensor_over({result.data, result.dtype, result.sizes, result.strides});
  if (!source) return tl::unexpected(python_failure("a result could not be read"));
  return fallback_.write(target, source.get());
}

/// On a GPU an observer cannot copy what lies in memory that is someone else's: a result of an op
/// of torch's is held as torch made it, other results get memory of their own.
Result<void> BundleExecutor::own_others() {
  for (OutputTensor& result : std::span(results_).subspan(own_results_)) {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < result.sizes.size(); ++i)
      count += std::max<std::int64_t>(result.sizes[i] - 1, 0) * result.strides[i];
    const std::size_t bytes = static_cast<std::size_t>(count) * facts(result.dtype).size;
    const bool window = result.input >= 0 || result.output >= 0;
    if (PyRef made = fallback_.adopted(result.data); made && !window) {
      auto held = std::make_shared<TensorMemory>(std::move(made), result.data);
      result.memory = PooledMemory(std::move(held), bytes);
    }
    if (result.memory) continue;
    PooledMemory memory(executor_->memory(), bytes);
    if (!memory) return failure(Code::PS0505, "no memory for what backward needs");
    const runtime::TensorWindow target{memory.data(), result.dtype, result.sizes, result.strides};
    if (auto copied = copy_result(result, target); !copied) return copied;
    result.memory = std::move(memory);
    result.data = result.memory.data();
  }
  return {};
}

/// The kernels left the tensor as torch is to see it, in memory that is given away.
bool BundleExecutor::is_own(std::size_t index) const {
  const OutputTensor& result = results_[index];
  return result.memory && result.memory.data() == result.data &&
         made_layouts_[index].offset() == 0 &&
         made_layouts_[index].lies_as(result.sizes, result.strides);
}

/// The tensor that owns `memory`; its elements lie as the plan says.
PendingTensor BundleExecutor::pending_tensor(std::size_t index, PooledMemory memory) const {
  const TensorLayout& layout = made_layouts_[index];
  PendingTensor tensor;
  tensor.view.sizes = layout.sizes();
  tensor.view.strides = layout.strides();
  const std::int64_t before = layout.offset() * facts(results_[index].dtype).size;
  tensor.view.storage_offset = layout.offset();
  tensor.view.data = static_cast<char*>(memory.data()) + before;
  tensor.view.storage = memory.data();
  tensor.view.dtype = facts(results_[index].dtype).torch_scalar_type;
  tensor.view.device_type = device_index_ < 0 ? 0 : 1;
  tensor.view.device_index = device_index_;
  tensor.view.has_version = !torch::inference_mode();
  tensor.memory = std::move(memory);
  return tensor;
}

PyRef BundleExecutor::own_tensor(std::size_t index) {
  const OutputTensor& result = results_[index];
  if (device_index_ >= 0 && result.input < 0 && result.output < 0) {
    PyRef made = fallback_.adopted(result.data);
    const TensorLayout& layout = made_layouts_[index];
    torch::TensorView view;  // of torch's result, which may have other sizes than the output
    if (made && layout.offset() == 0 && layout.lies_as(result.sizes, result.strides) &&
        bridge_.read(made.get(), view) && std::ranges::equal(view.sizes, layout.sizes()) &&
        std::ranges::equal(view.strides, layout.strides()))
      return made;
  }
  if (!is_own(index)) return copied_tensor(index);
  return pending_tensor(index, std::move(results_[index].memory)).make(bridge_);
}

Result<void> BundleExecutor::make_tensors() {
  for (std::size_t i = 0; i < made_.size(); ++i) {
    made_layouts_[i].evaluate(symbols_);
    made_[i] = own_tensor(i);
    if (!made_[i]) return tl::unexpected(python_failure("an output tensor could not be made"));
  }
  return {};
}

}  // namespace penstock::jit
