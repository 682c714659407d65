// The walker at a segment as it is recorded: its start, its instructions, its end.

#include "capture/walker.h"
#include "policy/dynamo_state.h"
#include "policy/shown_code.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "record/polyfills.h"
#include "torch/compile_region.h"

namespace penstock::capture {

using policy::Served;
using python::Directive;
using python::Frame;
using python::Instruction;
using python::Opcode;
using python::PyRef;
using python::text_of;
using record::BreakReason;
using record::FrameShadow;
using record::Operand;
using record::RaisePlace;
using record::Walk;

using Clock = std::chrono::steady_clock;

void Walker::start(Activation& activation, Region& region, const record::ChangedNumbers* changed,
                   bool trial, bool patient) {
  if (!activation.turns.empty() && activation.turns.back().kind == Turn::Kind::hot) {
    changed = &numbers_of_turn(activation, region, changed);
  }
  // A backend may bake in the numbers that it is shown.
  const bool fixed = torch::region_backend() != nullptr;
  region.walk = std::make_unique<Walk>(*bridge_, schemas_, compile_api_, callables_,
                                       fixed ? nullptr : changed,
                                       fixed ? record::DynamicSizes::off : dynamic_sizes(region),
                                       client_.wants_examples(), client_.runs_entries());
  region.mode = Mode::recording;
  ++region.finds;
  region.meter.segment_begins();
  region.start = &activation;
  region.trial = trial;
  region.patient = patient;
  region.trial_unit = activation.frame->unit();
  region.with_root = false;
  region.started = Clock::now();
  if (sink_.shows_work()) sink_.works_on("recording " + policy::shown_code(*activation.frame).name);
  region.ops = {};
  region.unrolled.clear();
  activation.shadow = &region.walk->start(*activation.frame);
}

namespace {

bool closes_long_loop(const Activation& activation, Region& region,
                      const Instruction& instruction) {
  const Frame& frame = *activation.frame;
  return !region.walk->recorder.subgraphs.any() &&
         closes_while_loop(frame.bytecode(), instruction) &&
         region.unrolled.is_too_long(frame.code(), instruction,
                                     region.walk->recorder.graph().nodes.size());
}

}  // namespace

namespace {

/// An `assert` begins, or its condition is asked: a graph can assert.
bool asserts(const python::Bytecode& code, const Instruction& instruction) {
  const Instruction* next = code.at(instruction.next);
  return next != nullptr && next->opcode == Opcode::LOAD_ASSERTION_ERROR;
}

}  // namespace

namespace {

/// True if a node takes what the first one gives.
bool uses_first_node(const Graph& graph) {
  bool used = false;
  for (std::size_t at = 1; !used && at < graph.nodes.size(); ++at) {
    for (const NamedArgument& argument : graph.nodes[at].args) {
      for_each_value(argument.value, [&](ValueId id) {
        used =
            used || std::ranges::find(graph.nodes[0].results, id) != graph.nodes[0].results.end();
      });
    }
  }
  return used;
}

/// Why a function of torch's control flow, which is recorded once however often it runs, must be
/// left before the frame's next instruction; nothing: it goes on, or none is recorded.
std::optional<BreakReason> obstacle_to_subgraph(const Walk& walk, Frame& frame) {
  if (!walk.recorder.subgraphs.any()) return std::nullopt;
  if (walk.verdict.spoiled())
    return BreakReason{walk.verdict.spoil_code(), walk.verdict.spoiled_by()};
  // A handler, of `with` and `finally` too, would run the program's code when the branch is left.
  const bool handles = PyBytes_GET_SIZE(frame.code()->co_exceptiontable) > 0 &&
                       !record::is_polyfill(frame.globals()) &&
                       !policy::module_name(frame.globals()).starts_with("torch.");
  if (!handles) return std::nullopt;
  return BreakReason{Code::PS0310, walk.recorder.subgraphs.what() + " handles exceptions"};
}

/// Walk::before; a function of torch's control flow is left where the instruction changes an
/// object.
bool goes_on(Walk& walk, FrameShadow& shadow, const Instruction& instruction) {
  if (!walk.before(shadow, instruction)) return false;
  if (!walk.recorder.subgraphs.any() || !walk.effects.of_instruction()) return true;
  return walk.verdict.broke(Code::PS0310, walk.recorder.subgraphs.what() + " changes an object");
}

}  // namespace

Directive Walker::record(Activation& activation, Region& region, const Instruction& instruction) {
  Walk& walk = *region.walk;
  FrameShadow& shadow = *activation.shadow;
  if (auto obstacle = obstacle_to_subgraph(walk, *activation.frame))
    return abandon(region, std::move(*obstacle));
  if (walk.verdict.spoiled()) {
    if (const auto& place = walk.verdict.spoiled_at()) {
      end_before_now(*place, {walk.verdict.spoil_code(), walk.verdict.spoiled_by()});
      region.trial = true;  // the next one ends earlier: there is nothing to tell
    }
    drop(region);
    return Directive::step;
  }
  if (&activation == region.start && python::returns(instruction.opcode)) {
    shadow.instruction = &instruction;
    const Operand result = shadow.result_of(instruction);
    end(region, SegmentEnd{SegmentEnd::Kind::returned, -1, {}}, &result);
    if (PyRef error = take_error()) return backend_raised(region, std::move(error));
    return Directive::step;
  }
  // What the program compiles itself is one graph, however long it takes.
  if (enclosing(region) == nullptr && closes_long_loop(activation, region, instruction)) {
    end_before_now({activation.frame->code(), instruction.offset, 0},
                   {Code::PS0303, "a long loop", true});
    region.trial = true;
    drop(region);
    return Directive::step;
  }
  const auto known = known_end(region, shadow, instruction);
  const bool turns = known == ends_before_.end() && is_end_of_turn(region, activation, instruction);
  if (turns || known != ends_before_.end()) {
    shadow.instruction = &instruction;
    if (turns || known->second.silent) {
      walk.verdict.end_silently();
    } else {
      walk.verdict.broke(known->second.code, known->second.reason, known->second.anywhere);
    }
  } else if (goes_on(walk, shadow, instruction)) {
    if (shadow.is_op_time) region.op_started = Clock::now();
    return Directive::step;
  }
  if (walk.recorder.subgraphs.any()) return abandon(region, walk.verdict.reason());
  BreakReason reason = walk.verdict.reason();
  if (asserts(activation.frame->bytecode(), instruction)) reason.anywhere = false;
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

bool Walker::is_end_of_turn(const Region& region, const Activation& activation,
                            const Instruction& instruction) {
  if (region.ends_turn) return true;
  if (region.start != &activation || region.walk->recorder.graph().nodes.size() == 0) return false;
  CodeInfo& code = info(*activation.frame);
  if (!code.loop_tests) code.loop_tests = loop_tests(activation.frame->bytecode());
  for (const LoopTest& loop : *code.loop_tests) {
    if (loop.begin != instruction.offset) continue;
    const bool inside = region.trial_unit >= loop.body && region.trial_unit < loop.begin;
    return inside && region.walk->reads_data(*activation.shadow, instruction.offset, loop.jump);
  }
  return false;
}

namespace {

/// Of a segment that could go on behind an earlier instruction alone: what it met is why it ends
/// there; silent where it met nothing.
BreakReason what_it_met(const Walk& walk) {
  BreakReason met = walk.verdict.reason();
  met.silent = met.silent || met.reason.empty();
  if (met.reason.find(" (the segment ") == met.reason.npos)
    met.reason += " (" + walk.verdict.spoiled_by() + ")";
  met.asked_for = false;
  return met;
}

}  // namespace

bool Walker::end(Region& region, SegmentEnd end, const Operand* result) {
  Walk& walk = *region.walk;
  if (walk.recorder.graph().nodes.size() == 0) {
    drop(region);
    return false;
  }
  if (region.at_factory && !uses_first_node(walk.recorder.graph())) {
    info(*region.start->frame).dry_trials[region.trial_unit] = kMostTrials;
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
  region.with_root = plan.returns || end.kind == SegmentEnd::Kind::loop;
  const bool broke = end.kind == SegmentEnd::Kind::broke;
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
    if (refused && place.code != nullptr) end_before(place, walk.verdict.reason());
    if (broke && place.code != nullptr) end_before(place, what_it_met(walk));
    drop(region);
    return false;
  }
  Interface& interface = segment.graph.interface;
  if (region.last.frame >= 0) interface.after = to_string(region.last);
  interface.capture_ns =
      (Clock::now() - region.started - region.ops - walk.objects.freeing()).count();
  region.any_op = true;
  if (region.trial_unit == 0) info(*region.start->frame).dry_starts.ended(false);
  for (const auto& activation : region.activations) info(*activation->frame).holds_segment = true;
  if (enclosing(region) != nullptr) policy::count_graph(segment.graph.calls.size());
  if (sink_.shows_work()) sink_.works_on("compiling " + interface.name);
  const auto recorded_at = Clock::now();
  const EntryId id = client_.captured(std::move(segment));
  sink_.ran({Stretch::Kind::compile, id, recorded_at, Clock::now()});
  if (sink_.shows_work()) sink_.worked();
  if (tier_up_) recorded(region);
  region.last = id;
  plans_[key_of(id)] = std::move(plan);
  region.mode = Mode::glue;
  region.meter.segment_ends(Stretch::Kind::record, id);
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
    const RaisePlace here = place.within(region.start->frame->code(), region.trial_unit);
    end_before(region.with_root ? here : place, std::move(reason));
  } else if (region.walk && region.walk->verdict.spoiled() && region.walk->verdict.recurs() &&
             !region.trial) {  // a trial without ops lost nothing
    SkipEvent skip;
    skip.code = std::string(facts(Code::PS0401).id);
    policy::ShownCode shown = policy::shown_code(*region.start->frame);
    skip.name = std::move(shown.name);
    skip.location = std::move(shown.location);
    skip.reason = region.walk->verdict.spoiled_by();
    if (reported_.insert("skip " + skip.name + skip.reason).second) sink_.skipped(skip);
  }
  if (tier_up_ && region.walk) spent(region, 0);
  region.learning = true;
  if (region.start != nullptr) {
    CodeInfo& known = info(*region.start->frame);
    if (region.trial)
      ++known.dry_trials[region.trial_unit];
    else if (region.trial_unit == 0)
      known.dry_starts.ended(true);
  }
  region.mode = Mode::glue;
  region.meter.segment_was_none();
  if (sink_.shows_work()) sink_.worked();
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

}  // namespace penstock::capture
