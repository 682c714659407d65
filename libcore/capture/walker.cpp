// The walker: record while the program runs.
//
// Problem. A segment of a program's instructions is to become guards, a graph, and what to restore
// behind it. The obvious way is to interpret the instructions on stand-ins for the real objects and
// to run the graph afterwards. Then the interpreter has to imitate every operation of Python on
// every kind of object, exceptions and their tracebacks included, and wherever it gives up,
// half-done frames, lists and attributes must be made real or rolled back.
//
// Idea. Every frame is a real frame that the conductor executes on real objects; the walker keeps
// beside each slot what is known of its value: a *shadow* (shadow.h). A shadow says where the value
// comes from (a constant, a source reachable from the segment's start, a value of the graph, an
// object made on the way), and each instruction has a rule that moves shadows as the instruction
// moves values. Tensor ops run through torch and are written down. So
//
//  - Python's semantics are CPython's own. A rule only has to know which facts decided the outcome,
//    and guards them where they are consumed; a rule that is missing costs a break, never a wrong
//    result.
//  - Calls are inlined by letting them happen. The callee's frame reaches us through the hook,
//    finds what its caller's instruction was about to run (Expected), and gets its arguments'
//    shadows; frames, tracebacks and exceptions are real at any depth.
//  - A break rolls nothing back: all state is real already. The segment is closed by describing
//    what its frames and its effects hold, and the walk goes on without shadows ("glue") until an
//    instruction is about to run a tensor op: there the next segment starts, as if it had never
//    stopped.
//
// The price: a rule may not change shadows before it is certain, for the state before the
// instruction is the state behind the segment; and what an instruction of C code will run must be
// known before it runs. C functions are therefore named one by one (objects/builtins.cpp).
//
// Speculation. Whether a call will run an op is not known before it. In glue, a call of a Python
// function starts a segment on trial: if the call ends without an op, the trial is dropped, which
// costs nothing but the shadows.
//
// Cost: a rule and a shadow per instruction (tens of nanoseconds); an op costs its overload's
// resolution and a record, a few microseconds. Nothing is done twice: the graph's first results are
// the program's.
//
// By subject: which frames are taken (walker_frames.cpp), roots that are weighed
// (walker_roots.cpp), the turns of loops (walker_turns.cpp), between segments and in those that are
// executed (walker_glue.cpp), a segment as it is recorded (walker_segments.cpp), where it cannot
// end (walker_ends.cpp), torch.compile (walker_regions.cpp). This file takes what the conductor
// tells and passes it on.

#include "capture/walker.h"
#include "python/materialise.h"
#include "record/polyfills.h"
#include "torch/compile_region.h"

namespace penstock::capture {

using policy::is_region;
using policy::Served;
using python::Directive;
using python::Frame;
using python::Instruction;
using python::Leaving;
using python::Outcome;
using record::FrameShadow;

using Clock = std::chrono::steady_clock;

CodeInfo& Walker::info(Frame& frame) {
  python::Bytecode& code = frame.bytecode();
  if (code.data(python::CodeSlot::capture) == nullptr) {
    code.set_data(python::CodeSlot::capture, std::make_unique<CodeInfo>());
  }
  return static_cast<CodeInfo&>(*code.data(python::CodeSlot::capture));
}

Directive Walker::instruction(Frame& frame, const Instruction& instruction) {
  Region& region = this->region(frame.thread());
  auto& activation = *static_cast<Activation*>(frame.attachment);
  if (frame.hidden() && activation.shadow == nullptr) return Directive::step;
  if (activation.served != Served::none) return serve(activation, instruction);
  if (activation.loops != nullptr) {
    const Directive passed = pass_turns(activation, region, instruction);
    if (passed != Directive::step) return passed;
  }
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

void Walker::withdraw(Activation& activation) {
  if (!activation.announced) return;
  activation.announced = false;
  python::withdraw_frames(*activation.frame);
}

bool Walker::stepped(Frame& frame, const Instruction& instruction, Outcome outcome) {
  Region& region = this->region(frame.thread());
  auto& activation = *static_cast<Activation*>(frame.attachment);
  withdraw(activation);
  if (region.mode != Mode::recording || activation.shadow == nullptr) return false;
  (void)instruction;
  FrameShadow& shadow = *activation.shadow;
  if (shadow.is_op_time) region.ops += Clock::now() - region.op_started;
  shadow.is_op_time = false;
  if (outcome == Outcome::raised && region.walk->recorder.subgraphs.any()) {
    // The stand-in for torch's operator calls torch, which says what is wrong.
    if (const auto place = record::open_polyfill(region.walk->innermost()))
      end_before_now(*place, {Code::PS0310, region.walk->recorder.subgraphs.what() + " raises"});
    region.trial = true;
    drop(region);
    return false;
  }
  if (outcome == Outcome::raised || outcome == Outcome::reraised) {
    region.walk->raised(shadow, outcome == Outcome::reraised);
    return false;
  }
  region.walk->after(shadow);
  if (region.trial && region.start == &activation) {
    if (region.walk->recorder.graph().nodes.size() != 0) {
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
    region.meter.segment_ends(Stretch::Kind::plain, region.last);
    region.start = nullptr;
  }
  while (!activation->turns.empty()) end_turn(*activation, region, how == Leaving::returned);
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
  if (kind != Served::none || (ended != nullptr && ended->is_program)) return;
  if (ended != nullptr && ended->finds) {
    const bool dry = *ended->finds == region.finds;
    info(frame).dry_calls.ended(dry);
    region.learning = region.learning || dry;
  }
  const bool weighed = ended != nullptr && (ended->root != nullptr || ended->loops != nullptr);
  if (weighed) left_weighed(frame, region, *ended, how == Leaving::returned);
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

}  // namespace penstock::capture
