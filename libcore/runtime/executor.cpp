#include "runtime/executor.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "ir/call_location.h"
#include "runtime/copy.h"
#include "runtime/executor_state.h"
#include "runtime/index_check.h"
#include "runtime/marked_places.h"
#include "runtime/perf_map.h"
#include "runtime/shared_object.h"

namespace penstock::runtime {

namespace {

/// Plans are kept for this many sets of sizes.
constexpr std::size_t kMostPlans = 16;
/// Worth some milliseconds that it takes to give back what is free.
constexpr std::size_t kMuchMemory = std::size_t{16} << 20;

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// The number of elements, where they lie one behind the other in order.
std::optional<std::int64_t> dense_count(const Window& window) {
  std::int64_t count = 1;
  for (std::size_t i = window.sizes.size(); i-- > 0;) {
    if (window.sizes[i] != 1 && window.strides[i] != count) return std::nullopt;
    count *= window.sizes[i];
  }
  return count;
}

/// Whether the window shows the other, which its memory is for, element by element or in other
/// sizes.
bool is_all_of(const Window& window, const Window& whole) {
  if (window.start != 0 || window.dtype != whole.dtype) return false;
  if (&window == &whole) return true;
  const auto count = dense_count(window);
  return count && count == dense_count(whole);
}

/// The first code of the bundle that this CPU can run.
Result<const KernelBundle::Code*> choose_code(const KernelBundle& bundle) {
  std::string missing;
  for (const KernelBundle::Code& code : bundle.code) {
    if (cpu_has(code.features, &missing)) return &code;
  }
  return failure(Code::PS0706,
                 "the kernels are for " + bundle.target + "; this CPU has no " + missing);
}

}  // namespace

Result<std::shared_ptr<SharedObject>> LoadedCode::load(const std::string& blob, BlobSource& blobs) {
  std::lock_guard lock(mutex_);
  std::weak_ptr<SharedObject>& known = loaded_[blob];
  if (auto there = known.lock()) {
    // What may be run depends on what it is run for, which the source knows.
    if (auto good = blobs.check_code(blob, there->elf()); !good)
      return tl::unexpected(std::move(good.error()));
    return there;
  }
  auto bytes = blobs.code(blob);
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  auto opened = SharedObject::open(
      *bytes, blob, [&](std::string_view mapped) { return blobs.check_code(blob, mapped); });
  if (opened) known = *opened;
  return opened;
}

Result<void> Executor::State::load(BlobSource& blobs) {
  bool kernels = false, library_calls = false;
  for (const BundleStep& step : bundle.steps) {
    kernels |= std::holds_alternative<KernelCall>(step);
    if (auto* call = std::get_if<LibraryCall>(&step))
      library_calls |= !is_index_check(*call) && !is_copy(*call) && !is_draw(*call) &&
                       !finds_marked_places(*call) && !control_step_of(*call) &&
                       !decided_size_of(*call, 0);
    if (auto* call = std::get_if<FallbackCall>(&step); call != nullptr && fallback == nullptr) {
      auto needed = failure(Code::PS0801, call->op + " needs torch" +
                                              (call->reason.empty() ? "" : ": " + call->reason));
      needed.value().location = location_of(bundle.calls, call->calls);
      return needed;
    }
  }
  if (kernels && bundle.device == "cpu") {
    auto chosen = choose_code(bundle);
    if (!chosen) return tl::unexpected(chosen.error());
    auto opened = runtime->code.load((*chosen)->blob, blobs);
    if (!opened) return tl::unexpected(opened.error());
    code = std::move(*opened);
  }
  if (bundle.device != "cpu") {
    auto opened = DeviceSteps::open(*runtime, bundle, blobs);
    if (!opened) return tl::unexpected(std::move(opened.error()));
    device = std::move(*opened);
  }
  for (const BundleStep& step : bundle.steps) {
    auto* kernel = std::get_if<KernelCall>(&step);
    if (code == nullptr) break;
    if (kernel == nullptr || functions.contains(kernel->function)) continue;
    penstock_kernel function = code->function(kernel->function);
    if (function == nullptr) continue;
    functions.emplace(kernel->function, function);
    name_for_perf(function, "penstock [" + to_string(bundle.interface.id) + "] " +
                                bundle.interface.name + " " + kernel->name);
  }
  if (library_calls && !device && runtime->library == nullptr) {
    auto library = open_library(runtime->deterministic, runtime->packed);
    if (!library) return tl::unexpected(library.error());
    runtime->library = std::move(*library);
  }
  auto parts = decided_parts(bundle);
  if (!parts) return tl::unexpected(parts.error());
  decided = std::move(*parts);
  if (auto found = find_memory(blobs); !found) return found;
  auto bound = bind_symbols(bundle);
  if (!bound) return tl::unexpected(bound.error());
  bindings = std::move(*bound);
  return {};
}

/// Where the memory of buffers is: constants' already, of others what a run has to look for.
Result<void> Executor::State::find_memory(BlobSource& blobs) {
  for (std::size_t i = 0; i < bundle.buffers.size(); ++i) {
    const Buffer& buffer = bundle.buffers[i];
    const void* data = nullptr;
    if (buffer.kind == Buffer::Kind::constant) {
      auto found = blobs.constant(buffer.blob);
      if (!found) return tl::unexpected(found.error());
      auto bytes = buffer.bytes.constant();
      if (!bytes || *bytes < 0 || found->size() < static_cast<std::size_t>(*bytes)) {
        return failure(Code::PS0207, "blob " + buffer.blob + " has " +
                                         std::to_string(found->size()) + " bytes for constant " +
                                         buffer.name + " of " + buffer.bytes.to_string());
      }
      data = found->data();
      if (device && !buffer.host) {
        auto there = device->constant(*found);
        if (!there) return tl::unexpected(std::move(there.error()));
        data = *there;
      }
    } else if (buffer.kind != Buffer::Kind::view && buffer.kind != Buffer::Kind::scratch &&
               decided.buffer_part[i] < 0) {
      sources.push_back({static_cast<BufferId>(i), buffer.kind, buffer.index});
    }
    memories.push_back(const_cast<void*>(data));
  }
  return {};
}

Result<void> Executor::State::check_counts(std::size_t inputs, std::size_t outputs) const {
  if (inputs == bundle.interface.inputs.size() && outputs == bundle.outputs.size()) return {};
  return failure(Code::PS0806, "the bundle has " + std::to_string(bundle.interface.inputs.size()) +
                                   " inputs and " + std::to_string(bundle.outputs.size()) +
                                   " outputs");
}

Result<Plan*> Executor::State::plan_for(std::span<const TensorArgument> inputs) {
  symbols.clear();
  for (const SymbolBinding& binding : bindings) symbols.push_back(bound_value(binding, inputs));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i]->bound != symbols) continue;
    std::rotate(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(i),
                plans.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return plans.front().get();
  }
  auto plan = next_plan();
  if (!plan) return tl::unexpected(plan.error());
  plans.insert(plans.begin(), std::move(*plan));
  return plans.front().get();
}

