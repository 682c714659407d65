// Segments that torch records gradients of.
//
// Problem. torch's graph of gradients is made op by op, of nodes that torch knows; kernels of ours
// leave none. What a program does with it is not ours to know: it may go backward twice, or never,
// from any later op, with hooks, in another thread, and ask for gradients of gradients.
//
// Idea. The tensors that the kernels made get one node of ours, which torch's engine calls as any
// other (torch/gradient_node.h). Behind it everything is torch's own: views of the results, sums of
// gradients, hooks, .grad. The node holds what the cut left for backward: memory of the forward
// kernels that nobody else sees, and the inputs and outputs that derivatives read, through torch,
// so that torch tells when one was written meanwhile.
//
// Where the kernels of backward have no answer (gradients of gradients, tangents of an odd kind,
// two threads in one entry) the recorded ops are run once more by torch, under gradient mode, on
// the same inputs; that gives the gradients as torch computes them, to any order. Random numbers
// are drawn again from the state that the generator had then.
#include "jit/executors/gradient_executor.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <utility>

#include "autodiff/saved_operands.h"
#include "ir/device.h"
#include "jit/executors/gradient_paths.h"
#include "jit/executors/gradient_replay.h"
#include "jit/executors/recording_by_torch.h"
#include "jit/executors/torch_run.h"
#include "jit/restore/tensor_layout.h"
#include "ops/op.h"
#include "python/literal.h"
#include "torch/autocast.h"
#include "torch/gradient_node.h"
#include "torch/profiler_range.h"
#include "torch/state.h"

namespace penstock::jit {

using guards::InputValue;
using python::PyRef;
using runtime::OutputTensor;
namespace {

/// A result of forward's kernels that only backward reads.
struct KeptResult {
  runtime::PooledMemory memory;
  void* data = nullptr;
  std::int32_t dtype = 0;
  std::vector<std::int64_t> sizes, strides;

  /// Takes the result over; copies what lies in memory that is someone else's.
  bool take(OutputTensor& result) {
    sizes.assign(result.sizes.begin(), result.sizes.end());
    strides.assign(result.strides.begin(), result.strides.end());
    dtype = facts(result.dtype).torch_scalar_type;
    data = result.data;
    memory = std::move(result.memory);
    if (memory) return true;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      last += std::max<std::int64_t>(sizes[i] - 1, 0) * strides[i];
    const auto element = static_cast<std::size_t>(facts(result.dtype).size);
    memory = runtime::PooledMemory(std::make_shared<runtime::MemoryPool>(0),
                                   static_cast<std::size_t>(last + 1) * element);
    if (!memory) return false;
    copy_elements({result.data, element, result.sizes, result.strides}, memory.data(), strides);
    data = memory.data();
    return true;
  }
};

/// A tensor of its own with what is in `tensor` now; null with a Python error set.
PyRef detached_copy(PyObject* tensor) {
  const PyRef detached = PyRef::steal(PyObject_CallMethod(tensor, "detach", nullptr));
  return PyRef::steal(detached ? PyObject_CallMethod(detached.get(), "clone", nullptr) : nullptr);
}

/// What torch keeps of the inputs of a call: tensors that show their memory, where the program may
/// give the inputs other memory meanwhile. False with a Python error set.
bool keep_inputs(const GradientProgram& program, const ExecutorCall& call,
                 std::vector<PyRef>& kept) {
  static PyObject* const detach = PyUnicode_InternFromString("detach");
  static PyObject* const data = PyUnicode_InternFromString("data");
  using enum autodiff::SavedAs;
  for (std::size_t i = 0; i < program.kept_inputs.size(); ++i) {
    PyObject* input = call.inputs[program.kept_inputs[i]].object;
    const autodiff::SavedAs as = program.kept_as[i];
    kept.push_back(as == view        ? PyRef::steal(PyObject_CallMethodNoArgs(input, detach))
                   : as == uncounted ? PyRef::steal(PyObject_GetAttr(input, data))
                                     : PyRef::borrow(input));
    if (!kept.back()) return false;
  }
  return true;
}

class GradientRun final : public torch::GradientNode {
 public:
  /// `before`: what the call writes, as it was, one per input; null where it is not kept.
  GradientRun(std::shared_ptr<GradientProgram> program, const ExecutorCall& call, PyRef random,
              std::vector<PyRef> before)
      : program_(std::move(program)) {
    const GradientParts& parts = program_->parts;
    ++program_->calls;
    if (parts.trial) round_ = parts.trial->round_of(*parts.gate);
    const Interface& interface = parts.recorded.interface;
    replay_.random = std::move(random);
    replay_.symbols.assign(call.symbols, call.symbols + interface.symbols.size());
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const InputValue& value = call.inputs[i];
      HeldInput& held = replay_.inputs.emplace_back();
      held = {PyRef::borrow(value.object), value.integer, value.real, 0};
      if (value.view != nullptr) held.version = program_->bridge->version(value.object);
      if (i < before.size() && before[i]) held.object = std::move(before[i]);
    }
  }

