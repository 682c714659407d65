// Who runs a graph: our own code, or a compiler that is not ours.
//
// A back end is a command in a process of its own (process.h, penstock-backend(7)): it is given the
// graph as a document, compiles it to what it likes, and is then called with tensors in memory that
// both processes see. Another process costs each call two copies and some ten microseconds, and
// what it buys is that nothing a foreign compiler does reaches the program: it may crash, hang,
// print, set signal handlers, start threads or need another Python, with packages that fit none of
// the program's. Where handing over costs more than a call, our own code is faster anyway, and the
// measurement says so.
//
// What stays ours is all that makes a graph fit its program: guards in front of it, which tensors
// its outputs are and what they share memory with, what is written to its inputs and restored
// behind it, the gate. To that end a graph that a back end runs is a bundle of one call
// (bundle_of_call), executed as any bundle is. Our own code is compiled in any case: it runs when a
// back end does not.
//
// Nothing that a back end computes is believed unseen. The first call, and the first ones with
// other sizes, are run by our own code for the program and by the back end beside it, and their
// results compared as `run --self-check` compares; inputs that the graph writes are copied for that
// before. Only then do calls go to the back end, and each of them has a time limit. Where one goes
// wrong, nothing has been written: our own code runs the call, and those that follow.
//
// A graph's weights are constants to a back end, as its packing and folding need them: they are
// looked at before each call by what stands for their contents (content_versions.h), and when one
// has changed, the graph is ours from then on. Threads are as many as torch has now: when the
// program sets others, the graph is compiled again.
//
// Choosing (--backend=auto) times our own code first. A call that is over before it could be handed
// to another process is ours without a question. Else each back end that is there compiles the
// graph and is compared and timed, and the fastest runs it: another than ours only where it saves
// more than what times differ by anyway. Whatever came of it is kept in the store, by the graph,
// the CPU, the number of threads and the back ends' versions: the next process starts the winner
// alone, or nothing.
#include "jit/backends/backend_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "jit/backends/kept_choice.h"
#include "jit/executors/tensor_difference.h"
#include "python/hook.h"
#include "runtime/library_kernel.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

namespace {

using guards::InputValue;
using python::PyRef;
using torch::TensorView;
using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;
using Outcome = BackendEvent::Outcome;

/// What takes less is not worth handing over: two copies and two changes of the process.
constexpr Nanoseconds kLeastWorth = std::chrono::microseconds(100);
/// A back end is faster than ours only if it takes at most this share of the time.
constexpr double kFaster = 0.97;
/// Calls that are timed of each side, and how long that may take, unless one call does.
constexpr int kMostTimed = 10;
constexpr Nanoseconds kTimedLong = std::chrono::milliseconds(300);
/// Calls with sizes that were not compared before.
constexpr int kMostCompared = 12;

/// The inputs of a call, of which those that the graph writes are copies.
class TrialInputs {
 public:
  TrialInputs(std::span<const InputValue> inputs, const OutputPlan& plan)
      : values_(inputs.begin(), inputs.end()), views_(plan.input_writes.size()) {
    for (const OutputPlan::Writes& write : plan.input_writes)
      written_.push_back(static_cast<std::size_t>(write.index));
  }
  /// False where a copy would not lie as the input does.
  bool copy(const torch::TensorBridge& bridge) {
    for (std::size_t i = 0; i < written_.size(); ++i) {
      InputValue& value = values_[written_[i]];
      if (value.view == nullptr || value.object == nullptr) return false;
      PyRef plain = PyRef::steal(PyObject_CallMethod(value.object, "detach", nullptr));
      PyRef made = plain ? PyRef::steal(PyObject_CallMethod(plain.get(), "clone", nullptr)) : plain;
      PyErr_Clear();
      if (!made || !bridge.read(made.get(), views_[i])) return false;
      if (!std::ranges::equal(views_[i].strides, value.view->strides)) return false;
      value.object = made.get();
      value.view = &views_[i];
      before_.push_back(PyRef::steal(PyObject_CallMethod(plain.get(), "clone", nullptr)));
      copies_.push_back(std::move(made));
    }
    return reset();
  }
  /// Lets the copies be what the inputs were, whatever runs have written.
  bool reset() const {
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      PyObject* before = before_[i].get();
      const PyRef done =
          before == nullptr
              ? PyRef()
              : PyRef::steal(PyObject_CallMethod(copies_[i].get(), "copy_", "O", before));
      if (!done) return false;
    }
    return true;
  }
  std::span<const InputValue> values() const { return values_; }
  /// What tells a copy from what `own` has become.
  std::optional<std::string> difference_from(std::span<const InputValue> own,
                                             const torch::TensorBridge& bridge) const {
    for (std::size_t i = 0; i < written_.size(); ++i) {
      TensorView view;
      if (!bridge.read(own[written_[i]].object, view)) return std::string("it cannot be read");
      if (auto how = difference(views_[i], view))
        return fmt::format("an input that is written: {}", *how);
    }
    return std::nullopt;
  }

