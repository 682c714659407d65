#include "jit/executors/checked_executor.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "jit/executors/tensor_difference.h"
#include "jit/executors/torch_run.h"
#include "jit/restore/tensor_layout.h"
#include "ops/op.h"
#include "torch/ops.h"

namespace penstock::jit {

using guards::InputValue;

namespace {

using python::PyRef;
using torch::TensorView;

constexpr std::int32_t kCpu = 0;  // c10::DeviceType

/// How many elements of the tensor's dtype its whole memory holds; negative when that cannot be
/// told.
std::int64_t elements_of_memory(PyObject* tensor, const TensorView& view) {
  const auto dtype = dtype_from_torch(view.dtype);
  const PyRef storage = PyRef::steal(PyObject_CallMethod(tensor, "untyped_storage", nullptr));
  const PyRef bytes =
      storage ? PyRef::steal(PyObject_CallMethod(storage.get(), "nbytes", nullptr)) : PyRef();
  if (!bytes || !dtype) return -1;
  return PyLong_AsLongLong(bytes.get()) / facts(*dtype).size;
}

/// Copies of a call's inputs, which share memory as the inputs do.
class Copies {
 public:
  /// False where an input is no dense tensor in the CPU's memory.
  bool make(const Interface& interface, std::span<const InputValue> inputs,
            const torch::TensorBridge& bridge) {
    views_.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      InputValue value = inputs[i];
      PyRef object = PyRef::borrow(value.object);
      if (value.view != nullptr) {
        if (value.object == nullptr || value.view->device_type != kCpu) return false;
        object = copy_of(value);
        if (!object || !bridge.read(object.get(), views_[i])) return false;
        value.view = &views_[i];
        value.object = object.get();
      } else if (interface.inputs[i].kind == InputKind::generator) {
        return false;
      } else if (!object) {
        object = PyRef::steal(is_floating(interface.inputs[i].type.dtype)
                                  ? PyFloat_FromDouble(value.real)
                                  : PyLong_FromLongLong(value.integer));
        if (!object) return false;
      }
      objects.push_back(std::move(object));
      values.push_back(value);
    }
    return true;
  }

  std::vector<PyRef> objects;
  std::vector<InputValue> values;

 private:
  PyRef copy_of(const InputValue& input) {
    const TensorView& view = *input.view;
    PyRef& memory = memories_[view.storage][view.dtype];
    if (!memory) {
      const std::int64_t count[] = {elements_of_memory(input.object, view)}, step[] = {1};
      const PyRef whole = count[0] < 0 ? PyRef() : strided(input.object, count, step, 0);
      if (whole) memory = PyRef::steal(PyObject_CallMethod(whole.get(), "clone", nullptr));
      if (!memory) return {};
    }
    return strided(memory.get(), view.sizes, view.strides, view.storage_offset);
  }

  std::vector<TensorView> views_;
  std::unordered_map<const void*, std::unordered_map<std::int32_t, PyRef>> memories_;
};

/// By output, whether it is memory as it was found: made by an op that sets no elements, or a view
/// of that, and written by no op of the graph.
std::vector<bool> outputs_as_found(const Graph& graph) {
  std::vector<ValueId> found(graph.values.size(), kNoValue);  // the value whose memory it is
  std::unordered_set<ValueId> written;
  for (const Node& node : graph.nodes) {
    const ops::OpFacts* op = ops::find_op(node.op);
    if (op == nullptr) continue;
    const ValueId self = node.args.empty() ? kNoValue : operand_value(node, node.args[0].name);
    const ValueId base = self == kNoValue ? kNoValue : found[self];
    if (op->has(ops::kMutates)) written.insert(base);
    for (const ValueId result : node.results) {
      if (node.op.find("empty") != std::string::npos) found[result] = result;
      if (op->has(ops::kView) || op->has(ops::kMutates)) found[result] = base;
    }
  }
  std::vector<bool> outputs;
  for (const ValueId id : graph.outputs)
    outputs.push_back(found[id] != kNoValue && !written.contains(found[id]));
  return outputs;
}

class CheckedExecutor final : public Executor {
 public:
  CheckedExecutor(std::unique_ptr<Executor> executor, Graph graph,
                  const torch::TensorBridge& bridge)
      : executor_(std::move(executor)), graph_(std::move(graph)), bridge_(bridge) {
    as_found_ = outputs_as_found(graph_);
    all_.resize(graph_.interface.inputs.size());
    std::iota(all_.begin(), all_.end(), 0U);
  }

  Result<void> run(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) override {
    if (!is_due(call)) return executor_->run(call, outputs, written);
    if (auto same = check(call); !same) return same;
    PyErr_Clear();
    // The executor's last call was one with the copies.
    return executor_->run({call.inputs, all_, call.symbols, call.kernel_time}, outputs, written);
  }

