// The walker at a frame that begins: who runs it.

#include <fmt/format.h>

#include "capture/optimizer_step.h"
#include "capture/walker.h"
#include "policy/may_record.h"
#include "python/bytecode.h"
#include "python/code_cache.h"
#include "python/exchanged_code.h"
#include "python/hook.h"
#include "python/layout.h"
#include "python/literal.h"
#include "record/polyfills.h"
#include "torch/compile_region.h"
#include "torch/memory_escapes.h"
#include "torch/op_counter.h"
#include "torch/overridden_ops.h"
#include "torch/state.h"
#include "torch/tensor_allocations.h"

namespace penstock::capture {

using policy::is_region;
using policy::Served;
using python::Entry;
using python::Frame;
using python::PyRef;
using python::text_of;

namespace {

/// Changes with every change of the frame's globals, and is never the same for two dicts.
std::uint64_t globals_version(const Frame& frame) {
  return python::dict_version(frame.globals());
}

/// What becomes of a frame that the walker has no use for, where roots are `weighed` or not.
Entry left(bool weighed) {
  return weighed ? Entry::native_watched : Entry::native;
}

SkipEvent replaced_op(const Frame& frame) {
  policy::ShownCode shown = policy::shown_code(frame);
  SkipEvent skip;
  skip.code = std::string(facts(Code::PS0402).id);
  skip.name = std::move(shown.name);
  skip.location = std::move(shown.location);
  skip.reason = fmt::format(
      "{} is code in Python instead of torch's: from here on nothing is "
      "compiled while it is",
      torch::overridden_op());
  return skip;
}

/// True for what CPython calls for each warning that its filters let through.
bool shows_warning(const Frame& frame) {
  if (text_of(frame.code()->co_name) != "_showwarnmsg") return false;
  const std::string_view module = policy::module_name(frame.globals());
  return module == "warnings" || module == "_py_warnings";  // since 3.14
}

/// True for the function of torch's through which all that Python asks for gradients goes.
bool runs_engine(const Frame& frame) {
  return text_of(frame.code()->co_name) == "_engine_run_backward" &&
         policy::module_name(frame.globals()) == "torch.autograd.graph";
}

/// True for a call's frame that does not start at the function's start (python/materialise.h).
bool is_made_real(const Frame& frame) {
  return frame.unit() != 0 && !frame.is_generator();
}

}  // namespace

Entry Walker::enter(Frame& frame) {
  const Entry entry = decide(frame);
  const bool native = entry == Entry::native || entry == Entry::native_watched;
  if (!native || PyErr_Occurred() != nullptr) return entry;
  // What constructors and imports run is no op of the root below which they are called.
  const Region& region = this->region(frame.thread());
  const bool counted = !region.native_roots.empty() && region.native_roots.back().counted;
  if (!sink_.meters_roots() && !counted) return entry;
  const bool below = has_root(region) || region.plain || !region.native_roots.empty();
  return below && roots_.is_apart(frame) ? Entry::native_apart : entry;
}

Entry Walker::decide(Frame& frame) {
  if (declined_) return Entry::native;
  Region& region = this->region(frame.thread());
  // A generator that is resumed by throw() or close(): its error must stay as it is.
  if (frame.is_generator() && PyErr_Occurred() != nullptr) return Entry::native;
  if (is_made_real(frame)) return enter_made_real(frame, region);
  if (record::is_polyfill(frame.globals())) return enter_polyfill(frame, region);
  const Served kind = served(frame);
  const bool taken_in = (kind == Served::compiled || kind == Served::fullgraph) &&
                        region.mode == Mode::recording && torch::region_backend() != nullptr &&
                        region.walk->expects(frame);
  if (kind != Served::none && !taken_in) {
    python::note_event();
    return enter_served(frame, region, kind);
  }
  if (region.plain) return Entry::native;
  if (const auto entry = enter_engine_run(frame, region)) return *entry;
  switch (region.mode) {
    case Mode::recording:
      return enter_recorded(frame, region);
    case Mode::following:
      return enter_followed(frame, region);
    case Mode::glue:
      break;
  }
  // Hooked, an import of torch takes a third longer.
  const bool unused =
      region.activations.empty() || (region.activations.size() == 1 && !has_root(region));
  if (unused && python::is_only_thread(frame.thread()) &&
      policy::RootPolicy::imports_library(frame)) {
    python::note_event();
    return Entry::importing;
  }
  if (const auto entry = enter_program(frame, region)) return *entry;
  if (!finds_torch()) return Entry::native;
  if (rests(frame, region)) return Entry::native_watched;
  const int never = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  if (frame.is_generator() || (frame.code()->co_flags & never) != 0) return left(weighs(region));
  if (is_disabled(region)) return Entry::native;
  if (!knows_ops()) {
    // Modes and contexts of torch's end; such an op may last as long as the process.
    if (torch::ops_are_overridden() && reported_.insert("replaced op").second)
      sink_.skipped(replaced_op(frame));
    return Entry::native;
  }
  return enter_root(frame, region);
}

/// The client is told when torch goes backward. What that is called from may neither rest nor run
/// without the hook: the next time must be seen too.
std::optional<Entry> Walker::enter_engine_run(Frame& frame, Region& region) {
  CodeInfo& known = info(frame);
  if (!known.runs_engine) known.runs_engine = runs_engine(frame);
  if (!*known.runs_engine || !client_.runs_entries()) return std::nullopt;
  const bool followed = region.mode == Mode::following ||
                        (region.mode == Mode::recording && region.walk->expects(frame));
  if (followed) return std::nullopt;
  python::note_event();
  ++region.entrances;
  for (const NativeRoot& outer : region.native_roots) {
    outer.root->goes_backward = true;
    if (!has_inner_turn(outer)) outer.root->gathers = true;
  }
  region.engine_runs.push_back(region.native_roots.size());
  client_.engine_begins(frame.thread());
  return Entry::native_told;
}

/// Nothing is recorded anywhere, so that no call could be missed.
bool Walker::rests(Frame& frame, const Region& region) const {
  if (!weighs(region)) return false;
  const python::CodeRecord* record = python::find_record(frame.code());
  return record != nullptr && record->rest.on() && conducts_all(region);
}

/// A callee of what is being recorded.
Entry Walker::enter_recorded(Frame& frame, Region& region) {
  if (!region.walk->expects(frame) || region.walk->expects_native()) {
    if (client_.runs_entries() && !region.walk->expects_compilation() && shows_warning(frame))
      warned(region);
    return Entry::native;
  }
  conduct(frame, region, false);
  region.activations.back()->shadow = &region.walk->enter(frame);
  return Entry::conduct;
}

/// What is recorded shows a warning, which an entry would not: what torch warns of once is recorded
/// again, what it warns of whenever it is asked to ends segments.
void Walker::warned(Region& region) {
  record::Verdict& verdict = region.walk->verdict;
  if (verdict.spoiled() || torch::region_backend() != nullptr) return;
  const record::BreakReason reason{Code::PS0307, "the op here shows a warning"};
  const record::RaisePlace place = region.walk->program_place(region.walk->innermost());
  if (!warned_at_.emplace(place, reason).second)
    return verdict.spoil_here(reason.reason, reason.code);
  codes_with_ends_.try_emplace(place.code, PyRef::borrow(reinterpret_cast<PyObject*>(place.code)));
  verdict.spoil_once(reason.reason);
}

/// A callee of what is stepped to a segment's end: conducted where that end is inside it.
Entry Walker::enter_followed(Frame& frame, Region& region) {
  const Plan& plan = region.plan;
  const std::size_t next = region.level + 1;
  Activation& innermost = *region.activations.back();
  const bool descends = !plan.returns && next < plan.steps.size() &&
                        innermost.followed == plan.steps[region.level] &&
                        plan.codes[next] == frame.code();
  if (!descends) return Entry::native;
  region.level = next;
  return conduct(frame, region, false);
}

/// True once the program has imported torch.
bool Walker::finds_torch() {
  if (bridge_ != nullptr) return true;
  auto bridge = torch::TensorBridge::get();
  if (!bridge) {
    declined_ = true;
    sink_.declines(bridge.error());
    return false;
  }
  if (*bridge == nullptr) return false;
  bridge_ = *bridge;
  torch::MemoryEscapes::get().watch(*bridge_);
  if (tier_up_) torch::watch_tensor_allocations(*bridge_);
  if (sink_.meters_roots()) torch::count_ops(policy::makes_tensor_of_nothing);
  if (client_.runs_entries()) python::count_exchanged_code();
  return true;
}

/// A call that may be a root, or of a root that is conducted.
Entry Walker::enter_root(Frame& frame, Region& region) {
  // Before the rules, which cost more: code that has entries was a root.
  CodeInfo& known = info(frame);
  if (client_.runs_entries() && run_fused_step(frame, region, known, *bridge_))
    return Entry::finished;
  const bool weighed = weighs(region);
  std::optional<RootHistory*> found;  // looked up once, and only where it is asked for
  const auto history = [&] {
    if (!found) found = known.roots.empty() ? nullptr : find_history(frame, known, false);
    return *found;
  };
  if (weighed && known.some_given_up && TierUp::is_given_up(history()))
    return leave_alone(frame, region, *history());
  if (weighed && known.plain_turns_due > 0) {
    if (const auto turn = enter_plain_turn(region, known, history())) return *turn;
  }
  if (const auto entry = finish_call(frame, region, known)) {
    python::note_event();
    return *entry;
  }
  if (weighed && TierUp::passes_by(history())) {
    python::note_event();
    return leave_alone(frame, region, *history());
  }
  const bool inside = !weighed && has_root(region);
  // Code that has held a segment below a recorded caller is conducted whatever it is.
  const bool holds = inside && known.holds_segment;
  if (!holds && roots_.is_native(frame)) {
    report_left(frame);
    return left(weighed);
  }
  if (inside && frame.caller() != region.activations.back()->frame->visible()) return Entry::native;
  if (known.native) return left(weighed);
  if (const auto version = globals_version(frame); known.globals_version != version) {
    known.names_tensors = roots_.names_tensors(frame, *bridge_);
    known.globals_version = version;
  }
  if (!holds && !known.names_tensors && !roots_.handles_tensors(frame, *bridge_))
    return left(weighed);
  python::note_event();
  if (!inside && (!roots_.is_wanted(frame) || roots_.is_below_native(frame))) return Entry::native;
  if (weighed) return enter_weighed(frame, region, known, history());
  const bool in_region = enclosing(region) != nullptr;
  if (inside && !in_region && known.dry_calls.passes_by(known.holds_segment)) return Entry::native;
  conduct(frame, region, !inside || is_region(region.activations.back()->served));
  if (inside && !in_region) region.activations.back()->finds = region.finds;
  return Entry::conduct;
}

/// A frame inside which an executed segment ended. It goes on at the instruction that it stands at:
/// of the innermost one the segment ended before that, and another one's call makes the next frame
/// real. Neither may be taken for the call of a function from its start.
Entry Walker::enter_made_real(Frame& frame, Region& region) {
  const bool inside =
      !region.activations.empty() && frame.caller() == region.activations.back()->frame->visible();
  if (region.mode != Mode::glue || !inside) return Entry::native;
  conduct(frame, region, false);
  region.activations.back()->step_once = true;
  return Entry::conduct;
}

/// Code of ours that stands for a function of C: no frame of it shows, be it followed or not.
Entry Walker::enter_polyfill(Frame& frame, Region& region) {
  if (!has_root(region)) return Entry::native;
  const bool followed = region.mode == Mode::recording && region.walk->expects(frame) &&
                        !region.walk->expects_native();
  conduct(frame, region, false);
  frame.hide();
  if (followed) region.activations.back()->shadow = &region.walk->enter(frame);
  return Entry::conduct;
}

Entry Walker::conduct(Frame& frame, Region& region, bool first) {
  auto activation = std::make_unique<Activation>();
  activation->frame = &frame;
  activation->first = first;
  frame.attachment = activation.get();
  if (first && !has_root(region)) {
    region.any_op = false;
    region.last = EntryId{-1, 0, 0};
    if (sink_.meters_roots() && region.native_roots.empty()) region.meter.enter(sink_);
  }
  region.activations.push_back(std::move(activation));
  ++region.entrances;
  return Entry::conduct;
}

void Walker::report_left(Frame& frame) {
  policy::KnownCode& known = callables_.of(frame.code(), frame.globals());
  if (known.told || known.rule->built_in || follows_code(known.rule->action)) return;
  if (!roots_.names_tensors(frame, *bridge_) && !roots_.handles_tensors(frame, *bridge_)) return;
  known.told = true;
  SkipEvent skip;
  skip.code = std::string(facts(Code::PS0312).id);
  skip.name = text_of(frame.code()->co_qualname);
  skip.location = frame.bytecode().location(frame.bytecode().instructions()[0]);
  skip.rule = known.rule->text();
  skip.reason = known.rule->reason_for(skip.name);
  sink_.skipped(skip);
}

}  // namespace penstock::capture