 private:
  std::vector<InputValue> values_;
  std::vector<TensorView> views_;
  std::vector<std::size_t> written_;
  std::vector<PyRef> copies_, before_;
};

/// What tells a back end's outputs from ours.
std::optional<std::string> difference_of(std::span<const PyRef> theirs, std::span<const PyRef> own,
                                         const torch::TensorBridge& bridge) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    TensorView a, b;
    const bool read = bridge.read(theirs[i].get(), a) && bridge.read(own[i].get(), b);
    PyErr_Clear();
    if (!read) return fmt::format("output {} is no tensor", i);
    if (auto how = difference(a, b)) return fmt::format("output {} is not ours: {}", i, *how);
  }
  return std::nullopt;
}

/// A back end with the graph compiled in it.
struct Candidate {
  Backend* backend = nullptr;
  std::unique_ptr<BackendGraph> graph;
  std::unique_ptr<Executor> executor;
  Nanoseconds time{0};
};

class BackendExecutor final : public Executor {
 public:
  BackendExecutor(std::shared_ptr<Backends> backends, std::unique_ptr<Executor> own,
                  OfferedGraph offered, const torch::TensorBridge& bridge)
      : backends_(std::move(backends)),
        own_(std::move(own)),
        offered_(std::move(offered)),
        bridge_(bridge),
        all_(offered_.graph.interface.inputs.size()) {
    std::iota(all_.begin(), all_.end(), 0U);
  }

  Result<void> run(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) override {
    if (settled_ && !chosen_.executor) return run_own(call, outputs, written);
    if (!settled_ || is_due(call)) return run_trial(call, outputs, written);
    if (const std::string changed = changed_weight(call.inputs); !changed.empty()) {
      give_up({Outcome::changed, changed + " has changed since"});
      return run_own(call, outputs, written);
    }
    auto done = run_by(*chosen_.executor, call, outputs, written);
    if (done || written) return done;
    give_up(chosen_.graph->failure());
    return run_own(call, outputs, written);
  }

  std::span<const Guard> guards() const override { return own_->guards(); }
  bool takes_pending() const override { return is_own() && own_->takes_pending(); }
  bool leaves_pending() const override { return is_own() && own_->leaves_pending(); }
  Result<bool> run_pending(const ExecutorCall& call, std::span<PendingTensor> pending,
                           std::span<PyRef> outputs) override {
    const bool other = std::exchange(last_, own_.get()) != own_.get();
    return own_->run_pending(other ? with_all(call) : call, pending, outputs);
  }

 private:
  bool is_own() const { return settled_ && !chosen_.executor; }
  ExecutorCall with_all(const ExecutorCall& call) const {
    return {call.inputs, all_, call.symbols, call.kernel_time};
  }

  Result<void> run_by(Executor& executor, const ExecutorCall& call, std::span<PyRef> outputs,
                      bool& written) {
    const bool other = std::exchange(last_, &executor) != &executor;
    return executor.run(other ? with_all(call) : call, outputs, written);
  }
  Result<void> run_own(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) {
    return run_by(*own_, call, outputs, written);
  }

  /// The sizes are others than those of the last call, and were perhaps not compared yet.
  bool is_due(const ExecutorCall& call) {
    if (compared_ >= kMostCompared) return false;
    const std::size_t count = offered_.graph.interface.symbols.size();
    std::vector<std::int64_t> symbols(call.symbols, call.symbols + count);
    return std::exchange(symbols_, symbols) != symbols;
  }

