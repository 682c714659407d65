#include "jit/executors/bundle_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ir/decided_sizes.h"
#include "ir/device.h"
#include "ops/draws.h"
#include "runtime/copy.h"
#include "runtime/index_check.h"
#include "torch/generator.h"
#include "torch/memory_escapes.h"
#include "torch/state.h"
#include "torch/tensor_versions.h"

namespace penstock::jit {

using guards::InputValue;

namespace {

using python::PyRef;
using runtime::OutputTensor;
using runtime::PooledMemory;

/// Whether all that the graph leaves behind is tensors of their own, each once.
bool makes_only(const OutputPlan& plan) {
  std::vector<bool> seen(plan.made.size());
  for (const OutputPlan::PlannedOutput& output : plan.outputs) {
    if (output.made < 0 || !output.whole || !output.calls.empty() || seen[output.made])
      return false;
    seen[output.made] = true;
  }
  return plan.input_writes.empty() && plan.made_writes.empty();
}

/// The inputs that torch's ops of normalisation among the steps write.
std::vector<std::int32_t> statistics_of_torch(const KernelBundle& bundle) {
  std::vector<std::int32_t> inputs;
  for (const BundleStep& step : bundle.steps) {
    const auto* call = std::get_if<FallbackCall>(&step);
    if (call == nullptr || call->op.find("_norm") == std::string::npos) continue;
    for (const NamedArgument& argument : call->arguments) {
      const auto* value = argument.value.as<Argument::Value>();
      const bool running = argument.name == "running_mean" || argument.name == "running_var";
      if (!running || value == nullptr) continue;
      auto id = static_cast<BufferId>(value->id);
      while (bundle.buffers[id].kind == Buffer::Kind::view) id = bundle.buffers[id].base;
      if (bundle.buffers[id].kind == Buffer::Kind::input)
        inputs.push_back(bundle.buffers[id].index);
    }
  }
  return inputs;
}

/// The inputs of which memory that stays between runs may be made. Of what each run writes each run
/// would make it anew, having looked whether it still holds.
std::vector<std::uint32_t> prepared_inputs(const KernelBundle& bundle,
                                           std::span<const std::int32_t> written) {
  std::vector<bool> found(bundle.interface.inputs.size());
  const auto memory = [&](BufferId id) -> const Buffer& {
    while (bundle.buffers[id].kind == Buffer::Kind::view) id = bundle.buffers[id].base;
    return bundle.buffers[id];
  };
  const auto note = [&](BufferId id) {
    if (id == kNoBuffer || memory(id).kind != Buffer::Kind::input) return;
    const std::int32_t index = memory(id).index;
    const InputKind kind = bundle.interface.inputs[index].kind;
    if (kind == InputKind::parameter || kind == InputKind::buffer) found[index] = true;
  };
  for (const BundleStep& step : bundle.steps) {
    if (const auto* call = std::get_if<LibraryCall>(&step)) {
      for (const std::int32_t position : call->prepack) note(call->inputs[position]);
    } else if (const auto* kernel = std::get_if<KernelCall>(&step)) {
      const bool prepares = std::ranges::any_of(
          kernel->buffers, [&](BufferId id) { return memory(id).kind == Buffer::Kind::prepared; });
      if (prepares) std::ranges::for_each(kernel->buffers, note);
    }
  }
  for (const std::int32_t input : written) found[static_cast<std::size_t>(input)] = false;
  std::vector<std::uint32_t> inputs;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) inputs.push_back(static_cast<std::uint32_t>(i));
  }
  return inputs;
}

/// The buffers of inputs that stand for Python numbers.
std::vector<BufferId> number_buffers(const KernelBundle& bundle) {
  std::vector<BufferId> found;
  for (std::size_t i = 0; i < bundle.buffers.size(); ++i) {
    const Buffer& buffer = bundle.buffers[i];
    if (buffer.kind != Buffer::Kind::input) continue;
    const bool number = bundle.interface.inputs[buffer.index].kind == InputKind::scalar;
    if (number) found.push_back(static_cast<BufferId>(i));
  }
  return found;
}