/// A plan for `symbols`; once there are enough, made of the one that was used longest ago.
Result<std::unique_ptr<Plan>> Executor::State::next_plan() {
  if (plans.size() == kMostPlans) {
    std::unique_ptr<Plan> last = std::move(plans.back());
    plans.pop_back();
    auto resized = resize_plan(plan_context(), *last, symbols);
    if (!resized) return tl::unexpected(std::move(resized.error()));
    return last;
  }
  auto plan = make_plan(plan_context(), symbols);
  // Packed weights and the arena are about to come on top of what the plain program has freed and
  // the C library has kept.
  if (plan && (*plan)->arena_bytes >= kMuchMemory) malloc_trim(0);
  return plan;
}

void Executor::State::run_kernel(const PlannedStep& step, const Plan& plan, char* scratch,
                                 int threads) {
  void* const* buffers = pointers.data() + step.first;
  if (!step.parallel) return step.function(buffers, plan.symbols.data(), 0, 1, scratch);
  if (step.extent == 0) return;
  struct Call {
    const PlannedStep& step;
    void* const* buffers;
    const std::int64_t* symbols;
    char* scratch;
  } call{step, buffers, plan.symbols.data(), scratch};
  runtime->threads.run(
      step.extent, step.grain, threads,
      [](void* data, std::int64_t begin, std::int64_t end, int thread) {
        auto* own = static_cast<Call*>(data);
        own->step.function(own->buffers, own->symbols, begin, end,
                           own->scratch + own->step.scratch_bytes * thread);
      },
      &call);
}