  Result<void> run_trial(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) {
    const python::HookPause pause;
    const bool first = !settled_;
    if (first) is_due(call);  // notes the sizes
    ++compared_;
    TrialInputs copies(call.inputs, offered_.plan);
    const bool comparable = copies.copy(bridge_);
    const auto begin = Clock::now();
    if (auto done = run_own(call, outputs, written); !done) return done;
    const Nanoseconds cold = Clock::now() - begin;
    if (!comparable) {
      settle_without(Outcome::untried, "what it writes cannot be copied for a comparison");
      return {};
    }
    const Trial trial{call, copies, outputs};
    if (!first) {
      compare_again(trial);
    } else if (backends_->options().chooses) {
      choose(trial, cold);
    } else {
      try_named(trial);
    }
    PyErr_Clear();
    return {};
  }

  /// A call that our own code has run.
  struct Trial {
    const ExecutorCall& call;
    const TrialInputs& copies;
    std::span<const PyRef> own;
  };

  /// Runs it by an executor; how long that took, or why it failed.
  Result<Nanoseconds> time(Executor& executor, const Trial& trial, std::vector<PyRef>& outputs) {
    outputs.assign(trial.own.size(), PyRef());
    bool written = false;
    const ExecutorCall call{trial.copies.values(), all_, trial.call.symbols, nullptr};
    last_ = nullptr;
    const auto begin = Clock::now();
    if (auto done = executor.run(call, outputs, written); !done)
      return tl::unexpected(done.error());
    return Clock::now() - begin;
  }

  /// The least of some calls.
  std::optional<Nanoseconds> least_time(Executor& executor, const Trial& trial) {
    std::optional<Nanoseconds> least;
    Nanoseconds spent{0};
    for (int i = 0; i < kMostTimed && (i < 2 || spent < kTimedLong); ++i) {
      std::vector<PyRef> outputs;
      const auto took = time(executor, trial, outputs);
      if (!took) return std::nullopt;
      least = std::min(least.value_or(*took), *took);
      spent += *took;
    }
    return least;
  }

  /// What a back end's results are like beside ours.
  std::optional<BackendFailure> compare(Candidate& candidate, const Trial& trial) {
    std::vector<PyRef> outputs;
    if (!trial.copies.reset())
      return BackendFailure{Outcome::untried, "what it writes cannot be copied"};
    const auto took = time(*candidate.executor, trial, outputs);
    if (!took) {
      const BackendFailure& why = candidate.graph->failure();
      return why.reason.empty() ? BackendFailure{Outcome::failed, took.error().message} : why;
    }
    candidate.graph->note_first_run(std::chrono::duration<double>(*took).count());
    candidate.time = *took;
    auto how = difference_of(outputs, trial.own, bridge_);
    if (!how) how = trial.copies.difference_from(trial.call.inputs, bridge_);
    if (how) return BackendFailure{Outcome::differs, *how};
    return std::nullopt;
  }

  /// Compiles the graph with a back end that is there, and compares a call.
  std::optional<BackendFailure> make(Candidate& candidate, const Trial& trial) {
    auto document = document_of(trial.call.inputs);
    if (!document) return BackendFailure{Outcome::untried, document.error().message};
    KernelBundle bundle = offered_.bundle;
    std::vector<bool> passed;
    for (const std::size_t i : all_) passed.push_back(!is_weight(i));
    pass_only(bundle, passed);
    candidate.graph = std::make_unique<BackendGraph>(
        *backends_, *candidate.backend, std::move(*document), written_positions(passed));
    if (auto why = candidate.graph->compile()) return why;
    auto executor = offered_.load(std::move(bundle), offered_.plan, *candidate.graph);
    if (!executor) return BackendFailure{Outcome::untried, executor.error().message};
    candidate.executor = std::move(*executor);
    return compare(candidate, trial);
  }

  /// Which of the inputs that are passed the graph writes, in the order of its outputs.
  std::vector<std::size_t> written_positions(const std::vector<bool>& passed) const {
    std::vector<std::size_t> positions;
    for (const Mutation& mutation : offered_.bundle.interface.mutations) {
      positions.push_back(static_cast<std::size_t>(
          std::count(passed.begin(), passed.begin() + mutation.input, true)));
    }
    return positions;
  }

