#include "python/materialise_harness.h"

#include "python/versions/call_operands.h"
#include "python/versions/raw_frame.h"

namespace penstock::python {
namespace {

/// Calls whose binding we know: a plain function or a bound method of one, called by CALL, or by
/// CALL_FUNCTION_EX with a tuple and a dict.
bool is_plain_call(Frame& frame, const Instruction& i) {
  PyObject* callable = nullptr;
  if (i.opcode == Opcode::CALL) {
    const auto below = [&](int place) { return frame.peek(place); };
    callable = frame.peek(call_operands(i.argument, below).callable);
  } else if (i.opcode == Opcode::CALL_FUNCTION_EX) {
    const auto below = [&](int place) { return frame.peek(place); };
    const UnpackingOperands operands = unpacking_operands(i.argument, below);
    if (!PyTuple_CheckExact(frame.peek(operands.arguments))) return false;
    callable = frame.peek(operands.callable);
  }
  if (callable == nullptr) return false;
  if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  if (!PyFunction_Check(callable)) return false;
  const int flags = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callable))->co_flags;
  return (flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0;
}

/// True if `frame` is of the very function that `caller` is calling.
bool calls_directly(const Frame& caller, const Frame& frame) {
  const PendingCall* call = pending_call(frame.thread());
  if (call == nullptr || call->caller != &caller || frame.caller() != caller.raw()) return false;
  PyObject* callable = call->callable;
  if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  return callable == frame.function();
}

}  // namespace

Entry MaterialiseDriver::enter(Frame& frame) {
  if (frame.is_generator()) return Entry::native;
  if (stage_ != nullptr) {
    Frame* caller = actors_.empty() ? stage_ : actors_.back();
    // Only calls made directly by the rehearsal's frames; what C code calls runs natively.
    if (abandoned_ || !calls_directly(*caller, frame)) return Entry::native;
    frame.attachment = this;
    actors_.push_back(&frame);
    return Entry::conduct;
  }
  const bool real = announcer_ != nullptr && frame.unit() != 0;
  if (real) ++materialised;
  const bool wanted = outer != nullptr && (frame.code() == outer || (real && conduct_on));
  return wanted ? Entry::conduct : Entry::native;
}

Directive MaterialiseDriver::instruction(Frame& frame, const Instruction& instruction) {
  if (frame.attachment == this) return rehearsed(frame);
  if (frame.code() != outer || announcer_ != nullptr || stage_ != nullptr ||
      !is_plain_call(frame, instruction)) {
    return Directive::step;
  }
  return rehearse(frame, instruction);
}

/// Performs the call of `frame` as a rehearsal. Abandoned: the states are announced and the call is
/// stepped for real. Run to its end: that was the call itself.
Directive MaterialiseDriver::rehearse(Frame& frame, const Instruction& instruction) {
  FrameState here = state_of(frame);
  const PyRef handled = PyRef::borrow(frame.thread()->exc_info->exc_value);
  stage_ = &frame;
  left_ = after;
  abandoned_ = sealed_ = false;
  snapshots_.clear();
  const Outcome outcome = step(frame, instruction);
  stage_ = nullptr;
  actors_.clear();
  if (!abandoned_) {
    return outcome == Outcome::raised ? Directive::raised : Directive::done;
  }
  // The call as if it had not been made.
  frame.unwind_to(0);
  for (PyRef& value : here.stack) frame.push(std::move(value));
  frame.jump(instruction.offset);
  const PyRef left = PyRef::steal(frame.thread()->exc_info->exc_value);
  frame.thread()->exc_info->exc_value = PyRef(handled).release();
  announce_frames(frame, std::move(snapshots_));
  announcer_ = &frame;
  return Directive::step;
}

Directive MaterialiseDriver::rehearsed(Frame& frame) {
  if (!abandoned_ && !sealed_ && left_-- == 0) {
    abandoned_ = true;
    snapshots_.resize(actors_.size() - 1);
    snapshots_.push_back(state_of(frame));
  }
  if (abandoned_) {  // every frame returns at once; what it would have done is done by the real one
    frame.push(PyRef::borrow(Py_None));
    return Directive::returned;
  }
  // A call may not come back: this is the state that the frame has to take it up from.
  snapshots_.resize(actors_.size() - 1);
  snapshots_.push_back(state_of(frame));
  return Directive::step;
}

bool MaterialiseDriver::stepped(Frame& frame, const Instruction&, Outcome outcome) {
  if (frame.attachment == this) {
    if (outcome == Outcome::raised || outcome == Outcome::reraised) sealed_ = true;
    return false;
  }
  if (announcer_ == &frame) {
    unclaimed += withdraw_frames(frame);
    announcer_ = nullptr;
  }
  return false;
}

void MaterialiseDriver::leave(Frame& frame, Leaving, PyObject*) {
  if (frame.attachment == this && !actors_.empty() && actors_.back() == &frame) actors_.pop_back();
}

}  // namespace penstock::python
