#include "python/frame.h"

#include "python/versions/raw_frame.h"
#include "python/versions/suspension.h"
#include "python/versions/tracing.h"

namespace penstock::python {

RunningFrame RunningFrame::caller() const {
  _PyInterpreterFrame* before = raw_->previous;
  while (before != nullptr && is_shim(before)) before = before->previous;
  return RunningFrame(before);
}
PyCodeObject* RunningFrame::code() const {
  return code_of(raw_);
}
PyObject* RunningFrame::globals() const {
  return raw_->f_globals;
}
PyObject* RunningFrame::local(int slot) const {
  return slot_object(slots_of(raw_)[slot]);
}

Slots generator_slots(PyObject* generator) {
  return Slots(slots_of(frame_of(reinterpret_cast<PyGenObject*>(generator))));
}

Frame::Frame(PyThreadState* thread, _PyInterpreterFrame* raw)
    : thread_(thread),
      raw_(raw),
      code_(code_of(raw)),
      bytecode_(&bytecode_of(code_)),
      slots_(slots_of(raw)),
      top_(top_of(raw)),
      place_(reinterpret_cast<Place*>(&place_of(raw))),
      units_(reinterpret_cast<std::uint16_t*>(_PyCode_CODE(code_))),
      unit_(next_unit(raw)) {
  had_numbers_ = take_stack(stack(), top_);
}

PyObject* Frame::function() const {
  return function_of(raw_);
}
PyObject* Frame::globals() const {
  return raw_->f_globals;
}
PyObject* Frame::builtins() const {
  return raw_->f_builtins;
}
PyObject* Frame::names() const {
  return raw_->f_locals;
}

bool Frame::has_object() const {
  return raw_->frame_obj != nullptr;
}

_PyInterpreterFrame* Frame::caller() const {
  return linked_ ? raw_->previous : current_frame(thread_);
}

bool Frame::is_generator() const {
  return raw_->owner == FRAME_OWNED_BY_GENERATOR;
}

PyObject* Frame::generator() const {
  return reinterpret_cast<PyObject*>(generator_of(raw_));
}

bool Frame::traced() const {
  return is_traced(thread_, code_);
}

PyObject* Frame::cell_content(int slot) const {
  return PyCell_GET(local(slot));
}

void Frame::set_cell_content(int slot, PyRef value) {
  const PyRef old = PyRef::steal(PyCell_GET(local(slot)));
  PyCell_SET(local(slot), value.release());
}

void Frame::set_stack(int below, PyRef value) {
  const PyRef old = PyRef::steal(top_[-1 - below]);
  top_[-1 - below] = value.release();
}

void Frame::drop(int count) {
  unwind_to(depth() - count);
}

void Frame::unwind_to(int depth) {
  PyObject** bottom = stack() + depth;
  while (top_ > bottom) Py_XDECREF(*--top_);
}

void Frame::link() {
  begin_running(raw_);
  raw_->previous = current_frame(thread_);
  if (!hidden_) current_frame(thread_) = raw_;
  take_stack(stack(), top_);
  hide_stack(raw_);
  --recursion_left(thread_);
  linked_ = true;
}

void Frame::unlink() {
  current_frame(thread_) = raw_->previous;
  ++recursion_left(thread_);
  give_stack_back(true);
  linked_ = false;
}

void Frame::give_stack_back(bool may_have_numbers) {
  give_stack(stack(), top_, [this, may_have_numbers](int index) {
    return may_have_numbers && bytecode_->is_place(unit_, index);
  });
  set_top_of(raw_, top_);
}

PyObject* Frame::exit() {
  handed_over_ = true;
  set_next_unit(raw_, unit_);
  unlink();
  return evaluate_frame(thread_, raw_, 0);
}

PyObject* Frame::exit_raising(const Instruction& instruction) {
  handed_over_ = true;
  mark(instruction);
  unlink();
  return evaluate_frame(thread_, raw_, 1);
}

PyObject* Frame::exit_thrown() {
  handed_over_ = true;
  unlink();
  return evaluate_frame(thread_, raw_, 1);
}

bool Frame::can_exit_raising(const Instruction& instruction) const {
  return !kRaisesOneUnitBefore ||
         bytecode_->handler(instruction.at - 1) == bytecode_->handler(instruction.at);
}

PyObject* Frame::finish(PyRef result) {
  unwind_to(0);
  unlink();
  return end_frame(thread_, raw_, result.release());
}

PyObject* Frame::suspend(PyRef value) {
  const Instruction& yield = bytecode_->containing(last_unit());
  set_next_unit(raw_, yield.next);
  unlink();
  note_suspended(thread_, raw_, yield);
  return value.release();
}

}  // namespace penstock::python