  bool holds_nothing() const override { return program_->saves_nothing; }

  bool keep(std::span<OutputTensor> others) {
    results_.resize(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (!results_[i].take(others[i])) return false;
    }
    return true;
  }
  /// Keeps a copy of a tensor as it is now. False with a Python error set.
  bool keep_copy(PyObject* tensor) {
    copies_.push_back(detached_copy(tensor));
    return static_cast<bool>(copies_.back());
  }
  /// The same of an input; torch's ops read the copy too, unless gradients go on behind the input.
  bool keep_input(std::uint32_t input, PyObject* tensor) {
    if (!keep_copy(tensor)) return false;
    if (std::ranges::find(program_->inputs, input) != program_->inputs.end()) return true;
    HeldInput& held = replay_.inputs[input];
    held.object = copies_.back();
    held.version = program_->bridge->version(held.object.get());
    return true;
  }
  /// The same of an input that gradients go on behind, where that costs little: torch's ops read
  /// the copy, and what is behind the input now stays behind it whatever the program writes.
  bool keep_behind(std::uint32_t input, const InputValue& value) {
    constexpr std::int64_t kLittle = std::int64_t{1} << 16;  // elements
    if (value.view == nullptr) return true;
    const auto& sizes = value.view->sizes;
    if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()) > kLittle)
      return true;
    const PyRef leaf = PyRef::steal(PyObject_GetAttrString(value.object, "is_leaf"));
    if (!leaf || leaf.get() == Py_True) return static_cast<bool>(leaf);
    HeldInput& held = replay_.inputs[input];
    held.object = PyRef::steal(PyObject_CallMethod(value.object, "clone", nullptr));
    if (held.object) held.version = program_->bridge->version(held.object.get());
    return static_cast<bool>(held.object);
  }
  void note_output(PyObject* made) {
    torch::TensorView view;
    if (!program_->bridge->read(made, view)) return PyErr_Clear();
    OutputShape& shape = outputs_.emplace_back();
    shape.sizes.assign(view.sizes.begin(), view.sizes.end());
    shape.dtype = view.dtype;
  }

  bool backward(std::span<PyObject* const> kept, std::span<PyObject* const> tangents, bool keep,
                std::vector<PyRef>& gradients) override {
    const std::shared_ptr<GradientProgram> program = program_;
    gradients.assign(program->inputs.size(), nullptr);
    if (std::ranges::all_of(tangents, [](PyObject* one) { return one == nullptr; })) return true;
    const bool measured = program->parts.gate && program->parts.gate->open();
    if (measured && program->parts.trial)
      program->parts.trial->node_ran(*program->parts.gate, round_);
    const auto begin = measured ? program->now() : Gate::Nanoseconds();
    bool kernels = false;
    if (!torch::grad_enabled() && !program->running) {
      const torch::WithoutAutocast as_recorded;
      kernels = torch::backward_runs_plainly() && run_kernels(kept, tangents, gradients);
    }
    const auto by_entry = measured ? program->now() - begin : Gate::Nanoseconds();
    if (!kernels && (PyErr_Occurred() != nullptr || !run_again(tangents, gradients))) return false;
    drop_unreached(tangents, gradients);
    const bool ends = !keep && !holds_nothing();
    if (ends) {
      results_.clear();
      copies_.clear();
    }
    if (kernels && measured) measure(tangents, by_entry);
    if (ends) replay_ = {};
    return true;
  }

 private:
  struct OutputShape {
    std::vector<std::int64_t> sizes;
    std::int32_t dtype = 0;
  };
  /// Backward's inputs, and what they point to.
  struct Arguments {
    std::vector<InputValue> values;
    std::vector<torch::TensorView> views;
    std::vector<PyRef> objects;
  };

  /// The gradients by torch's own ops, of what kernels have no answer for.
  bool run_again(std::span<PyObject* const> tangents, std::vector<PyRef>& gradients) {
    const auto begin = program_->now();
    std::chrono::nanoseconds engine_time{};
    if (!differentiate_by_torch(*program_, replay_, tangents, gradients, engine_time)) return false;
    Gate* gate = program_->parts.gate.get();
    if (gate != nullptr)
      gate->torch_ran_again(program_->now() - begin - engine_time, program_->calls);
    return true;
  }

  /// Tells the gate what kernels took, and what torch takes, for the same gradients. What torch
  /// saves must not come on top of what the entry holds; its run with fresh memory does not count.
  void measure(std::span<PyObject* const> tangents, std::chrono::nanoseconds by_entry) {
    const GradientParts& parts = program_->parts;
    Gate& gate = *parts.gate;
    gate.entry_ran_backward(parts.backward_number, by_entry);
    if (!gate.wants_backward(parts.backward_number)) return;
    const bool is_large = static_cast<bool>(parts.give_back_memory);
    if (is_large) {
      parts.give_back_memory();
      gate.memory_was_given_back();
    }
    const int runs = is_large ? 1 + Gate::kBackwardsOfLong : 1;
    std::chrono::nanoseconds by_torch{0};
    for (int i = 0; i < runs && time_torch(tangents, by_torch); ++i)
      gate.torch_ran_backward(parts.backward_number, by_torch);
    PyErr_Clear();
  }
  bool time_torch(std::span<PyObject* const> tangents, std::chrono::nanoseconds& time) {
    std::vector<PyRef> gradients(program_->inputs.size());
    return differentiate_by_torch(*program_, replay_, tangents, gradients, time);
  }

  /// False without a Python error: kernels have no answer.
  bool run_kernels(std::span<PyObject* const> kept, std::span<PyObject* const> tangents,
                   std::vector<PyRef>& gradients) {
    GradientProgram& program = *program_;
    const Interface& interface = program.parts.backward_interface;
    const torch::ProfilerRange range(interface.id, interface.name, "backward");
    Arguments arguments;
    if (!fill(kept, tangents, arguments)) return false;
    std::vector<PyRef> outputs(interface.outputs.size());
    bool written = false;
    program.running = true;
    const auto done = program.parts.backward->run(
        {arguments.values, program.all, replay_.symbols.data(), nullptr}, outputs, written);
    program.running = false;
    if (!done) return false;
    const auto& order = interface.training.gradients;
    for (std::size_t i = 0; i < order.size(); ++i)
      gradients[program.gradients[i]] =
          std::move(outputs[static_cast<std::size_t>(order[i].output)]);
    return true;
  }

  bool fill(std::span<PyObject* const> kept, std::span<PyObject* const> tangents,
            Arguments& arguments) {
    const GradientProgram& program = *program_;
    const Interface& interface = program.parts.backward_interface;
    const std::size_t count = interface.inputs.size();
    arguments.values.resize(count);
    arguments.views.resize(count);
    const TrainingPart& training = interface.training;
    for (std::size_t i = 0; i < training.tangents.size(); ++i) {
      if (!fill_tangent(training.tangents[i], program.tangents[i], tangents, arguments))
        return false;
    }
    for (std::size_t i = 0; i < training.saved.size(); ++i) {
      if (!fill_place(training.saved[i].input, program.saved[i], kept, arguments)) return false;
    }
    for (std::size_t i = 0; i < training.passed.size(); ++i) {
      if (!fill_place(training.passed[i].input, program.passed[i], kept, arguments)) return false;
    }
    fill_sizes(arguments);
    return true;
  }

  bool fill_place(std::int32_t backward_input, const GradientProgram::Place& place,
                  std::span<PyObject* const> kept, Arguments& arguments) const {
    using Kind = GradientProgram::Place::Kind;
    const auto input = static_cast<std::size_t>(backward_input);
    switch (place.kind) {
      case Kind::kept:
        return place.index < kept.size() && fill_tensor(input, kept[place.index], arguments);
      case Kind::copied:
        return fill_tensor(input, copies_[place.index].get(), arguments);
      case Kind::result:
        fill_result(input, results_[place.index], arguments);
        return true;
      case Kind::held:
        break;
    }
    const HeldInput& held = replay_.inputs[place.index];
    arguments.values[input] = {held.object.get(), nullptr, held.integer, held.real};
    return true;
  }

  /// Sizes that no tensor among backward's inputs shows.
  void fill_sizes(Arguments& arguments) const {
    const Interface& interface = program_->parts.backward_interface;
    for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
      const Input& input = interface.inputs[i];
      if (input.kind != InputKind::size) continue;
      const auto& symbols = interface.symbols;
      // One that elements decided in forward has no source, but its name.
      const auto symbol = input.source == kNoSource
                              ? std::ranges::find(symbols, input.name, &Symbol::name)
                              : std::ranges::find(symbols, input.source, &Symbol::source);
      if (symbol == symbols.end()) continue;
      const std::int64_t value =
          replay_.symbols[static_cast<std::size_t>(symbol - symbols.begin())];
      arguments.values[i] = {nullptr, nullptr, value, static_cast<double>(value)};
    }
  }

  void fill_result(std::size_t input, const KeptResult& result, Arguments& arguments) const {
    torch::TensorView& view = arguments.views[input];
    view.sizes = result.sizes;
    view.strides = result.strides;
    view.data = result.data;
    view.storage = result.memory.data();
    view.dtype = result.dtype;
    arguments.values[input].view = &view;
  }

  /// False for a tensor that is another than it was in forward: its memory was exchanged.
  bool fill_tensor(std::size_t input, PyObject* tensor, Arguments& arguments) const {
    torch::TensorView& view = arguments.views[input];
    const TensorType& type = program_->parts.backward_interface.inputs[input].type;
    if (!program_->bridge->read(tensor, view)) {
      PyErr_Clear();
      return false;
    }
    const auto fits = [](const std::vector<SymExpr>& expected, std::span<const std::int64_t> is) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i].constant() && *expected[i].constant() != is[i]) return false;
      }
      return true;
    };
    if (!program_->is_there(view) || view.sizes.size() != type.rank() ||
        dtype_from_torch(view.dtype) != type.dtype || !fits(type.sizes, view.sizes) ||
        !fits(type.strides, view.strides))
      return false;
    arguments.values[input] = {tensor, &view, 0, 0};
    return true;
  }

  /// Tangents come from anywhere: dense ones are read as they are, others are laid out anew.
  bool fill_tangent(const Tangent& tangent, std::size_t place, std::span<PyObject* const> tangents,
                    Arguments& arguments) const {
    const GradientProgram& program = *program_;
    const auto input = static_cast<std::size_t>(tangent.input);
    const OutputShape& shape = outputs_[place];
    PyObject* given = tangents[place];
    PyRef tensor = PyRef::borrow(given);
    if (given == nullptr) {
      tensor = zeros(shape, program.parts.device);
    } else if (Py_TYPE(given) != program.bridge->tensor_type()) {
      return false;
    } else {
      tensor = PyRef::steal(PyObject_CallMethod(given, "contiguous", nullptr));
    }
    torch::TensorView& view = arguments.views[input];
    if (!tensor || !program.bridge->is_dense(tensor.get()) ||
        !program.bridge->read(tensor.get(), view)) {
      PyErr_Clear();
      return false;
    }
    if (!program.is_there(view) || view.dtype != shape.dtype ||
        !std::ranges::equal(view.sizes, shape.sizes))
      return false;
    arguments.values[input] = {tensor.get(), &view, 0, 0};
    arguments.objects.push_back(std::move(tensor));
    return true;
  }

  static PyRef zeros(const OutputShape& shape, const std::string& device) {
    const PyRef sizes = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.sizes.size())));
    for (std::size_t i = 0; sizes && i < shape.sizes.size(); ++i)
      PyTuple_SET_ITEM(sizes.get(), static_cast<Py_ssize_t>(i),
                       PyLong_FromLongLong(shape.sizes[i]));
    const PyRef function = torch_function("torch", "zeros");
    const PyRef dtype = python::object_of(Argument(*dtype_from_torch(shape.dtype)));
    if (!sizes || !function || !dtype) return nullptr;
    const PyRef arguments = PyRef::steal(PyTuple_Pack(1, sizes.get()));
    const PyRef keywords = PyRef::steal(PyDict_New());
    const PyRef where = PyRef::steal(PyUnicode_FromString(device.c_str()));
    if (!arguments || !keywords || !where ||
        PyDict_SetItemString(keywords.get(), "dtype", dtype.get()) < 0 ||
        PyDict_SetItemString(keywords.get(), "device", where.get()) < 0)
      return nullptr;
    return PyRef::steal(PyObject_Call(function.get(), arguments.get(), keywords.get()));
  }

  /// What no tangent that came leads to has no gradient.
  void drop_unreached(std::span<PyObject* const> tangents, std::vector<PyRef>& gradients) const {
    for (std::size_t i = 0; i < program_->gradients.size(); ++i) {
      const auto comes = [&](std::size_t place) { return tangents[place] != nullptr; };
      if (std::ranges::none_of(program_->reached_from[i], comes))
        gradients[program_->gradients[i]] = nullptr;
    }
  }

  std::shared_ptr<GradientProgram> program_;
  std::uint64_t round_ = 0;  ///< of the trial, in which the call was
  GradientReplay replay_;
  std::vector<KeptResult> results_;
  std::vector<PyRef> copies_;  ///< of the program's copied inputs, and copied outputs behind them
  std::vector<OutputShape> outputs_;
};