/// Adds what its scope takes, where somebody asks.
class KernelTimer {
 public:
  explicit KernelTimer(std::int64_t* sum) : sum_(sum) {
    if (sum_ != nullptr) begin_ = Clock::now();
  }
  ~KernelTimer() {
    if (sum_ != nullptr) *sum_ += std::chrono::nanoseconds(Clock::now() - begin_).count();
  }
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t* sum_;
  Clock::time_point begin_;
};

/// Lets go of what only the entry needs, which keeps it too: megabytes for a deep tree of modules.
void forget_recording(Interface& interface) {
  interface.sources = {};
  interface.returns = {};
  interface.objects = {};
  interface.restore = {};
  interface.frames = {};
  std::erase_if(interface.guards, [](const Guard& guard) { return !guard.condition; });
  interface.guards.shrink_to_fit();
}

/// Whether elements may end a run at this call: they decide a size that the graph is not for, or
/// choose what there is not.
bool asks_elements(const LibraryCall& call) {
  return call.name == "item" || call.name == "nonzero" || runtime::is_index_check(call) ||
         runtime::is_copy(call);
}

/// Whether a run may fail behind a draw of random numbers, at a call that torch refuses or at what
/// elements say: the entry or the Python that runs instead would draw the next ones.
bool may_fail_behind_draw(const KernelBundle& bundle) {
  bool drawn = false;
  for (const BundleStep& step : bundle.steps) {
    const auto* call = std::get_if<FallbackCall>(&step);
    const auto* library = std::get_if<LibraryCall>(&step);
    if (drawn && (call != nullptr || (library != nullptr && asks_elements(*library)))) return true;
    drawn = drawn || (library != nullptr && runtime::is_draw(*library)) ||
            (call != nullptr && ops::draws({call->op, call->arguments, {}, -1}));
  }
  return false;
}

/// Whether elements decide what a view shows.
bool elements_decide(const OutputPlan::PlannedOutput& output, const DecidedSizes& decided) {
  const auto waits = [&](const SymExpr& size) { return decided.decided_by(size) >= 0; };
  return std::ranges::any_of(output.type.sizes, waits) ||
         std::ranges::any_of(output.type.strides, waits) || waits(output.type.storage_offset) ||
         std::ranges::any_of(output.calls, [&](const OutputPlan::ViewCall& call) {
           return decided.decided_by(call.node.args) >= 0;
         });
}

/// The program may keep results of forward, of which there are so many, as long as it likes; what
/// backward reads of it, and gradients, are gone with the step.
void let_lend(runtime::Executor& executor, std::size_t own_results) {
  const GraphRole role = executor.bundle().interface.training.role;
  if (role == GraphRole::forward) executor.lend_from(own_results);
  if (role == GraphRole::backward) executor.lend_from(0);
}

}  // namespace

Diagnostic BundleExecutor::python_failure(std::string what) {
  PyErr_Clear();
  return Diagnostic{Code::PS0505, std::move(what), {}, {}, {}, Severity::warning};
}

BundleExecutor::BundleExecutor(const torch::TensorBridge& bridge,
                               std::shared_ptr<ContentVersions> versions)
    : bridge_(bridge), fallback_(bridge), versions_(std::move(versions)) {
  fallback_.set_symbols([this](std::string_view name) { return symbol(name); });
}