  void try_named(const Trial& trial) {
    settled_ = true;
    Candidate candidate{&backends_->all().front(), nullptr, nullptr, {}};
    if (!backends_->is_there(*candidate.backend))
      return tell(*candidate.backend, {Outcome::missing, candidate.backend->why_missing()});
    if (auto why = make(candidate, trial)) return fail(*candidate.backend, *why);
    chosen_ = std::move(candidate);
    tell(*chosen_.backend, {Outcome::runs, {}});
  }

  void compare_again(const Trial& trial) {
    if (const std::string changed = changed_weight(trial.call.inputs); !changed.empty())
      return give_up({Outcome::changed, changed + " has changed since"});
    if (auto why = compare(chosen_, trial)) give_up(*why);
  }

  void choose(const Trial& trial, Nanoseconds cold) {
    settled_ = true;
    std::optional<Nanoseconds> own = cold;
    if (cold >= kLeastWorth) own = least_time(*own_, trial);
    if (!own || *own < kLeastWorth) {
      return backends_->tell_all(offered_.graph.interface.id, Outcome::untried,
                                 "a call takes less than handing it over");
    }
    KeptChoice kept(*backends_, offered_.key);
    if (kept.is_known()) return follow(kept, trial);
    std::vector<BackendEvent> events;
    Candidate best;
    for (Backend& backend : backends_->all()) {
      Candidate candidate{&backend, nullptr, nullptr, {}};
      BackendEvent& event = events.emplace_back(event_of(backend, {Outcome::slower, {}}));
      std::optional<BackendFailure> why;
      if (!backends_->is_there(backend)) {
        why = {Outcome::missing, backend.why_missing()};
      } else {
        why = make(candidate, trial);
        if (!why) why = time_candidate(candidate, trial, *own);
      }
      event.backend_ns = candidate.time.count();
      if (why) {
        event.outcome = why->outcome;
        event.reason = why->reason;
        report(backend, *why);
      } else if (!best.backend || candidate.time < best.time) {
        best = std::move(candidate);
      }
    }
    const bool faster = best.backend != nullptr && static_cast<double>(best.time.count()) <
                                                       kFaster * static_cast<double>(own->count());
    for (BackendEvent& event : events) {
      event.own_ns = own->count();
      if (faster && event.backend == best.backend->name()) event.outcome = Outcome::runs;
      if (event.outcome == Outcome::slower)
        event.reason = faster ? best.backend->name() + " is faster" : "penstock's code is faster";
    }
    if (faster) chosen_ = std::move(best);
    kept.keep(events);
    for (const BackendEvent& event : events) backends_->tell(event);
  }

  /// Times it by turns with our own code, whose least time `own` is: what else the machine does
  /// then slows both.
  std::optional<BackendFailure> time_candidate(Candidate& candidate, const Trial& trial,
                                               Nanoseconds& own) {
    const auto until = Clock::now() + kTimedLong;
    for (int i = 0; i < kMostTimed && (i < 2 || Clock::now() < until); ++i) {
      std::vector<PyRef> outputs;
      const auto took = time(*candidate.executor, trial, outputs);
      if (!took) return candidate.graph->failure();
      candidate.time = std::min(candidate.time, *took);
      if (const auto ours = time(*own_, trial, outputs)) own = std::min(own, *ours);
    }
    return std::nullopt;
  }

  /// What an earlier process found: only the winner is started.
  void follow(const KeptChoice& kept, const Trial& trial) {
    for (BackendEvent event : kept.events()) {
      event.id = offered_.graph.interface.id;
      event.remembered = true;
      const auto backend = std::ranges::find(backends_->all(), event.backend, &Backend::name);
      if (event.outcome == Outcome::runs && backend != backends_->all().end()) {
        Candidate candidate{&*backend, nullptr, nullptr, {}};
        if (auto why = make(candidate, trial)) {
          event = event_of(*backend, *why);
          report(*backend, *why);
        } else {
          chosen_ = std::move(candidate);
        }
      }
      backends_->tell(event);
    }
  }

  // -- weights