class GradientExecutor final : public Executor, public RunObserver {
 public:
  explicit GradientExecutor(std::shared_ptr<GradientProgram> program)
      : program_(std::move(program)) {
    GradientParts& parts = program_->parts;
    parts.forward->set_observer(this);
    for (const BundleExecutor* part : {parts.forward.get(), parts.backward.get()})
      guards_.insert(guards_.end(), part->guards().begin(), part->guards().end());
  }

  Result<void> run(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) override {
    if (!torch::records_gradients_plainly()) {
      auto native = failure(Code::PS0504, "somebody looks at what torch saves for gradients");
      native.value().severity = Severity::note;
      missed_ = true;
      return native;
    }
    ExecutorCall passed = call;
    if (std::exchange(missed_, false)) {
      all_.resize(call.inputs.size());
      std::iota(all_.begin(), all_.end(), 0U);
      passed.changed = all_;
    }
    if (program_->draws) random_ = RandomState(program_->device_index).state();
    before_.assign(call.inputs.size(), nullptr);
    for (const Mutation& mutation : program_->parts.mutations) {
      const auto input = static_cast<std::size_t>(mutation.input);
      if (!program_->decides[input]) continue;
      before_[input] = detached_copy(call.inputs[input].object);
      PyErr_Clear();
    }
    return program_->parts.forward->run(passed, outputs, written);
  }
  std::span<const Guard> guards() const override { return guards_; }