Result<std::unique_ptr<BundleExecutor>> BundleExecutor::create(
    std::shared_ptr<runtime::Runtime> runtime, std::shared_ptr<ContentVersions> versions,
    KernelBundle bundle, runtime::BlobSource& blobs, OutputPlan plan,
    runtime::FallbackRunner* runner) {
  auto bridge = torch::TensorBridge::get();
  if (!bridge) return tl::unexpected(bridge.error());
  if (*bridge == nullptr) return failure(Code::PS0505, "torch is not imported");
  const Interface& interface = bundle.interface;
  for (const Input& input : interface.inputs) {
    const bool is_given = interface.training.role == GraphRole::backward ||
                          input.kind == InputKind::user;  // by what runs in front of it
    if (input.source == kNoSource && !is_given) {
      return failure(Code::PS0505, "the input " + input.name + " is reached by no source");
    }
  }
  if (bundle.outputs.size() < plan.made.size()) {
    return failure(Code::PS0601, "a bundle has fewer outputs than its graph");
  }
  std::unique_ptr<BundleExecutor> made(new BundleExecutor(**bridge, std::move(versions)));
  made->plan_ = std::move(plan);
  if (auto laid_out = made->lay_out(interface); !laid_out) return tl::unexpected(laid_out.error());
  made->arguments_.resize(interface.inputs.size());
  made->prepared_at_.assign(interface.inputs.size(), -1);
  made->find_written(bundle);
  for (const std::uint32_t input : prepared_inputs(bundle, made->written_)) {
    made->prepared_at_[input] = static_cast<std::int32_t>(made->prepared_.size());
    made->prepared_.emplace_back().input = input;
  }
  made->integers_.resize(interface.inputs.size());
  made->reals_.resize(interface.inputs.size());
  made->results_.resize(bundle.outputs.size());
  made->own_results_ = made->plan_.made.size() + interface.mutations.size();
  made->made_.resize(made->plan_.made.size());
  const bool calls_torch = std::ranges::any_of(bundle.steps, [](const BundleStep& step) {
    return std::holds_alternative<FallbackCall>(step);
  });
  made->keeps_generator_ = may_fail_behind_draw(bundle);
  made->keeps_inputs_ = calls_torch && !made->written_.empty();
  if (runner == nullptr && (made->keeps_generator_ || made->keeps_inputs_))
    made->fallback_.set_begin([own = made.get()] { return own->keep_written(); });
  made->device_index_ = gpu_index(bundle.device);
  const bool on_host = made->device_index_ < 0;
  made->takes_pending_ =
      on_host && !calls_torch && made->written_.empty() &&
      std::ranges::all_of(made->plan_.outputs, [](const auto& output) { return output.input < 0; });
  made->leaves_pending_ =
      on_host && !calls_torch && interface.symbols.empty() && makes_only(made->plan_);
  made->fallback_.set_numbers(number_buffers(bundle));
  made->fallback_.set_device(made->device_index_);
  forget_recording(bundle.interface);
  auto executor = runtime::Executor::create(std::move(runtime), std::move(bundle), blobs,
                                            runner != nullptr ? runner : &made->fallback_);
  if (!executor) return tl::unexpected(executor.error());
  made->executor_ = std::move(*executor);
  let_lend(*made->executor_, made->own_results_);
  made->find_decided();
  return made;
}

Result<void> BundleExecutor::lay_out(const Interface& interface) {
  const auto position = [&](std::string_view name) {
    for (std::size_t i = 0; i < interface.symbols.size(); ++i) {
      if (interface.symbols[i].name == name) return static_cast<int>(i);
    }
    return -1;
  };
  for (const auto& output : plan_.outputs) output_layouts_.emplace_back(output.type, position);
  for (const TensorType& type : plan_.made) made_layouts_.emplace_back(type, position);
  const auto valid = [](const TensorLayout& layout) { return layout.valid(); };
  if (std::ranges::all_of(output_layouts_, valid) && std::ranges::all_of(made_layouts_, valid)) {
    return {};
  }
  return failure(Code::PS0505, "the size of an output depends on elements");
}

std::optional<std::int64_t> BundleExecutor::symbol(std::string_view name) const {
  const auto& symbols = executor_->bundle().interface.symbols;
  for (const Decided& size : decided_) {
    if (symbols[size.symbol].name == name) return executor_->symbols()[size.position];
  }
  for (std::size_t i = 0; symbols_ != nullptr && i < symbols.size(); ++i) {
    if (symbols[i].name == name) return symbols_[i];
  }
  return std::nullopt;
}