  std::span<const Guard> guards() const override { return executor_->guards(); }
  bool takes_pending() const override { return runs_ >= kMost && executor_->takes_pending(); }
  bool leaves_pending() const override { return runs_ >= kMost && executor_->leaves_pending(); }
  Result<bool> run_pending(const ExecutorCall& call, std::span<PendingTensor> pending,
                           std::span<PyRef> outputs) override {
    return executor_->run_pending(call, pending, outputs);
  }

 private:
  static constexpr int kFirst = 3;  ///< runs that are compared …
  static constexpr int kMost =
      12;  ///< … and as many in all with sizes that were not compared before

  bool is_due(const ExecutorCall& call) {
    if (runs_ >= kMost) return false;
    const std::size_t count = graph_.interface.symbols.size();
    std::vector<std::int64_t> symbols(call.symbols, call.symbols + count);
    const bool other = symbols != symbols_;
    symbols_ = std::move(symbols);
    return ++runs_ <= kFirst || other;
  }

  Result<void> check(const ExecutorCall& call) {
    RandomState random;
    Copies ours, torchs;
    if (!ours.make(graph_.interface, call.inputs, bridge_) ||
        !torchs.make(graph_.interface, call.inputs, bridge_))
      return {};
    std::vector<PyRef> outputs(graph_.outputs.size());
    bool written = false;
    if (auto done = executor_->run({ours.values, all_, call.symbols, nullptr}, outputs, written);
        !done)
      return done;
    random.restore();
    std::vector<PyRef> expected;
    if (!run_torch(call, torchs, expected)) return {};
    return compare(ours, outputs, torchs, expected);
  }

  /// The graph's outputs by torch's own ops; false where torch does not run one.
  bool run_torch(const ExecutorCall& call, const Copies& inputs, std::vector<PyRef>& outputs) {
    std::vector<PyRef> values(graph_.values.size());
    std::ranges::copy(inputs.objects, values.begin());
    if (!run_by_torch(graph_, call.symbols, ops_, bridge_, values)) return false;
    for (const ValueId id : graph_.outputs) outputs.push_back(values[id]);
    return std::ranges::all_of(outputs,
                               [](const PyRef& output) { return static_cast<bool>(output); });
  }

  Result<void> compare(const Copies& ours, const std::vector<PyRef>& outputs, const Copies& torchs,
                       const std::vector<PyRef>& expected) const {
    Sharing shared, expected_shared;
    for (std::size_t i = 0; i < ours.objects.size(); ++i) {
      if (ours.values[i].view == nullptr) continue;
      const std::string name = "input " + graph_.interface.inputs[i].name;
      if (auto same =
              compare({name, false}, ours.objects[i], torchs.objects[i], shared, expected_shared);
          !same)
        return same;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string name =
          "output " + std::to_string(i) + " (" + graph_.values[graph_.outputs[i]].name + ")";
      if (auto same =
              compare({name, as_found_[i]}, outputs[i], expected[i], shared, expected_shared);
          !same)
        return same;
    }
    return {};
  }

  /// Which tensor was the first in a piece of memory, by that memory.
  struct Sharing {
    std::unordered_map<const void*, int> first;
    int count = 0;
    int place_of(const void* storage) { return first.emplace(storage, count++).first->second; }
  };

  struct Compared {
    std::string name;
    bool as_found = false;  ///< its elements may be any
  };

  Result<void> compare(const Compared& what, const PyRef& ours, const PyRef& expected,
                       Sharing& shared, Sharing& expected_shared) const {
    TensorView a, b;
    const bool read = bridge_.read(ours.get(), a) && bridge_.read(expected.get(), b);
    PyErr_Clear();
    if (!read || b.device_type != kCpu) return {};
    auto how = what.as_found ? layout_difference(a, b) : difference(a, b);
    const bool has_elements = std::ranges::find(b.sizes, 0) == b.sizes.end();
    if (!how && has_elements && shared.place_of(a.storage) != expected_shared.place_of(b.storage)) {
      how = "it shares memory with other tensors than torch's does";
    }
    if (!how) return {};
    return failure(Code::PS0506, what.name + " is not what torch gives: " + *how);
  }

  std::unique_ptr<Executor> executor_;
  Graph graph_;
  const torch::TensorBridge& bridge_;
  torch::TorchOps ops_;
  std::vector<bool> as_found_;  ///< by output: memory as it was found
  std::vector<std::uint32_t> all_;
  std::vector<std::int64_t> symbols_;
  int runs_ = 0;
};

}  // namespace

std::unique_ptr<Executor> check_first_runs(std::unique_ptr<Executor> executor, Graph graph,
                                           const torch::TensorBridge& bridge) {
  return std::make_unique<CheckedExecutor>(std::move(executor), std::move(graph), bridge);
}

}  // namespace penstock::jit
