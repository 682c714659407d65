#include "jit/executors/torch_fallback.h"

#include <algorithm>

#include "jit/executors/op_gradients.h"
#include "ops/gradients_of.h"
#include "ops/op.h"

namespace penstock::jit {

using python::PyRef;

namespace {

PyRef number_in(const runtime::TensorWindow& window) {
  if (is_floating(window.dtype)) {
    return PyRef::steal(PyFloat_FromDouble(*static_cast<const double*>(window.data)));
  }
  return PyRef::steal(PyLong_FromLongLong(*static_cast<const std::int64_t*>(window.data)));
}

}  // namespace

/// A tensor that owns nothing: it must not outlive the call.
PyRef TorchFallback::tensor_over(const runtime::TensorWindow& window) const {
  torch::TensorSpec spec;
  spec.sizes = window.sizes;
  spec.strides = window.strides;
  spec.dtype = facts(window.dtype).torch_scalar_type;
  spec.data = window.data;
  spec.device_index = window.host ? -1 : device_index_;
  spec.release = [](void*) {};
  return bridge_.make(spec);
}

Result<PyRef> TorchFallback::copy_of(PyObject* tensor) {
  const auto of = [&](ValueId) { return PyRef::borrow(tensor); };
  auto results = ops_.call("aten.clone.default", {{"self", Argument::Value{0}}}, of, symbol_of_);
  if (!results) return tl::unexpected(results.error());
  if (results->size() != 1) return failure(Code::PS0505, "a tensor could not be copied");
  return results->front();
}

Result<void> TorchFallback::write(const runtime::TensorWindow& window, PyObject* source) {
  const PyRef target = tensor_over(window);
  const Argument::Value self{0}, from{1};
  const auto of = [&](ValueId id) { return id == 0 ? target : PyRef::borrow(source); };
  auto copied = ops_.call("aten.copy_.default", {{"self", self}, {"src", from}}, of, symbol_of_);
  if (!copied) return tl::unexpected(copied.error());
  return {};
}

/// Torch's results; `storages` gets what the arguments that are tensors lie in.
Result<std::vector<PyRef>> TorchFallback::call(const FallbackCall& call, const Windows& window,
                                               std::vector<const void*>& storages) {
  // An op that writes its first argument must not write a buffer, which others read or which stays.
  ValueId written = kNoValue;
  if (ops::writes_by_name(call.op) && !call.arguments.empty()) {
    const auto* self = call.arguments.front().value.as<Argument::Value>();
    if (self != nullptr) written = self->id;
  }
  const auto value_of = [&](ValueId id) -> PyRef {
    const auto buffer = static_cast<BufferId>(id);
    if (std::ranges::find(numbers_, buffer) != numbers_.end()) return number_in(window(buffer));
    PyRef tensor = tensor_over(window(buffer));
    torch::TensorView view;
    if (tensor && device_index_ >= 0 && bridge_.read(tensor.get(), view))
      storages.push_back(view.storage);
    if (!tensor || id != written) return tensor;
    auto copy = copy_of(tensor.get());
    return copy ? std::move(*copy) : PyRef();
  };
  auto results = call.op == ops::kGradientsOf
                     ? gradients_of_op(ops_, call.arguments, value_of, symbol_of_)
                     : ops_.call(call.op, call.arguments, value_of, symbol_of_);
  if (results && results->size() < call.outputs.size())
    return failure(Code::PS0505, call.op + " gave fewer results than the graph expects");
  return results;
}

/// Lets a result be the memory of its output, or copies it there.
Result<void> TorchFallback::keep(const FallbackCall& call, std::size_t output, PyObject* result,
                                 const Windows& window, const std::vector<const void*>& storages,
                                 const Adopt* adopt) {
  const runtime::TensorWindow target = window(call.outputs[output]);
  // Copying would fill the buffer with repetitions of what is smaller.
  torch::TensorView view;
  const bool known = bridge_.read(result, view);
  if (known && !std::ranges::equal(view.sizes, target.sizes))
    return failure(Code::PS0505, call.op + " gave other sizes than the graph expects");
  const bool fits = known && view.storage_offset == 0 && view.device_type == 1 &&
                    view.dtype == facts(target.dtype).torch_scalar_type &&
                    std::ranges::equal(view.strides, target.strides) &&
                    std::ranges::find(storages, view.storage) == storages.end();
  if (adopt != nullptr && fits && (*adopt)(call.outputs[output], view.data)) {
    adopted_.emplace_back(view.data, PyRef::borrow(result));
    return {};
  }
  return write(target, result);
}

Result<void> TorchFallback::run(const FallbackCall& call, const Windows& window) {
  return run_on_device(call, window, nullptr);
}

Result<void> TorchFallback::run_on_device(const FallbackCall& call, const Windows& window,
                                          const Adopt& adopt) {
  std::vector<const void*> storages;
  auto results = this->call(call, window, storages);
  if (!results) return tl::unexpected(results.error());
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    // Of gradients that it is not asked for an op gives none.
    if (call.outputs[i] == kNoBuffer || (*results)[i].get() == Py_None) continue;
    auto kept = keep(call, i, (*results)[i].get(), window, storages, adopt ? &adopt : nullptr);
    if (!kept) return kept;
    // Two results may share memory.
    torch::TensorView view;
    if (adopt && bridge_.read((*results)[i].get(), view)) storages.push_back(view.storage);
  }
  return {};
}

PyRef TorchFallback::adopted(const void* data) const {
  for (const auto& [address, tensor] : adopted_) {
    if (address == data) return tensor;
  }
  return {};
}

}  // namespace penstock::jit