/// Which symbols elements decide, where the kernels' runtime knows them, and which outputs are
/// taken when the kernels have run: what they made, and views of inputs that lie where elements
/// say.
void BundleExecutor::find_decided() {
  const KernelBundle& bundle = executor_->bundle();
  const DecidedSizes decided(bundle.steps);
  for (const OutputPlan::PlannedOutput& output : plan_.outputs)
    behind_.push_back(output.made >= 0 || elements_decide(output, decided));
  for (std::size_t i = 0; i < bundle.interface.symbols.size() && !decided.empty(); ++i) {
    const std::string& name = bundle.interface.symbols[i].name;
    const auto position = std::ranges::find(bundle.symbols, name);
    if (decided.contains(name) && position != bundle.symbols.end())
      decided_.push_back({i, static_cast<std::size_t>(position - bundle.symbols.begin())});
  }
}

void BundleExecutor::pass_inputs(const ExecutorCall& call) {
  const Interface& interface = executor_->bundle().interface;
  for (const std::uint32_t i : call.changed) {
    runtime::TensorArgument& argument = arguments_[i];
    if (prepared_at_[i] >= 0) prepared_[prepared_at_[i]].same = false;
    if (const torch::TensorView* view = call.inputs[i].view) {
      argument.data = view->data;
      argument.sizes = view->sizes;
      argument.strides = view->strides;
      continue;
    }
    integers_[i] = call.inputs[i].integer;
    reals_[i] = call.inputs[i].real;
    const bool real = is_floating(interface.inputs[i].type.dtype);
    argument.data = real ? static_cast<void*>(&reals_[i]) : &integers_[i];
    argument.sizes = {};
    argument.strides = {};
  }
  pass_versions(call.inputs);
}

/// What a tensor holds may change while the tensor stays.
void BundleExecutor::pass_versions(std::span<const InputValue> inputs) {
  for (Prepared& prepared : prepared_) {
    if (prepared.same && prepared.known.holds()) continue;
    const InputValue& input = inputs[prepared.input];
    prepared.same = input.view != nullptr && input.object != nullptr;
    arguments_[prepared.input].version =
        prepared.same ? versions_->of(bridge_, input.object, *input.view, prepared.known)
                      : runtime::kUnversioned;
  }
}

/// torch refuses to write a tensor of inference mode outside of it; so must we, before anything is
/// written. Plain Python makes the one call that finds memory which was shared until now.
Result<void> BundleExecutor::check_writable(std::span<const InputValue> inputs) const {
  for (const OutputPlan::Writes& write : plan_.input_writes) {
    const InputValue& input = inputs[write.index];
    if (input.view == nullptr) continue;
    if (!input.view->has_version && !torch::inference_mode()) {
      return failure(Code::PS0505, "an inference tensor is written outside inference mode");
    }
    if (input.object == nullptr || bridge_.make_writable(input.object, *input.view)) continue;
    auto moved = failure(Code::PS0505, "a tensor is written whose memory was shared until now");
    moved.value().severity = Severity::note;
    return moved;
  }
  return {};
}

/// torch does not count that batch normalisation writes its statistics: they are among the
/// mutations alone, or what torch's own op is given.
void BundleExecutor::find_written(const KernelBundle& bundle) {
  const auto counted = [&](std::int32_t input) {
    const auto found = std::ranges::find(plan_.input_writes, input, &OutputPlan::Writes::index);
    return found != plan_.input_writes.end() && found->count > 0;
  };
  std::vector<std::int32_t> all = statistics_of_torch(bundle);
  for (const Mutation& mutation : bundle.interface.mutations) all.push_back(mutation.input);
  for (const OutputPlan::Writes& write : plan_.input_writes) written_.push_back(write.index);
  for (const std::int32_t input : all) {
    if (!counted(input)) uncounted_.push_back(input);
    if (std::ranges::find(written_, input) == written_.end()) written_.push_back(input);
  }
}