/// Whether the kernel got through: else the steps are to run again from the first.
Result<bool> Executor::State::run_library_call(const PlannedStep& step, const Plan& plan,
                                               std::span<const TensorArgument> inputs,
                                               char* scratch, bool may_start_again) {
  versions.clear();
  stored.clear();
  // A device's library packs nothing.
  for (std::size_t i = 0; i < step.version_of.size() && !device; ++i) {
    const std::int32_t source = step.version_of[i];
    versions.push_back(source >= 0    ? inputs[source].version
                       : source == -1 ? 0
                       : source == -3 ? plan.prepared.version
                                      : kUnversioned);
    stored.push_back(
        {source >= 0 ? inputs[source].stored : nullptr, plan.pointer_start[step.first + i]});
  }
  void* const* first = pointers.data() + step.first;
  LibraryMemory memory;
  memory.inputs = {first, static_cast<std::size_t>(step.inputs)};
  memory.outputs = {first + step.inputs, static_cast<std::size_t>(step.outputs)};
  memory.post_ops = {first + step.inputs + step.outputs, static_cast<std::size_t>(step.post_ops)};
  memory.versions = versions;
  memory.scratch = scratch;
  memory.stored = stored;
  bool start_again = false;
  if (may_start_again) memory.start_again = &start_again;
  if (device) {
    if (auto entered = device->enter_again(); !entered)
      return tl::unexpected(std::move(entered.error()));
  }
  if (auto ran = step.kernel->run(memory); !ran) {
    if (!ran.error().location)
      ran.error().location = location_of(bundle.calls, std::get<LibraryCall>(*step.step).calls);
    return tl::unexpected(std::move(ran.error()));
  }
  return !start_again;
}

/// Makes `data` the memory of a temporary or an output. What is only a window on a part of another
/// buffer's memory has to be written there.
bool Executor::State::adopt(BufferId id, void* data, const Plan& plan) {
  const BufferId memory = plan.windows[id].memory;
  const Buffer::Kind kind = bundle.buffers[memory].kind;
  const bool fresh = kind == Buffer::Kind::temporary || kind == Buffer::Kind::output;
  if (!fresh || !is_all_of(plan.windows[id], plan.windows[memory])) return false;
  memories[memory] = static_cast<char*>(data) - plan.arena_offsets[memory];
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    if (plan.pointer_memory[i] == memory)
      pointers[i] = static_cast<char*>(memories[memory]) + plan.pointer_start[i];
  }
  return true;
}

Result<void> Executor::State::run_fallback(const FallbackCall& call, const Plan& plan) {
  const auto window = [&](BufferId id) {
    const Window& shown = plan.windows[id];
    void* memory = memories[shown.memory];
    if (!seen_by_torch.empty() && seen_by_torch[shown.memory] != nullptr)
      memory = seen_by_torch[shown.memory];
    char* start = static_cast<char*>(memory) + plan.arena_offsets[shown.memory];
    return TensorWindow{start + shown.start, shown.dtype, shown.sizes, shown.strides, shown.host};
  };
  if (!device) return fallback->run(call, window);
  return fallback->run_on_device(call, window,
                                 [&](BufferId id, void* data) { return adopt(id, data, plan); });
}

