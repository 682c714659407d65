#include "capture/walker.h"

#include "policy/dynamo_state.h"
#include "policy/may_record.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "python/materialise.h"
#include "record/polyfills.h"
#include "torch/compile_region.h"
#include "torch/memory_escapes.h"
#include "torch/op_counter.h"
#include "torch/state.h"

namespace penstock::capture {

using policy::is_region;
using policy::Served;
using python::Directive;
using python::Entry;
using python::Frame;
using python::Instruction;
using python::Leaving;
using python::Opcode;
using python::Outcome;
using python::PyRef;
using python::text_of;
using record::BreakReason;
using record::FrameShadow;
using record::Operand;
using record::RaisePlace;
using record::Walk;

using Clock = std::chrono::steady_clock;

namespace {

constexpr int kTrials = 3;
/// So many instructions a segment that is looked up, and stepped for good, counts for.
constexpr int kUselessStep = 1000;

/// Entries are told apart by segment start and recompile number.
std::uint64_t key_of(EntryId id) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(id.frame)) << 32 |
         static_cast<std::uint32_t>(id.recompile);
}

/// Changes with every change of the frame's globals, and is never the same for two dicts.
std::uint64_t globals_version(const Frame& frame) {
  return reinterpret_cast<PyDictObject*>(frame.globals())->ma_version_tag;
}

/// No other thread of Python's is there, which the hook could be missed by.
bool is_only_thread(PyThreadState* thread) {
  return PyInterpreterState_ThreadHead(thread->interp) == thread &&
         PyThreadState_Next(thread) == nullptr;
}

/// True for a call's frame that does not start at the function's start (python/materialise.h).
bool is_made_real(const Frame& frame) {
  return frame.unit() != 0 && !frame.is_generator();
}

}  // namespace

CodeInfo& Walker::info(Frame& frame) {
  python::Bytecode& code = frame.bytecode();
  if (code.data(python::CodeSlot::capture) == nullptr) {
    code.set_data(python::CodeSlot::capture, std::make_unique<CodeInfo>());
  }
  return static_cast<CodeInfo&>(*code.data(python::CodeSlot::capture));
}

Entry Walker::enter(Frame& frame) {
  const Entry entry = decide(frame);
  if (entry != Entry::native || PyErr_Occurred() != nullptr) return entry;
  // What constructors and imports run is no op of the root below which they are called.
  const Region& region = this->region(frame.thread());
  const bool counted = !region.native_roots.empty() && region.native_roots.back().counted;
  if (!sink_.meters_roots() && !counted) return entry;
  const bool below = has_root(region) || region.plain || !region.native_roots.empty();
  return below && roots_.is_apart(frame) ? Entry::native_apart : entry;
}