  bool is_weight(std::size_t input) const {
    return std::ranges::find(weights_, input, &Weight::input) != weights_.end();
  }

  /// The graph as back ends are given it. Written once.
  Result<BackendDocument> document_of(std::span<const InputValue> inputs) {
    if (document_) return *document_;
    std::vector<PyObject*> objects(inputs.size());
    const Interface& interface = offered_.graph.interface;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const InputKind kind = interface.inputs[i].kind;
      const bool kept =
          kind == InputKind::parameter || kind == InputKind::buffer || kind == InputKind::constant;
      const bool written = std::ranges::any_of(offered_.plan.input_writes, [&](const auto& write) {
        return write.index == static_cast<int>(i);
      });
      if (!kept || written || inputs[i].view == nullptr || inputs[i].object == nullptr) continue;
      Weight weight{i, {}, 0};
      weight.version =
          offered_.versions->of(bridge_, inputs[i].object, *inputs[i].view, weight.known);
      if (weight.version == runtime::kUnversioned) continue;
      objects[i] = inputs[i].object;
      weights_.push_back(std::move(weight));
    }
    auto written = backends_->options().document(offered_.graph, objects);
    if (!written) return written;
    document_ = *written;
    return written;
  }

  /// The name of a weight whose elements are others than those that were compiled in.
  std::string changed_weight(std::span<const InputValue> inputs) {
    for (Weight& weight : weights_) {
      const InputValue& input = inputs[weight.input];
      const bool there = input.view != nullptr && input.object != nullptr;
      if (there &&
          offered_.versions->of(bridge_, input.object, *input.view, weight.known) == weight.version)
        continue;
      return offered_.graph.interface.inputs[weight.input].name;
    }
    return {};
  }

  // -- telling

  BackendEvent event_of(const Backend& backend, const BackendFailure& what) const {
    BackendEvent event;
    event.id = offered_.graph.interface.id;
    event.backend = backend.name();
    event.version = backend.version();
    event.outcome = what.outcome;
    event.reason = what.reason;
    return event;
  }
  void tell(const Backend& backend, const BackendFailure& what) const {
    backends_->tell(event_of(backend, what));
  }
  void report(const Backend& backend, const BackendFailure& what) const {
    const auto& report = backends_->options().report;
    if (!report || what.outcome == Outcome::missing) return;
    Diagnostic told{Code::PS0505, {}, offered_.graph.interface.location, {}, {}, Severity::warning};
    told.message = fmt::format("[{}] {} {}: {}", to_string(offered_.graph.interface.id),
                               backend.name(), to_string(what.outcome), what.reason);
    report(told);
  }
  void fail(const Backend& backend, const BackendFailure& what) const {
    tell(backend, what);
    report(backend, what);
  }
  void give_up(const BackendFailure& why) {
    fail(*chosen_.backend, why);
    last_ = nullptr;
    chosen_ = {};
  }
  void settle_without(Outcome outcome, const std::string& reason) {
    settled_ = true;
    backends_->tell_all(offered_.graph.interface.id, outcome, reason);
  }

  struct Weight {
    std::size_t input = 0;
    ContentVersions::Known known;
    std::uint64_t version = 0;
  };

  std::shared_ptr<Backends> backends_;
  std::unique_ptr<Executor> own_;
  OfferedGraph offered_;
  const torch::TensorBridge& bridge_;
  std::vector<std::uint32_t> all_;
  Candidate chosen_;                ///< none: our own code runs the calls
  bool settled_ = false;            ///< it was decided who does
  const Executor* last_ = nullptr;  ///< that ran a call
  std::optional<BackendDocument> document_;
  std::vector<Weight> weights_;  ///< that are constants to back ends
  std::vector<std::int64_t> symbols_;
  int compared_ = 0;
};

}  // namespace

std::unique_ptr<Executor> offer_to_backends(std::shared_ptr<Backends> backends,
                                            std::unique_ptr<Executor> own, OfferedGraph offered) {
  const auto bridge = torch::TensorBridge::get();
  if (!bridge || *bridge == nullptr) return own;
  return std::make_unique<BackendExecutor>(std::move(backends), std::move(own), std::move(offered),
                                           **bridge);
}

}  // namespace penstock::jit
