#include "jit/entry.h"

#include "jit/exceptions.h"
#include "jit/torch_state.h"
#include "python/torch_state.h"

namespace penstock::jit {

using python::PyRef;

Result<std::unique_ptr<Entry>> Entry::make(const capture::CapturedSegment& segment, EntryId id) {
  std::unique_ptr<Entry> entry(new Entry);
  entry->interface_ = segment.graph.interface;
  entry->interface_.id = id;
  entry->live_ = LiveTable(segment.live);
  entry->inference_ = python::inference_mode();
  auto guards = GuardProgram::compile(entry->interface_, entry->live_, segment.code);
  if (!guards) return tl::unexpected(guards.error());
  entry->guards_ = std::move(*guards);
  auto restore = RestoreProgram::compile(entry->interface_, entry->live_, segment.code);
  if (!restore) return tl::unexpected(restore.error());
  entry->restore_ = std::move(*restore);
  return entry;
}

bool Entry::fits(const python::Frame& frame) {
  return guards_->check(frame) && python::inference_mode() == inference_;
}

std::vector<FailedGuard> Entry::explain(const python::Frame& frame) {
  std::vector<FailedGuard> failed = guards_->explain(frame);
  if (python::inference_mode() == inference_) return failed;
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

/// Runs the graph and makes the objects behind it.
Result<void> Entry::execute(python::Frame* frame, bool& written) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = guards_->input(i);
  auto computed = executor_->run({inputs_, guards_->symbols()}, outputs_, written);
  if (!computed) return computed;
  if (restore_->make(*guards_, outputs_, frame)) return {};
  return penstock::failure(Code::PS0505, "what stands behind the segment could not be made");
}

/// The outputs are dropped in any case.
Ran Entry::compute(python::Frame* frame) {
  const CollectorPause no_finalizers;
  active_ = true;
  bool written = false;
  auto done = without_exceptions([&] { return execute(frame, written); });
  for (PyRef& output : outputs_) output = nullptr;
  active_ = false;
  if (done) return Ran::done;
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
  ran = compute(nullptr);
  return ran == Ran::done ? restore_->take_result() : PyRef{};
}

Ran Entry::run(python::Frame& frame, PyRef& result) {
  const Ran ran = compute(&frame);
  if (ran != Ran::done) return ran;
  auto applied = without_exceptions([&]() -> Result<void> {
    if (restore_->apply(frame, result)) return {};
    return penstock::failure(Code::PS0505, "an effect behind the segment raised");
  });
  if (applied) return Ran::done;
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_MemoryError, applied.error().message.c_str());
  return Ran::raised;
}

}  // namespace penstock::jit