Entry Walker::decide(Frame& frame) {
  Region& region = this->region(frame.thread());
  // A generator that is resumed by throw() or close(): its error must stay as it is.
  if (frame.is_generator() && PyErr_Occurred() != nullptr) return Entry::native;
  if (is_made_real(frame)) return enter_made_real(frame, region);
  if (record::is_polyfill(frame.globals())) return enter_polyfill(frame, region);
  const Served kind = served(frame);
  const bool taken_in = (kind == Served::compiled || kind == Served::fullgraph) &&
                        region.mode == Mode::recording && torch::region_backend() != nullptr &&
                        region.walk->expects(frame);
  if (kind != Served::none && !taken_in) return enter_served(frame, region, kind);
  if (region.plain) return Entry::native;
  if (region.mode == Mode::recording) {
    if (!region.walk->expects(frame)) return Entry::native;
    if (region.walk->expects_native()) return Entry::native;
    conduct(frame, region, false);
    region.activations.back()->shadow = &region.walk->enter(frame);
    return Entry::conduct;
  }
  if (region.mode == Mode::following) {
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
  // Hooked, an import of torch takes a third longer.
  if (region.activations.empty() && is_only_thread(frame.thread()) &&
      policy::RootPolicy::imports_library(frame))
    return Entry::unhooked;
  if (bridge_ == nullptr) {
    auto bridge = torch::TensorBridge::get();
    if (!bridge || *bridge == nullptr) return Entry::native;
    bridge_ = *bridge;
    torch::MemoryEscapes::get().watch(*bridge_);
    if (sink_.meters_roots()) torch::count_ops(policy::makes_tensor_of_nothing);
  }
  if (frame.is_generator()) return Entry::native;
  if (frame.code()->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    return Entry::native;
  }
  if (is_disabled(region)) return Entry::native;
  if (!torch::ops_run_plainly()) return Entry::native;
  // Before the rules, which cost more: code that has entries was a root.
  CodeInfo& known = info(frame);
  const bool weighed = weighs(region);
  if (weighed && known.some_given_up && is_given_up(frame, known)) return Entry::native;
  if (const auto entry = finish_call(frame, region, known)) return *entry;
  if (weighed && passes_by(frame, known)) return Entry::native;
  const bool inside = !weighed && has_root(region);
  // What a segment was found in while its caller was recorded is looked into whatever it is.
  const bool holds = inside && known.holds_segment;
  if (!holds && roots_.is_native(frame)) {
    report_left(frame);
    return Entry::native;
  }
  if (inside && frame.caller() != region.activations.back()->frame->visible()) return Entry::native;
  if (known.native) return Entry::native;
  if (const auto version = globals_version(frame); known.globals_version != version) {
    known.names_tensors = roots_.names_tensors(frame, *bridge_);
    known.globals_version = version;
  }
  if (!holds && !known.names_tensors && !roots_.handles_tensors(frame, *bridge_))
    return Entry::native;
  if (!inside && (!roots_.is_wanted(frame) || roots_.is_below_native(frame))) return Entry::native;
  if (weighed) return enter_weighed(frame, region, known);
  return conduct(frame, region, !inside || is_region(region.activations.back()->served));
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

Entry Walker::conduct(Frame& frame, Region& region, bool first) {
  auto activation = std::make_unique<Activation>();
  activation->frame = &frame;
  activation->first = first;
  frame.attachment = activation.get();
  if (first && !has_root(region)) {
    region.any_op = false;
    region.last = EntryId{-1, 0, 0};
    if (sink_.meters_roots() && region.native_roots.empty()) region.meter.enter();
  }
  region.activations.push_back(std::move(activation));
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

Directive Walker::instruction(Frame& frame, const Instruction& instruction) {
  Region& region = this->region(frame.thread());
  auto& activation = *static_cast<Activation*>(frame.attachment);
  if (frame.hidden() && activation.shadow == nullptr) return Directive::step;
  if (activation.served != Served::none) return serve(activation, instruction);
  switch (region.mode) {
    case Mode::recording:
      if (activation.shadow != nullptr) return record(activation, region, instruction);
      return Directive::step;
    case Mode::following:
      return follow(activation, region, instruction);
    case Mode::glue:
      break;
  }
  return glue(activation, region, instruction);
}

Directive Walker::glue(Activation& activation, Region& region, const Instruction& instruction) {
  Frame& frame = *activation.frame;
  if (activation.step_once) return step_break(activation, instruction);
  if (tier_up_ && gives_up(activation, region, 1)) return Directive::exit;
  if (activation.cold && !starts_in_loop(activation, frame, instruction)) return Directive::step;
  const bool first = std::exchange(activation.first, false);
  const bool resumes = std::exchange(activation.resumes, false);
  bool trial = false, at_factory = false;
  if (!first && !client_.starts_at(frame.bytecode(), frame.unit())) {
    at_factory = !resumes && fills_tensor(frame, instruction, callables_);
    if (!resumes && !at_factory && !may_record(frame, instruction)) return Directive::step;
    trial = true;
    if (info(frame).dry_trials[frame.unit()] >= kTrials) return Directive::step;
  }
  if (!torch::ops_run_plainly()) return Directive::step;
  bool record_here = trial;
  Lookup lookup;
  if (!trial) {
    const Directive directive = look_up(activation, region, instruction, lookup, record_here);
    if (!record_here) return directive;
  }
  start(activation, region, lookup.changed, !first, resumes);
  region.at_factory = at_factory;
  return record(activation, region, instruction);
}

/// Behind a branch a segment starts at once: what the branch chose is read from the locals that the
/// segment before left.
Directive Walker::step_break(Activation& activation, const Instruction& instruction) {
  activation.step_once = false;
  activation.resumes = python::jumps_on(instruction.opcode).has_value();
  return Directive::step;
}

Directive Walker::look_up(Activation& activation, Region& region, const Instruction& instruction,
                          Lookup& lookup, bool& record) {
  region.meter.segment_begins();
  const Activation* around = enclosing(region);
  const bool over_branches = around == nullptr || around->served != Served::fullgraph;
  lookup = client_.lookup(*activation.frame, over_branches);
  const bool executed = lookup.found == Found::moved || lookup.found == Found::returned ||
                        lookup.found == Found::raised;
  if (executed || lookup.measured) {
    region.useful = true;
    activation.idle = 0;
  }
  if (executed) region.meter.segment_ends();
  switch (lookup.found) {
    case Found::none:
    case Found::miss:
      record = true;
      return Directive::step;
    case Found::moved:
      return moved(activation, region, lookup);
    case Found::returned:
      region.any_op = true;
      activation.frame->unwind_to(0);
      activation.frame->push(std::move(lookup.value));
      return Directive::returned;
    case Found::raised:
      region.any_op = true;
      return Directive::raised;
    case Found::step:
      break;
  }
  if (tier_up_ && !lookup.measured && gives_up(activation, region, kUselessStep))
    return Directive::exit;
  region.mode = Mode::following;
  region.start = &activation;
  region.level = region.activations.size() - 1;
  region.any_op = true;
  activation.followed = 0;
  auto plan = plans_.find(key_of(lookup.id));
  region.until = -1;
  if (lookup.id.recompile >= 0 && plan != plans_.end()) {
    region.last = lookup.id;
    region.plan = plan->second;
  } else {
    region.plan = Plan{lookup.end < 0, {}, {}};
    region.until = lookup.end;
  }
  region.level = 0;
  return follow(activation, region, instruction);
}

/// The instruction behind a segment is stepped: it broke, or its call makes the frames inside which
/// the segment ended real.
Directive Walker::moved(Activation& activation, Region& region, const Lookup& lookup) {
  region.last = lookup.id;
  region.any_op = true;
  activation.announced = lookup.announced;
  activation.step_once = !lookup.branched;
  activation.resumes = lookup.branched;
  if (lookup.branched) return Directive::done;
  if (const auto known = ends_.find(key_of(lookup.id)); known != ends_.end()) {
    const auto& [reason, location] = known->second;
    if (refuses(region, activation, reason, location)) return Directive::raised;
  }
  return Directive::done;
}

Directive Walker::follow(Activation& activation, Region& region, const Instruction& instruction) {
  if (region.plan.returns) return Directive::step;
  bool reached = false;
  if (region.until >= 0) {
    reached = &activation == region.start && activation.followed > 0 &&
              activation.frame->unit() == region.until;
  } else {
    reached = region.level + 1 == region.plan.steps.size() &&
              activation.followed == region.plan.steps[region.level];
  }
  if (reached) {
    client_.stepped(*activation.frame, true);
    region.mode = Mode::glue;
    region.meter.segment_ends();
    region.start = nullptr;
    const auto known = region.until < 0 ? ends_.find(key_of(region.last)) : ends_.end();
    if (known != ends_.end() &&
        refuses(region, activation, known->second.first, known->second.second)) {
      return Directive::raised;
    }
    return step_break(activation, instruction);
  }
  ++activation.followed;
  return Directive::step;
}

void Walker::start(Activation& activation, Region& region, const record::ChangedNumbers* changed,
                   bool trial, bool patient) {
  // A backend may bake in the numbers that it is shown.
  const bool fixed = torch::region_backend() != nullptr;
  region.walk = std::make_unique<Walk>(
      *bridge_, schemas_, compile_api_, callables_, fixed ? nullptr : changed,
      fixed ? record::DynamicSizes::off : dynamic_sizes(region), client_.wants_examples());
  region.mode = Mode::recording;
  region.meter.segment_begins();
  region.start = &activation;
  region.trial = trial;
  region.patient = patient;
  region.trial_unit = activation.frame->unit();
  region.started = Clock::now();
  region.ops = {};
  activation.shadow = &region.walk->start(*activation.frame);
}

Directive Walker::record(Activation& activation, Region& region, const Instruction& instruction) {
  Walk& walk = *region.walk;
  FrameShadow& shadow = *activation.shadow;
  if (walk.verdict.spoiled()) {
    if (const auto& place = walk.verdict.spoiled_at()) {
      ends_before_.insert_or_assign(
          *place, BreakReason{walk.verdict.spoil_code(), walk.verdict.spoiled_by()});
      region.trial = true;  // the next one ends earlier: there is nothing to tell
    }
    drop(region);
    return Directive::step;
  }
  if (&activation == region.start && instruction.opcode == Opcode::RETURN_VALUE) {
    shadow.instruction = &instruction;
    const Operand result = shadow.operand();
    end(region, SegmentEnd{SegmentEnd::Kind::returned, -1, {}}, &result);
    if (PyRef error = take_error()) return backend_raised(region, std::move(error));
    return Directive::step;
  }
  const auto known = known_end(shadow, instruction);
  const bool turns = known == ends_before_.end() && is_loop_test(region, activation, instruction);
  if (turns) {
    shadow.instruction = &instruction;
    walk.verdict.end_silently();
  } else if (known != ends_before_.end()) {
    shadow.instruction = &instruction;
    if (known->second.silent) {
      walk.verdict.end_silently();
    } else {
      walk.verdict.broke(known->second.code, known->second.reason, known->second.anywhere);
    }
  } else if (walk.before(shadow, instruction)) {
    if (shadow.is_op_time) region.op_started = Clock::now();
    return Directive::step;
  }
  BreakReason reason = walk.verdict.reason();
  // A graph can assert.
  const Instruction* next = activation.frame->bytecode().at(instruction.next);
  if (next != nullptr && next->opcode == Opcode::LOAD_ASSERTION_ERROR) reason.anywhere = false;
  const bool loop = turns || (reason.silent && instruction.opcode == Opcode::FOR_ITER);
  SegmentEnd how{loop ? SegmentEnd::Kind::loop : SegmentEnd::Kind::broke,
                 region.start->frame->unit(),
                 reason.silent ? std::string() : std::string(facts(reason.code).id)};
  // The root stands at its call when the segment ends in what it called.
  if (region.start != &activation) how.offset = region.start->shadow->instruction->offset;
  const Location location = walk.here();
  const bool ended = end(region, std::move(how), nullptr);
  if (PyRef error = take_error()) return backend_raised(region, std::move(error));
  if (ended && !reason.silent) report_break(reason, location, region.last);
  if (ended && !reason.silent && enclosing(region) != nullptr)
    policy::count_graph_break(reason.reason);
  if (ended && reason.anywhere) ends_[key_of(region.last)] = {reason, location};
  if (refuses(region, activation, reason, location)) return Directive::raised;
  return step_break(activation, instruction);
}

bool Walker::is_loop_test(const Region& region, const Activation& activation,
                          const Instruction& instruction) {
  if (region.start != &activation || region.walk->recorder.node_count() == 0) return false;
  CodeInfo& code = info(*activation.frame);
  if (!code.loop_tests) code.loop_tests = loop_tests(activation.frame->bytecode());
  for (const LoopTest& loop : *code.loop_tests) {
    if (loop.begin != instruction.offset) continue;
    const bool inside = region.trial_unit >= loop.body && region.trial_unit < loop.begin;
    return inside && region.walk->reads_data(*activation.shadow, instruction.offset, loop.jump);
  }
  return false;
}

bool Walker::end(Region& region, SegmentEnd end, const Operand* result) {
  Walk& walk = *region.walk;
  if (walk.recorder.node_count() == 0) {
    drop(region);
    return false;
  }
  if (region.at_factory && !walk.recorder.uses_first_node()) {
    info(*region.start->frame).dry_trials[region.trial_unit] = kTrials;
    drop(region);
    return false;
  }
  if (ends_earlier(walk)) {
    region.trial = false;
    drop(region);
    return false;
  }
  Plan plan;
  plan.returns = end.kind == SegmentEnd::Kind::returned;
  for (const auto& activation : region.activations) {
    if (activation->shadow == nullptr) continue;
    plan.steps.push_back(activation->shadow->steps);
    plan.codes.push_back(activation->frame->code());
  }
  record::CapturedSegment segment = walk.finish(std::move(end), result);
  if (walk.verdict.spoiled()) {
    // What ends the region's one graph does so where the segment must end next time, too.
    const Activation* around = enclosing(region);
    const RaisePlace place = walk.verdict.must_end_before();
    const bool refused = !plan.returns && walk.verdict.reason().anywhere && around != nullptr &&
                         around->served == Served::fullgraph;
    if (refused && place.code != nullptr) {
      keep_code(place.code);
      ends_before_.try_emplace(place, walk.verdict.reason());
    }
    drop(region);
    return false;
  }
  Interface& interface = segment.graph.interface;
  if (region.last.frame >= 0) interface.after = to_string(region.last);
  interface.capture_ns =
      (Clock::now() - region.started - region.ops - walk.objects.freeing()).count();
  region.any_op = true;
  for (const auto& activation : region.activations) info(*activation->frame).holds_segment = true;
  if (enclosing(region) != nullptr) policy::count_graph(segment.graph.calls.size());
  const auto ops = static_cast<std::int64_t>(segment.graph.nodes.size());
  const EntryId id = client_.captured(std::move(segment));
  if (tier_up_) recorded(region, ops);
  region.last = id;
  plans_[key_of(id)] = std::move(plan);
  region.mode = Mode::glue;
  region.meter.segment_ends();
  for (const auto& activation : region.activations) activation->shadow = nullptr;
  region.walk.reset();
  region.start = nullptr;
  return true;
}

void Walker::drop(Region& region) {
  const RaisePlace place = region.walk ? region.walk->verdict.must_end_before() : RaisePlace{};
  if (place.code != nullptr) {
    BreakReason reason;
    reason.silent = true;
    ends_before_.try_emplace(place, std::move(reason));
  } else if (region.walk && region.walk->verdict.spoiled() &&
             !region.trial) {  // a trial without ops lost nothing
    SkipEvent skip;
    skip.code = std::string(facts(Code::PS0401).id);
    skip.name = text_of(region.start->frame->code()->co_qualname);
    skip.location =
        region.start->frame->bytecode().location(region.start->frame->bytecode().instructions()[0]);
    skip.reason = region.walk->verdict.spoiled_by();
    if (reported_.insert("skip " + skip.name + skip.reason).second) sink_.skipped(skip);
  }
  if (tier_up_ && region.walk) spent(region, 0);
  if (region.trial && region.start != nullptr) {
    ++info(*region.start->frame).dry_trials[region.trial_unit];
  }
  region.mode = Mode::glue;
  region.meter.segment_was_none();
  for (const auto& activation : region.activations) activation->shadow = nullptr;
  region.walk.reset();
  region.start = nullptr;
}

void Walker::report_break(const BreakReason& reason, const Location& location, EntryId after) {
  BreakEvent event;
  event.code = std::string(facts(reason.code).id);
  event.location = location;
  event.after = after;
  event.reason = reason.reason;
  event.rule = reason.rule;
  event.hint = std::string(facts(reason.code).hint);
  const std::string key = std::to_string(after.frame) + event.code + location.file.text() +
                          std::to_string(location.line) + ":" + std::to_string(location.column);
  if (reported_.insert(key).second) sink_.broke(event);
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

void Walker::withdraw(Activation& activation) {
  if (!activation.announced) return;
  activation.announced = false;
  python::withdraw_frames(*activation.frame);
}

bool Walker::stepped(Frame& frame, const Instruction& instruction, Outcome outcome) {
  Region& region = this->region(frame.thread());
  auto& activation = *static_cast<Activation*>(frame.attachment);
  withdraw(activation);
  if (activation.site != nullptr) timed_site(activation);
  if (region.mode != Mode::recording || activation.shadow == nullptr) return false;
  (void)instruction;
  FrameShadow& shadow = *activation.shadow;
  if (shadow.is_op_time) region.ops += Clock::now() - region.op_started;
  shadow.is_op_time = false;
  if (outcome == Outcome::raised || outcome == Outcome::reraised) {
    region.walk->raised(shadow, outcome == Outcome::reraised);
    return false;
  }
  region.walk->after(shadow);
  if (region.trial && region.start == &activation) {
    if (region.walk->recorder.node_count() != 0) {
      region.trial = false;
    } else if (!region.patient) {
      drop(region);
    }
  }
  return false;
}

void Walker::unwound(Frame& frame, int depth) {
  Region& region = this->region(frame.thread());
  auto& activation = *static_cast<Activation*>(frame.attachment);
  if (region.mode != Mode::recording || activation.shadow == nullptr) return;
  region.walk->unwound(*activation.shadow, depth);
}

void Walker::leave(Frame& frame, Leaving how, PyObject*) {
  Region& region = this->region(frame.thread());
  auto* activation = static_cast<Activation*>(frame.attachment);
  withdraw(*activation);
  if (region.mode == Mode::recording && activation->shadow != nullptr) {
    const bool whole = how == Leaving::returned || how == Leaving::yielded;
    if (activation == region.start || how == Leaving::exited) {
      drop(region);
    } else {
      region.walk->leave(*activation->shadow, how == Leaving::yielded, !whole);
    }
  } else if (region.mode == Mode::following && activation == region.start) {
    client_.stepped(frame, region.plan.returns && how == Leaving::returned);
    region.mode = Mode::glue;
    region.meter.segment_ends();
    region.start = nullptr;
  }
  std::unique_ptr<Activation> ended;
  while (ended.get() != activation && !region.activations.empty()) {
    ended = std::move(region.activations.back());
    region.activations.pop_back();
  }
  const Served kind = served(frame);
  if (is_region(kind)) {
    const Activation* around = enclosing(region);
    const bool compiled = around != nullptr && around->served != Served::disabled;
    torch::set_in_compiled_region(compiled, compiled ? around->backend.get() : nullptr);
  }
  if (kind != Served::none) return;
  const bool weighed = ended != nullptr && ended->root != nullptr;
  if (weighed) left_weighed(frame, region, *ended);
  if (has_root(region) || !region.native_roots.empty()) return;
  const RootTotals totals = region.meter.leave();
  const bool ran_ops = region.any_op || totals.native_ops > 0;
  const bool factories_alone = !region.any_op && totals.native_ops == totals.native_factories;
  if (!ran_ops) {
    if (!weighed) info(frame).native = true;  // of a weighed one others may share the code
  } else if (sink_.meters_roots() && !factories_alone) {
    sink_.left_root(totals);
  }
}

bool Walker::may_record(Frame& frame, const Instruction& instruction) {
  auto tensor = [&](int below) {
    PyObject* object = frame.depth() > below ? frame.peek(below) : nullptr;
    return object != nullptr && bridge_->is_tensor(object);
  };
  switch (instruction.opcode) {
    case Opcode::BINARY_OP:
    case Opcode::COMPARE_OP:
    case Opcode::BINARY_SUBSCR:
      return tensor(0) || tensor(1);
    case Opcode::STORE_SUBSCR:
      return tensor(1);
    case Opcode::UNARY_NEGATIVE:
    case Opcode::UNARY_INVERT:
      return tensor(0);
    case Opcode::LOAD_ATTR:
      return tensor(0) && policy::is_view_attribute(frame.name(instruction.argument));
    case Opcode::CALL:
      return policy::may_record_call(frame, instruction, callables_);
    case Opcode::CALL_FUNCTION_EX:
      return true;
    default:
      return false;
  }
}

}  // namespace penstock::capture