/// Whether what the prepared memory was made of is what the inputs hold now; notes what they hold.
bool Executor::State::is_prepared(Prepared& prepared, std::span<const TensorArgument> inputs) {
  bool known = true, same = prepared.version != 0;
  prepared.made_of.resize(prepared.inputs.size());
  for (std::size_t i = 0; i < prepared.inputs.size(); ++i) {
    const TensorArgument& input = inputs[prepared.inputs[i]];
    Prepared::Contents now{input.data, input.version};
    known &= now.version != kUnversioned;
    same &= prepared.made_of[i] == now;
    prepared.made_of[i] = now;
  }
  if (!known) {
    prepared.version = kUnversioned;
  } else if (!same || prepared.version == kUnversioned) {
    prepared.version = next_version++;
  }
  return known && same;
}

/// Whether it got through, as run_library_call.
Result<bool> Executor::State::run_step(const PlannedStep& step, const Plan& plan,
                                       std::span<const TensorArgument> inputs, char* scratch,
                                       int threads, bool may_start_again) {
  if (step.device_function != nullptr) {
    const std::span<void* const> own(pointers.data() + step.first,
                                     static_cast<std::size_t>(step.count));
    auto started = device->launch(step, plan, own);
    if (!started) return tl::unexpected(std::move(started.error()));
    return true;
  }
  if (step.kernel != nullptr) return run_library_call(step, plan, inputs, scratch, may_start_again);
  if (step.function != nullptr) {
    run_kernel(step, plan, scratch, threads);
  } else if (std::holds_alternative<LibraryCall>(*step.step)) {
    return true;  // run_steps asks what it decides
  } else if (auto ran = run_fallback(std::get<FallbackCall>(*step.step), plan); !ran) {
    return tl::unexpected(std::move(ran.error()));
  }
  return true;
}

/// Whether a branch is taken, or a loop goes into that turn.
Result<bool> Executor::State::goes_on(const PlannedStep& step, ControlStep::Kind kind,
                                      std::int64_t turn) const {
  const bool branch = kind == ControlStep::Kind::branch;
  void* decides = pointers[static_cast<std::size_t>(step.first + (branch ? 0 : step.inputs))];
  if (kind != ControlStep::Kind::for_loop) return *static_cast<const bool*>(decides);
  *static_cast<std::int64_t*>(decides) = turn;
  return turn < step.trips;
}

namespace {

/// A graph's loop may run for ever, and meanwhile neither signals nor other threads are heard: one
/// that has run for a second is left to the caller when somebody waits. Needs: nothing was written
/// or drawn that the caller would write or draw again.
Result<void> check_awaited(const Runtime& runtime, std::int64_t turn, std::int64_t& begun) {
  constexpr std::int64_t kTurns = 1024, kSecond = 1'000'000'000;
  if (runtime.is_awaited == nullptr || turn % kTurns != kTurns - 1) return {};
  if (begun == 0) begun = now_ns();
  if (now_ns() - begun < kSecond || !runtime.is_awaited()) return {};
  auto left = failure(Code::PS0810,
                      "a loop that runs for long is left to the caller: a signal or "
                      "another thread waits");
  left.value().severity = Severity::note;
  return left;
}

}  // namespace

/// Whether all got through, as run_step; those that may not run twice do so in any case.
Result<bool> Executor::State::run_steps(Plan& plan, const RunCall& call) {
  const auto run = [&](std::size_t i) -> Result<bool> {
    if (call.prepared && plan.steps[i].prepares) return true;
    const std::int64_t start = call.times == nullptr ? 0 : now_ns();
    const bool may = call.may_start_again && i < plan.repeatable;
    auto done = run_step(plan.steps[i], plan, call.inputs, call.scratch(), call.threads, may);
    if (const std::int32_t part = decided.decides[i]; done && *done && part >= 0) {
      if (auto known = decide(plan, static_cast<std::size_t>(part), call); !known)
        done = tl::unexpected(std::move(known.error()));
    }
    if (call.times != nullptr) (*call.times)[i].nanoseconds += now_ns() - start;
    return done;
  };
  std::int64_t begun = 0;
  const auto taken = [&](std::size_t i, std::int64_t turn) -> Result<bool> {
    if (i < plan.repeatable) {
      if (auto free = check_awaited(*runtime, turn, begun); !free)
        return tl::unexpected(std::move(free.error()));
    }
    return goes_on(plan.steps[i], plan.control[i]->kind, turn);
  };
  auto done = run_control_steps(plan.control, 0, plan.steps.size(), run, taken);
  if (!done || !*done) plan.prepared.version = 0;  // steps behind this one may have to prepare too
  return done;
}