  Result<void> ran(const ExecutorCall& call, std::span<const PyRef> made,
                   std::span<OutputTensor> others) override {
    GradientProgram& program = *program_;
    auto node = std::make_unique<GradientRun>(program_, call, std::exchange(random_, {}),
                                              std::exchange(before_, {}));
    if (!node->keep(others)) return failure(Code::PS0505, "no memory for what backward needs");
    std::vector<PyObject*> inputs, outputs, kept;
    for (const std::uint32_t input : program.inputs) inputs.push_back(call.inputs[input].object);
    for (const std::uint32_t index : program.attached) {
      outputs.push_back(made[index].get());
      node->note_output(made[index].get());
    }
    std::vector<PyRef> kept_inputs;
    bool copied = keep_inputs(program, call, kept_inputs);
    for (const PyRef& input : kept_inputs) kept.push_back(input.get());
    for (const std::uint32_t index : program.kept_outputs) kept.push_back(made[index].get());
    for (const std::uint32_t input : program.copied_inputs)
      copied = copied && node->keep_input(input, call.inputs[input].object);
    for (const std::uint32_t index : program.copied_outputs)
      copied = copied && node->keep_copy(made[index].get());
    for (const std::uint32_t input : program.loose_inputs)
      copied = copied && node->keep_behind(input, call.inputs[input]);
    if (program.node_class == nullptr)  // not before: what learns about it is recorded by nobody
      program.node_class = torch::GradientNodeClass::find(program.parts.name);
    if (copied && program.node_class != nullptr &&
        program.node_class->attach({inputs, outputs, kept}, std::move(node)))
      return {};
    PyErr_Clear();
    return failure(Code::PS0505, "torch takes no node of gradients");
  }