/// Copies what the run writes and draws from, where it may fail behind that: kernels write what the
/// caller has when no call of a library can fail any more, calls of torch may stand behind those.
Result<void> BundleExecutor::keep_written() {
  if (keeps_generator_)
    generator_before_ = torch::generator_state(torch::default_generator(device_index_));
  if (!keeps_inputs_) return {};
  for (const std::int32_t input : written_) {
    auto copy = fallback_.copy_of(inputs_[input].object);
    if (!copy) return tl::unexpected(copy.error());
    before_.push_back(std::move(*copy));
  }
  return {};
}

/// Runs the kernels. Where a call failed, what was written and drawn is put back.
Result<void> BundleExecutor::run_kernels(std::span<const InputValue> inputs, bool& written) {
  inputs_ = inputs;
  written = !written_.empty();  // should a library throw
  auto done = executor_->run(arguments_, results_);
  const std::vector<PyRef> before = std::exchange(before_, {});
  const PyRef generator_before = std::exchange(generator_before_, {});
  for (const Decided& size : decided_) {
    if (done) symbols_[size.symbol] = executor_->symbols()[size.position];
  }
  if (done) return {};
  if (generator_before)
    torch::set_generator_state(torch::default_generator(device_index_), generator_before.get());
  // Torch itself raises the error for an index out of range: that is no failure of the entry.
  if (done.error().code == Code::PS0808) done.error().severity = Severity::note;
  written = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const torch::TensorView& view = *inputs[written_[i]].view;
    const DType dtype = *dtype_from_torch(view.dtype);
    auto restored = fallback_.write({view.data, dtype, view.sizes, view.strides}, before[i].get());
    if (!restored) written = true;
  }
  return done;
}

Result<void> BundleExecutor::count_up(std::span<PyObject* const> tensors) {
  if (tensors.empty() || torch::bump_versions(tensors)) return {};
  return tl::unexpected(python_failure("a tensor's version could not be counted up"));
}

/// What another output is a view of, too, is made once: torch may see a base in it.
Result<PyRef> BundleExecutor::call_again(const OutputPlan::PlannedOutput& output, PyObject* base,
                                         ViewsMade& known) {
  PyRef view = PyRef::borrow(base);
  for (const OutputPlan::ViewCall& call : output.calls) {
    const ValueId result = call.node.results[call.result];
    if (const auto found = std::ranges::find(known, result, &ViewsMade::value_type::first);
        found != known.end()) {
      view = found->second;
      continue;
    }
    auto results = ops_.call(
        call.node.op, call.node.args, [&](ValueId) { return view; },
        [this](std::string_view name) { return symbol(name); });
    if (!results) return tl::unexpected(results.error());
    if (call.result >= results->size()) {
      return failure(Code::PS0505, call.node.op + " gave fewer results than the graph expects");
    }
    if (call.node.op == "aten.data.default") torch::MemoryEscapes::get().note(view.get(), false);
    view = (*results)[call.result];
    const std::vector<PyObject*> counted(static_cast<std::size_t>(call.writes), view.get());
    if (auto done = count_up(counted); !done) return tl::unexpected(done.error());
    known.emplace_back(result, view);
  }
  return view;
}

/// The outputs that are there before the kernels run, or those behind them.
Result<void> BundleExecutor::make_views(const ExecutorCall& call, bool behind, ViewsMade& known,
                                        std::span<PyRef> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (behind_[i] != behind) continue;
    const OutputPlan::PlannedOutput& output = plan_.outputs[i];
    const bool of_input = output.input >= 0;
    PyObject* base = of_input ? call.inputs[output.input].object : made_[output.made].get();
    if (output.whole) {
      outputs[i] = PyRef::borrow(base);
    } else if (!output.calls.empty()) {
      auto view = call_again(output, base, known);
      if (!view) return tl::unexpected(view.error());
      outputs[i] = std::move(*view);
    } else {
      output_layouts_[i].evaluate(symbols_);
      const auto start = of_input ? call.inputs[output.input].view->storage_offset
                                  : made_layouts_[output.made].offset();
      outputs[i] = output_layouts_[i].view_of(base, start);
    }
    if (!outputs[i]) return tl::unexpected(python_failure("a view could not be made"));
  }
  return {};
}

