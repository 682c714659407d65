// The walker between segments ("glue"): where the next one starts, and what becomes of one that the
// client knows.

#include "capture/walker.h"
#include "policy/may_record.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "torch/methods.h"
#include "torch/state.h"

namespace penstock::capture {

using policy::Served;
using python::Directive;
using python::Frame;
using python::Instruction;
using python::Opcode;

namespace {

/// So many instructions a segment that is looked up, and stepped for good, counts for.
constexpr int kUselessStep = 1000;

}  // namespace

Directive Walker::glue(Activation& activation, Region& region, const Instruction& instruction) {
  Frame& frame = *activation.frame;
  if (activation.step_once) return step_break(activation, instruction);
  if (tier_up_ && gives_up(activation, region, 1)) return Directive::exit;
  if (activation.cold) return Directive::step;
  const bool first = std::exchange(activation.first, false);
  const bool resumes = std::exchange(activation.resumes, false);
  bool trial = false, at_factory = false;
  const bool known_start = client_.starts_at(frame.bytecode(), frame.unit());
  if (first && !known_start && enclosing(region) == nullptr &&
      info(frame).dry_starts.passes_by(true))
    return Directive::step;
  if (!first && !known_start) {
    at_factory = !resumes && fills_tensor(frame, instruction, callables_);
    if (!resumes && !at_factory && !may_record(frame, instruction)) return Directive::step;
    trial = true;
    if (info(frame).dry_trials[frame.unit()] >= kMostTrials) return Directive::step;
  }
  if (!knows_ops()) return Directive::step;
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
  if (lookup.found == Found::step && lookup.measured) region.waited = true;
  if (executed || lookup.measured) {
    region.useful = true;
    region.executed = region.executed || executed;
    activation.idle = 0;
  }
  if (executed || lookup.measured || !client_.runs_entries()) ++region.finds;
  if (executed) region.meter.segment_ends(Stretch::Kind::entry, lookup.id);
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
    case Found::pass:
      region.meter.segment_was_none();
      return Directive::step;
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
  if (activation.loops != nullptr) ++activation.steps;
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
    region.meter.segment_ends(Stretch::Kind::plain, region.last);
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
    case Opcode::BINARY_SLICE:
    case Opcode::STORE_SLICE:
      return tensor(2);
    case Opcode::UNARY_NEGATIVE:
    case Opcode::UNARY_INVERT:
      return tensor(0);
    case Opcode::LOAD_ATTR:
      return tensor(0) &&
             !torch::op_of_attribute(python::text_of(frame.name(instruction.argument))).empty();
    case Opcode::CALL:
      return policy::may_record_call(frame, instruction, callables_);
    case Opcode::CALL_FUNCTION_EX:
      return true;
    default:
      return false;
  }
}

}  // namespace penstock::capture