 private:
  std::shared_ptr<GradientProgram> program_;
  std::vector<Guard> guards_;  ///< of both parts
  bool missed_ = false;  ///< the last call was left to torch: forward does not know its inputs
  std::vector<std::uint32_t> all_;
  // Of the call that runs.
  PyRef random_;
  std::vector<PyRef> before_;
};

template <class Index>
std::size_t place_of(const std::vector<std::uint32_t>& indices, Index index) {
  const auto place = std::ranges::find(indices, static_cast<std::uint32_t>(index));
  return static_cast<std::size_t>(place - indices.begin());
}

bool contains(const std::vector<std::uint32_t>& indices, std::uint32_t index) {
  return std::ranges::find(indices, index) != indices.end();
}

/// Works out where the tensors that torch's graph has to do with stand.
void find_edges(GradientProgram& program) {
  const GradientParts& parts = program.parts;
  const TrainingPart& training = parts.backward_interface.training;
  for (const Gradient& gradient : training.gradients)
    program.inputs.push_back(static_cast<std::uint32_t>(gradient.input));
  std::ranges::sort(program.inputs);
  for (std::size_t i = 0; i < parts.tracked.size(); ++i) {
    if (parts.tracked[i]) program.attached.push_back(static_cast<std::uint32_t>(i));
  }
  for (const Tangent& tangent : training.tangents)
    program.tangents.push_back(place_of(program.attached, tangent.output));
  for (std::size_t i = 0; i < training.gradients.size(); ++i) {
    program.gradients.push_back(place_of(program.inputs, training.gradients[i].input));
    std::vector<std::size_t>& reached = program.reached_from.emplace_back();
    for (const std::int32_t made : parts.reached_from[i])
      reached.push_back(place_of(program.attached, made));
  }
}

