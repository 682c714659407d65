#include "jit/entry.h"

#include "jit/torch_state.h"

namespace penstock::jit {

using python::PyRef;

Result<std::unique_ptr<Entry>> Entry::make(const capture::CapturedSegment& segment, EntryId id) {
  std::unique_ptr<Entry> entry(new Entry);
  entry->interface_ = segment.graph.interface;
  entry->interface_.id = id;
  entry->live_ = LiveTable(segment.live);
  auto guards = GuardProgram::compile(entry->interface_, entry->live_, segment.code);
  if (!guards) return tl::unexpected(guards.error());
  entry->guards_ = std::move(*guards);
  auto restore = RestoreProgram::compile(entry->interface_, entry->live_, segment.code);
  if (!restore) return tl::unexpected(restore.error());
  entry->restore_ = std::move(*restore);
  return entry;
}

Result<void> Entry::set_executor(std::unique_ptr<Executor> executor) {
  auto maker = OutputMaker::compile(interface_);
  if (!maker) return tl::unexpected(maker.error());
  auto bridge = python::TensorBridge::get();
  if (!bridge) return tl::unexpected(bridge.error());
  if (*bridge == nullptr) return failure(Code::PS0505, "torch is not imported");
  output_maker_ = std::make_unique<OutputMaker>(std::move(*maker));
  bridge_ = *bridge;
  inputs_.resize(interface_.inputs.size());
  outputs_.resize(interface_.outputs.size());
  memory_.resize(interface_.outputs.size());
  executor_ = std::move(executor);
  return {};
}

/// Runs the graph: outputs_ hold its tensors. False: nothing was changed; a Python error may be set
/// or not.
bool Entry::compute(OutputPool& pool) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = guards_->input(i);
  if (!executor_->makes_outputs() &&
      !output_maker_->allocate(*bridge_, pool, guards_->symbols(), outputs_, memory_)) {
    return false;
  }
  const auto done = executor_->run({inputs_, guards_->symbols(), memory_, outputs_});
  if (!done) {
    if (failure_seen.empty()) failure_seen = done.error().message;
    return false;
  }
  return true;
}

/// Inputs that the graph wrote in place tell torch so, as its own in-place ops do.
bool Entry::bump_versions() {
  for (const Mutation& mutation : interface_.mutations) {
    if (!bump_version(inputs_[mutation.input].object)) return false;
  }
  return true;
}

bool Entry::make_objects() {
  if (output_maker_->has_views() && !executor_->makes_outputs() &&
      !output_maker_->make_views(inputs_, guards_->symbols(), outputs_)) {
    return false;
  }
  return bump_versions() && restore_->make(*guards_, outputs_);
}

/// The graph and the objects behind it; the outputs are dropped in any case.
Ran Entry::compute_and_make(OutputPool& pool) {
  const CollectorPause no_finalizers;
  active_ = true;
  const bool computed = compute(pool);
  const bool made = computed && make_objects();
  for (PyRef& output : outputs_) output = nullptr;
  active_ = false;
  if (made) return Ran::done;
  // A graph that ran may have written inputs: stepping it again would do that twice.
  if (computed && !interface_.mutations.empty()) return Ran::raised;
  PyErr_Clear();
  return Ran::refused;
}

PyRef Entry::run_direct(OutputPool& pool, Ran& ran) {
  ran = compute_and_make(pool);
  return ran == Ran::done ? restore_->take_result() : PyRef{};
}

Ran Entry::run(python::Frame& frame, OutputPool& pool, PyRef& result) {
  const Ran ran = compute_and_make(pool);
  if (ran != Ran::done) return ran;
  return restore_->apply(frame, result) ? Ran::done : Ran::raised;
}

}  // namespace penstock::jit