Result<void> BundleExecutor::count_versions(
    const std::vector<OutputPlan::Writes>& writes,
    const std::function<PyObject*(std::int32_t)>& tensor) const {
  if (writes.empty()) return {};
  std::vector<PyObject*> tensors;
  for (const auto& write : writes) {
    tensors.insert(tensors.end(), write.count, tensor(write.index));
    if (write.uncounted) torch::MemoryEscapes::get().note(tensor(write.index), false);
  }
  return count_up(tensors);
}

void BundleExecutor::note_uncounted_writes(const ExecutorCall& call) const {
  for (const std::int32_t input : uncounted_) {
    PyObject* tensor = call.inputs[static_cast<std::size_t>(input)].object;
    if (tensor != nullptr) torch::MemoryEscapes::get().note(tensor, false);
  }
}

/// Kernels and the tensors that they make.
Result<void> BundleExecutor::compute(const ExecutorCall& call, bool& written) {
  const KernelTimer timer(call.kernel_time);
  if (auto done = run_kernels(call.inputs, written); !done) return done;
  return make_tensors();
}

Result<void> BundleExecutor::execute(const ExecutorCall& call, std::span<PyRef> outputs,
                                     bool& written) {
  if (auto writable = check_writable(call.inputs); !writable) return writable;
  ViewsMade known;
  if (auto made = make_views(call, false, known, outputs); !made) return made;
  if (auto done = compute(call, written); !done) return done;
  const auto made_tensor = [this](std::int32_t index) { return made_[index].get(); };
  const auto input = [&](std::int32_t index) { return call.inputs[index].object; };
  if (auto counted = count_versions(plan_.made_writes, made_tensor); !counted) return counted;
  if (auto counted = count_versions(plan_.input_writes, input); !counted) return counted;
  note_uncounted_writes(call);
  if (observer_ != nullptr) {
    if (device_index_ >= 0) {
      if (auto owned = own_others(); !owned) return owned;
    }
    const auto others = std::span(results_).subspan(own_results_);
    if (auto observed = observer_->ran(call, made_, others); !observed) return observed;
  }
  return make_views(call, true, known, outputs);
}

Result<void> BundleExecutor::run(const ExecutorCall& call, std::span<PyRef> outputs,
                                 bool& written) {
  if (outputs.size() != plan_.outputs.size()) {
    return failure(Code::PS0601, "an entry has other outputs than its plan");
  }
  symbols_ = call.symbols;
  pass_inputs(call);
  auto done = execute(call, outputs, written);
  finish_run();
  return done;
}

Result<bool> BundleExecutor::run_pending(const ExecutorCall& call, std::span<PendingTensor> pending,
                                         std::span<PyRef> outputs) {
  symbols_ = call.symbols;
  pass_inputs(call);
  bool written = false;
  const KernelTimer timer(call.kernel_time);
  auto done = run_kernels(call.inputs, written);
  bool own = done.has_value();
  for (std::size_t i = 0; own && i < made_.size(); ++i) own = is_own(i);
  for (std::size_t i = 0; own && i < pending.size(); ++i) {
    const auto made = static_cast<std::size_t>(plan_.outputs[i].made);
    pending[i] = pending_tensor(made, std::move(results_[made].memory));
  }
  if (done && !own) {
    done = make_tensors();
    ViewsMade known;
    if (done) done = make_views(call, true, known, outputs);
  }
  finish_run();
  if (!done) return tl::unexpected(std::move(done.error()));
  return own;
}

void BundleExecutor::finish_run() {
  fallback_.forget_adopted();
  for (OutputTensor& result : results_) result = OutputTensor{};
  for (PyRef& tensor : made_) tensor = nullptr;
}

}  // namespace penstock::jit