void Executor::State::describe_output(const Plan& plan, std::size_t index,
                                      std::span<OutputTensor> outputs) {
  BufferId id = bundle.outputs[index];
  const Window& window = plan.windows[id];
  const Buffer& memory = bundle.buffers[window.memory];
  OutputTensor& output = outputs[index];
  output.data = static_cast<char*>(memories[window.memory]) + window.start;
  output.dtype = window.dtype;
  output.sizes = window.sizes;
  output.strides = window.strides;
  if (memory.kind == Buffer::Kind::input) output.input = memory.index;
  if (memory.kind == Buffer::Kind::constant) output.constant = true;
  if (memory.kind == Buffer::Kind::output && memory.index != static_cast<std::int32_t>(index)) {
    output.output = memory.index;
  }
}

void Executor::State::set_pointer(const Plan& plan, std::size_t pointer) {
  const BufferId memory = plan.pointer_memory[pointer];
  pointers[pointer] = memory == kNoBuffer
                          ? nullptr
                          : static_cast<char*>(memories[memory]) + plan.pointer_start[pointer];
}

void Executor::State::set_pointers(const Plan& plan) {
  pointers.resize(plan.pointer_memory.size());
  for (std::size_t i = 0; i < pointers.size(); ++i) set_pointer(plan, i);
}

void Executor::State::set_pointers(const Plan& plan, const PlannedStep& step) {
  pointers.resize(plan.pointer_memory.size());
  for (std::int32_t i = step.first; i < step.first + step.count; ++i)
    set_pointer(plan, static_cast<std::size_t>(i));
}

/// Finds memory for all that a run works on; temporaries lie in `arena`.
Result<void> Executor::State::set_memories(Plan& plan, std::span<const TensorArgument> inputs,
                                           std::span<OutputTensor> outputs, void* arena) {
  bool complete = true;
  for (const MemorySource& source : sources) {
    void*& memory = memories[source.buffer];
    switch (source.kind) {
      case Buffer::Kind::input: {
        const TensorArgument& input = inputs[source.index];
        memory = device ? device->address(source.index) : input.data;
        if (input.stored == nullptr || !plan.reads[source.index]) break;
        if (auto whole = input.stored->check(); !whole) return whole;
        break;
      }
      case Buffer::Kind::output: {
        PooledMemory& own = outputs[source.index].memory;
        own = PooledMemory(pool(), plan.output_bytes[source.buffer]);
        memory = own.data();
        complete = complete && own;
        break;
      }
      case Buffer::Kind::prepared:
        memory = plan.prepared.memory.data();
        break;
      default:
        memory = arena;
        break;
    }
  }
  if (!complete) return failure(Code::PS0803, "no memory for outputs");
  return {};
}