/// Works out what is kept for backward, and where its inputs come from.
void find_places(GradientProgram& program) {
  using Kind = GradientProgram::Place::Kind;
  const GradientParts& parts = program.parts;
  const TrainingPart& training = parts.backward_interface.training;
  using autodiff::SavedAs;
  const std::vector<SavedAs> saved_as = autodiff::inputs_saved_by_torch(parts.recorded);
  const auto saved_input = [&](std::uint32_t input) { return saved_as[input] != SavedAs::nothing; };
  for (const Passed& passed : training.passed) {
    const auto input = static_cast<std::uint32_t>(passed.forward);
    const InputKind kind = parts.recorded.interface.inputs[input].kind;
    if (kind == InputKind::scalar || kind == InputKind::size) {
      program.passed.push_back({Kind::held, input});
      continue;
    }
    auto& tensors = saved_input(input) ? program.kept_inputs : program.copied_inputs;
    program.passed.push_back({saved_input(input) ? Kind::kept : Kind::copied, tensors.size()});
    tensors.push_back(input);
  }
  // What backward's kernels do not read torch keeps all the same, and tells when it was written.
  const auto& inputs = parts.recorded.interface.inputs;
  for (std::uint32_t input = 0; input < inputs.size(); ++input) {
    const bool tensor =
        inputs[input].kind != InputKind::scalar && inputs[input].kind != InputKind::size;
    if (saved_input(input) && tensor && !contains(program.kept_inputs, input))
      program.kept_inputs.push_back(input);
  }
  for (const std::uint32_t input : program.inputs) {
    if (!saved_input(input) && !program.writes(input)) program.loose_inputs.push_back(input);
  }
  for (const std::uint32_t input : program.kept_inputs) program.kept_as.push_back(saved_as[input]);
  program.own_outputs = parts.tracked.size() + parts.mutations.size();
  const std::vector<bool> saved_outputs = autodiff::outputs_saved_by_torch(parts.recorded);
  for (const Saved& saved : training.saved) {
    const auto output = static_cast<std::uint32_t>(saved.output);
    if (output >= program.own_outputs) {
      program.saved.push_back({Kind::result, output - program.own_outputs});
      continue;
    }
    const bool kept = output < saved_outputs.size() && saved_outputs[output];
    auto& tensors = kept ? program.kept_outputs : program.copied_outputs;
    const std::size_t before = kept ? program.kept_inputs.size() : program.copied_inputs.size();
    program.saved.push_back({kept ? Kind::kept : Kind::copied, before + tensors.size()});
    tensors.push_back(output);
  }
  for (std::uint32_t output = 0; output < parts.tracked.size(); ++output) {
    if (saved_outputs[output] && !contains(program.kept_outputs, output))
      program.kept_outputs.push_back(output);
  }
  program.all.resize(parts.backward_interface.inputs.size());
  std::iota(program.all.begin(), program.all.end(), 0U);
}

}  // namespace

Result<std::unique_ptr<Executor>> make_gradient_executor(GradientParts parts) {
  const auto bridge = torch::TensorBridge::get();
  if (!bridge) return tl::unexpected(bridge.error());
  if (*bridge == nullptr) return failure(Code::PS0505, "torch is not imported");
  auto program = std::make_shared<GradientProgram>();
  program->bridge = *bridge;
  program->parts = std::move(parts);
  program->device_index = gpu_index(program->parts.device);
  find_edges(*program);
  find_places(*program);
  program->parts.recorded = needed_again(std::move(program->parts.recorded), program->attached);
  program->reads = inputs_read(program->parts.recorded);
  program->decides = inputs_that_decide(program->parts.recorded, program->attached);
  program->draws = draws_numbers(program->parts.recorded);
  program->saves_nothing = program->saved.empty() && program->kept_inputs.empty() &&
                           program->kept_outputs.empty() && program->copied_inputs.empty() &&
                           !autodiff::is_anything_saved_by_torch(program->parts.recorded);
  return std::make_unique<GradientExecutor>(std::move(program));
}

}  // namespace penstock::jit
