#include "jit/entry.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "jit/exceptions.h"
#include "ops/gradient.h"
#include "python/collector_pause.h"
#include "torch/autocast.h"
#include "torch/gradient_leaf.h"
#include "torch/gradient_node.h"
#include "torch/profiler_range.h"
#include "torch/state.h"

namespace penstock::jit {

using guards::GuardProgram;
using python::PyRef;

namespace {

/// Marks an entry as active. Wherever a tensor is dropped, torch lets other threads run: from the
/// first guard to the last effect none of them may touch what the entry keeps of a call.
class Activity {
 public:
  explicit Activity(bool& active) : active_(active), before_(std::exchange(active, true)) {}
  ~Activity() { active_ = before_; }
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

 private:
  bool& active_;
  bool before_;
};

/// The inputs to which a graph goes backward.
std::vector<std::size_t> leaves_of_backward(const Graph& graph) {
  std::set<std::size_t> leaves;
  for (const Node& node : graph.nodes) {
    const Argument* with =
        node.op == ops::kGradient ? find_argument(node, ops::kGradientWith) : nullptr;
    if (with == nullptr) continue;
    for_each_value(*with, [&](ValueId id) {
      if (id < graph.interface.inputs.size()) leaves.insert(id);
    });
  }
  return {leaves.begin(), leaves.end()};
}

}  // namespace

Result<std::unique_ptr<Entry>> Entry::make(const record::CapturedSegment& segment) {
  std::unique_ptr<Entry> entry(new Entry);
  entry->interface_ = segment.graph.interface;
  entry->live_ = guards::LiveTable(segment.live);
  entry->inference_ = torch::inference_mode();
  entry->leaves_ = leaves_of_backward(segment.graph);
  auto guards = GuardProgram::compile(entry->interface_, entry->live_, segment.code);
  if (!guards) return tl::unexpected(guards.error());
  entry->guards_ = std::move(*guards);
  auto restore = RestoreProgram::compile(entry->interface_, entry->live_, segment.code);
  if (!restore) return tl::unexpected(restore.error());
  entry->restore_ = std::move(*restore);
  entry->branch_ = find_branch(entry->interface_, *entry->restore_, segment.code);
  return entry;
}

bool Entry::goes_backward_unseen() const {
  if (leaves_.empty()) return true;
  const auto bridge = torch::TensorBridge::get();
  const torch::PlainLeaves* plain =
      bridge && *bridge != nullptr ? torch::PlainLeaves::get(**bridge) : nullptr;
  return plain != nullptr && torch::records_gradients_plainly() &&
         std::ranges::all_of(leaves_, [&](std::size_t leaf) {
           PyObject* tensor = guards_->input(leaf).object;
           return tensor != nullptr && plain->holds(tensor);
         });
}

Result<void> Entry::add_conditions(std::span<const Guard> guards, PyCodeObject* code) {
  std::unordered_set<std::string> known;
  for (const Guard& guard : interface_.guards) {
    if (guard.condition) known.insert(to_string(*guard.condition));
  }
  const std::size_t before = interface_.guards.size();
  for (const Guard& guard : guards) {
    if (guard.condition && known.insert(to_string(*guard.condition)).second)
      interface_.guards.push_back(guard);
  }
  if (interface_.guards.size() == before) return {};
  auto compiled = GuardProgram::compile(interface_, live_, code);
  if (!compiled) return tl::unexpected(compiled.error());
  guards_ = std::move(*compiled);
  return {};
}

std::optional<Entry::Branch> Entry::find_branch(const Interface& interface,
                                                const RestoreProgram& restore, PyCodeObject* code) {
  if (!restore.leaves_pending()) return std::nullopt;
  const TensorType& condition = interface.outputs[restore.condition()].type;
  const bool one = std::ranges::all_of(condition.sizes,
                                       [](const SymExpr& size) { return size.constant() == 1; });
  if (condition.dtype != DType::bool_ || !one || condition.device != "cpu") return std::nullopt;
  const python::Instruction* jump = python::bytecode_of(code).at(interface.end.offset);
  const auto truth = jump == nullptr ? std::nullopt : python::jumps_on(jump->opcode);
  if (!truth) return std::nullopt;
  return Branch{*truth, jump->target, jump->next};
}

bool Entry::fits(const python::Frame& frame, const PendingLocals* pending) {
  const bool some = pending != nullptr && !pending->locals.empty();
  if (some && !(runs() && executor_->takes_pending())) return false;
  const Activity checking(active_);
  return guards_->check(frame, some ? pending : nullptr) && torch::inference_mode() == inference_ &&
         goes_backward_unseen();
}

std::vector<FailedGuard> Entry::explain(const python::Frame& frame) {
  const Activity checking(active_);
  std::vector<FailedGuard> failed = guards_->explain(frame);
  if (failed.empty() && !leaves_.empty() && guards_->check(frame) && !goes_backward_unseen()) {
    FailedGuard seen{GuardKind::global_state, {}, {}, "True", {}, {}, {}};
    seen.text = "backward() goes to leaves without hooks, and nobody looks at what torch saves";
    seen.actual = "False";
    failed.push_back(std::move(seen));
  }
  if (torch::inference_mode() == inference_) return failed;
  FailedGuard mode{GuardKind::global_state, {}, {}, inference_ ? "True" : "False", {}, {}, {}};
  mode.text = "torch.is_inference_mode_enabled() is " + mode.expected;
  mode.actual = inference_ ? "False" : "True";
  failed.push_back(std::move(mode));
  return failed;
}

void Entry::set_executor(std::unique_ptr<Executor> executor) {
  inputs_.resize(interface_.inputs.size());
  outputs_.resize(interface_.outputs.size());
  executor_ = std::move(executor);
}

ExecutorCall Entry::executor_call() const {
  return {inputs_, changed_, guards_->symbols(), profile == nullptr ? nullptr : &profile->kernels};
}

/// Runs the graph and makes the objects behind it.
Result<Ran> Entry::execute(python::Frame* frame, bool& written, PendingLocals* left) {
  changed_.clear();
  guards_->take_inputs(inputs_, changed_);
  if (left != nullptr) {
    auto over = execute_over(*frame, *left);
    if (!over || *over == Ran::branched) return over;
  } else {
    auto computed = executor_->run(executor_call(), outputs_, written);
    if (!computed) return tl::unexpected(std::move(computed.error()));
  }
  if (restore_->make(*guards_, outputs_, frame)) return Ran::done;
  return penstock::failure(Code::PS0505, "what stands behind the segment could not be made");
}

/// Runs the graph and takes the branch behind it. `done`: the outputs had to be made, nothing else
/// was done.
Result<Ran> Entry::execute_over(python::Frame& frame, PendingLocals& left) {
  pending_outputs_.resize(outputs_.size());
  auto pending = executor_->run_pending(executor_call(), pending_outputs_, outputs_);
  if (!pending) return tl::unexpected(std::move(pending.error()));
  if (!*pending) return Ran::done;
  const bool truth = pending_outputs_[restore_->condition()].truth();
  const int unit = truth == branch_->jumps_if ? branch_->target : branch_->next;
  const bool moved = restore_->leave_pending(*guards_, pending_outputs_, frame, unit, left);
  for (PendingTensor& output : pending_outputs_) output = PendingTensor{};
  if (moved) return Ran::branched;
  return penstock::failure(Code::PS0505, "what stands behind the segment could not be made");
}

/// The outputs are dropped in any case. The entry is active.
Ran Entry::compute(python::Frame* frame, PendingLocals* left) {
  const python::CollectorPause no_finalizers;
  const torch::WithoutAutocast as_recorded;
  const torch::ProfilerRange range(interface_.id, interface_.name);
  bool written = false;
  Ran ran = Ran::done;
  auto done = without_exceptions([&]() -> Result<void> {
    auto executed = execute(frame, written, left);
    if (!executed) return tl::unexpected(std::move(executed.error()));
    ran = *executed;
    return {};
  });
  for (PyRef& output : outputs_) output = nullptr;
  if (done) return ran;
  failure_ = std::move(done.error());
  if (!written) {
    PyErr_Clear();
    return Ran::refused;
  }
  // An input was written: stepping the segment would do that twice.
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, failure_.message.c_str());
  return Ran::raised;
}

PyRef Entry::run_direct(Ran& ran) {
  const Activity running(active_);
  ran = compute(nullptr);
  return ran == Ran::done ? restore_->take_result() : PyRef{};
}

Ran Entry::run(python::Frame& frame, PyRef& result, PendingLocals& pending, bool over_branch) {
  const Activity running(active_);
  const Ran ran = compute(&frame, over_branch ? &pending : nullptr);
  if (ran != Ran::done) return ran;
  if (!pending.locals.empty()) {
    restore_->drop_replaced(pending);
    // What applies may run the program's code, which may look at the frame; but not where it ends.
    if (returns() && restore_->only_fills()) {
      pending.locals.clear();
    } else if (!pending.settle(frame)) {
      return Ran::raised;
    }
  }
  auto applied = without_exceptions([&]() -> Result<void> {
    if (restore_->apply(frame, result)) return {};
    return penstock::failure(Code::PS0505, "an effect behind the segment raised");
  });
  if (applied) return Ran::done;
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_MemoryError, applied.error().message.c_str());
  return Ran::raised;
}

}  // namespace penstock::jit
