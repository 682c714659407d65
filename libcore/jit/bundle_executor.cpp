#include "jit/bundle_executor.h"

#include <algorithm>
#include <cstring>

#include "jit/torch_state.h"

namespace penstock::jit {
namespace {

using python::PyRef;
using runtime::OutputTensor;
using runtime::PooledMemory;

PyRef tuple_of(std::span<const std::int64_t> numbers) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t i = 0; tuple && i < numbers.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(numbers[i]);
    if (number == nullptr) return {};
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), number);
  }
  return tuple;
}

/// A view of `base`'s storage, as torch makes it: it shares the version counter.
PyRef view_of(PyObject* base, const OutputTensor& like, std::int64_t offset) {
  static PyObject* const name = PyUnicode_InternFromString("as_strided");
  PyRef sizes = tuple_of(like.sizes), strides = tuple_of(like.strides);
  PyRef start = PyRef::steal(PyLong_FromLongLong(offset));
  if (base == nullptr || !sizes || !strides || !start) return {};
  PyObject* arguments[] = {base, sizes.get(), strides.get(), start.get()};
  return PyRef::steal(PyObject_VectorcallMethod(name, arguments, 4, nullptr));
}

void release_memory(void* context) { delete static_cast<PooledMemory*>(context); }

PyRef tensor_of(const python::TensorBridge& bridge, const OutputTensor& result, void* data,
                PooledMemory memory) {
  auto* owner = new PooledMemory(std::move(memory));
  python::TensorSpec spec;
  spec.sizes = result.sizes;
  spec.strides = result.strides;
  spec.dtype = facts(result.dtype).torch_scalar_type;
  spec.data = data;
  spec.release = release_memory;
  spec.context = owner;
  PyRef tensor = bridge.make(spec);
  if (!tensor) delete owner;
  return tensor;
}

/// Elements between two addresses in the same memory.
std::int64_t distance(const void* from, const void* to, DType dtype) {
  return (static_cast<const char*>(to) - static_cast<const char*>(from)) / facts(dtype).size;
}

Diagnostic take_error(std::string what) {
  PyErr_Clear();
  return Diagnostic{Code::PS0505, std::move(what), {}, {}, {}, Severity::warning};
}

}  // namespace

Result<std::unique_ptr<Executor>> BundleExecutor::create(std::shared_ptr<runtime::Runtime> runtime,
                                                         KernelBundle bundle,
                                                         runtime::BlobSource& blobs,
                                                         std::size_t outputs) {
  auto bridge = python::TensorBridge::get();
  if (!bridge) return tl::unexpected(bridge.error());
  if (*bridge == nullptr) return failure(Code::PS0505, "torch is not imported");
  const Interface& interface = bundle.interface;
  for (const Input& input : interface.inputs) {
    if (input.source == kNoSource) {
      return failure(Code::PS0505, "the input " + input.name + " is reached by no source");
    }
  }
  if (bundle.outputs.size() < outputs) {
    return failure(Code::PS0601, "a bundle has fewer outputs than its graph");
  }
  std::unique_ptr<BundleExecutor> made(new BundleExecutor(**bridge));
  for (const Mutation& mutation : interface.mutations) made->mutated_.push_back(mutation.input);
  made->arguments_.resize(interface.inputs.size());
  made->integers_.resize(interface.inputs.size());
  made->reals_.resize(interface.inputs.size());
  made->results_.resize(bundle.outputs.size());
  auto executor = runtime::Executor::create(std::move(runtime), std::move(bundle), blobs,
                                            &made->fallback_);
  if (!executor) return tl::unexpected(executor.error());
  made->executor_ = std::move(*executor);
  return made;
}

void BundleExecutor::pass_inputs(std::span<const InputValue> inputs) {
  const Interface& interface = executor_->bundle().interface;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    runtime::TensorArgument& argument = arguments_[i];
    if (const python::TensorView* view = inputs[i].view) {
      argument.data = view->data;
      argument.sizes = view->sizes;
      argument.strides = view->strides;
      argument.version = view->has_version ? view->version : runtime::kUnversioned;
      continue;
    }
    integers_[i] = inputs[i].integer;
    reals_[i] = inputs[i].real;
    const bool real = is_floating(interface.inputs[i].type.dtype);
    argument.data = real ? static_cast<void*>(&reals_[i]) : &integers_[i];
    argument.sizes = {};
    argument.strides = {};
  }
}

PyRef BundleExecutor::make_output(std::size_t index, std::span<const InputValue> inputs,
                                  std::span<const PyRef> outputs) {
  OutputTensor& result = results_[index];
  if (result.input >= 0) {
    const InputValue& base = inputs[result.input];
    return view_of(base.object, result,
                   base.view->storage_offset +
                       distance(base.view->data, result.data, result.dtype));
  }
  if (result.output >= 0) {
    const OutputTensor& base = results_[result.output];
    return view_of(outputs[result.output].get(), result,
                   distance(base.data, result.data, result.dtype));
  }
  if (!result.constant) {
    return tensor_of(bridge_, result, result.data, std::move(result.memory));
  }
  // The program may write what it gets: a constant of the bundle is copied.
  std::int64_t last = 0;
  for (std::size_t i = 0; i < result.sizes.size(); ++i) {
    last += (result.sizes[i] - 1) * result.strides[i];
  }
  const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(last + 1, 0)) *
                            static_cast<std::size_t>(facts(result.dtype).size);
  PooledMemory memory(std::make_shared<runtime::MemoryPool>(0), bytes);
  void* data = memory.data();
  if (data == nullptr) return {};
  std::memcpy(data, result.data, bytes);
  return tensor_of(bridge_, result, data, std::move(memory));
}

Result<void> BundleExecutor::run(std::span<const InputValue> inputs, std::span<PyRef> outputs,
                                 bool& written) {
  pass_inputs(inputs);
  auto done = executor_->run(arguments_, results_);
  if (!done) return done;
  written = !mutated_.empty();
  for (const std::int32_t input : mutated_) {
    if (!bump_version(inputs[input].object)) {
      return tl::unexpected(take_error("an input's version could not be counted up"));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = make_output(i, inputs, outputs);
    if (!outputs[i]) return tl::unexpected(take_error("an output tensor could not be made"));
  }
  for (OutputTensor& result : results_) result = OutputTensor{};
  return {};
}

}  // namespace penstock::jit