Result<void> Executor::State::run(std::span<const TensorArgument> inputs,
                                  std::span<OutputTensor> outputs, std::vector<StepTime>* times) {
  if (auto fits = check_counts(inputs.size(), outputs.size()); !fits) return fits;
  auto planned = plan_for(inputs);
  if (!planned) return tl::unexpected(planned.error());
  Plan& plan = **planned;
  if (device) {
    if (auto entered = device->enter(inputs); !entered) return entered;
  }
  const bool prepared = is_prepared(plan.prepared, inputs);
  if (device && times == nullptr && decided.empty()) {
    auto done = run_graph(plan, prepared, outputs);
    if (!done) return tl::unexpected(std::move(done.error()));
    if (*done) return {};
  }
  if (fallback != nullptr) {
    if (auto begun = fallback->begin(); !begun) return begun;
  }
  const int threads = runtime->threads.size();
  RunMemory memory;
  auto& [arena, scratch, scratch_bytes, arenas] = memory;
  if (plan.arena_bytes > 0) arena = PooledMemory(pool(), plan.arena_bytes);
  scratch_bytes = plan.scratch_bytes * static_cast<std::size_t>(threads);
  if (scratch_bytes > 0) scratch = PooledMemory(pool(), scratch_bytes);
  arenas.resize(decided.parts.size());
  if (plan.prepared_bytes > 0 && !plan.prepared.memory) {
    plan.prepared.memory = PooledMemory(pool(), plan.prepared_bytes);
  }
  const bool complete = (plan.arena_bytes == 0 || arena) && (scratch_bytes == 0 || scratch) &&
                        (plan.prepared_bytes == 0 || plan.prepared.memory);
  if (!complete) return failure(Code::PS0803, "no memory for temporaries");
  for (OutputTensor& output : outputs) output = OutputTensor();
  if (auto found = set_memories(plan, inputs, outputs, arena.data()); !found) return found;
  set_pointers(plan);
  RunCall call{inputs, outputs, memory, threads, prepared, true, times};
  auto done = run_steps(plan, call);
  if (done && !*done) {
    call.prepared = is_prepared(plan.prepared, inputs);
    call.may_start_again = false;
    done = run_steps(plan, call);
  }
  if (device) device->leave();
  if (!done) return tl::unexpected(std::move(done.error()));
  for (std::size_t i = 0; i < outputs.size(); ++i) describe_output(plan, i, outputs);
  return {};
}

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<Runtime> runtime,
                                                   KernelBundle bundle, BlobSource& blobs,
                                                   FallbackRunner* fallback) {
  auto state = std::make_unique<State>();
  state->runtime = std::move(runtime);
  state->bundle = std::move(bundle);
  state->fallback = fallback;
  if (auto loaded = state->load(blobs); !loaded) return tl::unexpected(loaded.error());
  return std::unique_ptr<Executor>(new Executor(std::move(state)));
}

const KernelBundle& Executor::bundle() const {
  return state_->bundle;
}

std::span<const std::int64_t> Executor::symbols() const {
  return state_->plans.front()->symbols;
}

const std::shared_ptr<MemoryPool>& Executor::memory() const {
  return state_->pool();
}

void Executor::lend_from(std::size_t first) {
  state_->lent_from = first;
}

Result<void> Executor::prepare(std::span<const TensorArgument> inputs) {
  if (auto fits = state_->check_counts(inputs.size(), state_->bundle.outputs.size()); !fits)
    return fits;
  auto planned = state_->plan_for(inputs);
  return planned ? Result<void>() : tl::unexpected(std::move(planned.error()));
}

Result<void> Executor::run(std::span<const TensorArgument> inputs,
                           std::span<OutputTensor> outputs) {
  return state_->run(inputs, outputs, nullptr);
}

Result<std::vector<StepTime>> Executor::profile(std::span<const TensorArgument> inputs,
                                                std::span<OutputTensor> outputs) {
  std::vector<StepTime> times(state_->bundle.steps.size());
  if (auto done = state_->run(inputs, outputs, &times); !done) return tl::unexpected(done.error());
  const Plan& plan = *state_->plans.front();
  for (std::size_t i = 0; i < times.size(); ++i) {
    const PlannedStep& planned = plan.steps[i];
    StepTime& time = times[i];
    time.flops = planned.flops;
    time.bytes = planned.bytes;
    time.parallel = planned.parallel;
    if (auto* kernel = std::get_if<KernelCall>(planned.step)) {
      time.name = kernel->name;
    } else if (auto* call = std::get_if<LibraryCall>(planned.step)) {
      time.name = call->name;
      if (planned.kernel != nullptr)
        time.name += " " + std::string(planned.kernel->implementation());
      time.op = call->op;
      time.parallel = true;
    } else {
      time.name = "torch";
      time.op = std::get<FallbackCall>(*planned.step).op;
    }
  }
  return times;
}

}  // namespace penstock::runtime
