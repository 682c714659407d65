#include "python/frame.h"

#include "python/cpython.h"

namespace penstock::python {

RunningFrame RunningFrame::caller() const {
  return RunningFrame(raw_->previous);
}
PyCodeObject* RunningFrame::code() const {
  return raw_->f_code;
}
PyObject* RunningFrame::globals() const {
  return raw_->f_globals;
}
PyObject* RunningFrame::local(int slot) const {
  return raw_->localsplus[slot];
}

PyObject* const* generator_slots(PyObject* generator) {
  auto* made = reinterpret_cast<PyGenObject*>(generator);
  return reinterpret_cast<_PyInterpreterFrame*>(made->gi_iframe)->localsplus;
}

Frame::Frame(PyThreadState* thread, _PyInterpreterFrame* raw)
    : thread_(thread),
      raw_(raw),
      code_(raw->f_code),
      bytecode_(&bytecode_of(raw->f_code)),
      slots_(raw->localsplus),
      top_(raw->localsplus + raw->stacktop),
      place_(&raw->prev_instr),
      units_(_PyCode_CODE(raw->f_code)),
      unit_(static_cast<int>(raw->prev_instr - _PyCode_CODE(raw->f_code)) + 1) {}

PyObject* Frame::function() const {
  return reinterpret_cast<PyObject*>(raw_->f_func);
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
  return linked_ ? raw_->previous : thread_->cframe->current_frame;
}

bool Frame::is_generator() const {
  return raw_->owner == FRAME_OWNED_BY_GENERATOR;
}

PyObject* Frame::generator() const {
  return reinterpret_cast<PyObject*>(_PyFrame_GetGenerator(raw_));
}

PyObject* Frame::cell_content(int slot) const {
  return PyCell_GET(slots_[slot]);
}

void Frame::set_cell_content(int slot, PyRef value) {
  const PyRef old = PyRef::steal(PyCell_GET(slots_[slot]));
  PyCell_SET(slots_[slot], value.release());
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
  _PyCFrame* cframe = thread_->cframe;
  raw_->is_entry = true;
  raw_->previous = cframe->current_frame;
  if (!hidden_) cframe->current_frame = raw_;
  // The collector must not read our moving stack; the evaluator does the same while it runs.
  raw_->stacktop = -1;
  --thread_->recursion_remaining;
  linked_ = true;
}

void Frame::unlink() {
  thread_->cframe->current_frame = raw_->previous;
  ++thread_->recursion_remaining;
  raw_->stacktop = static_cast<int>(top_ - slots_);
  linked_ = false;
}

PyObject* Frame::exit() {
  handed_over_ = true;
  raw_->prev_instr = _PyCode_CODE(code_) + unit_ - 1;
  unlink();
  return _PyEval_EvalFrameDefault(thread_, raw_, 0);
}

PyObject* Frame::exit_raising(const Instruction& instruction) {
  handed_over_ = true;
  mark(instruction);
  unlink();
  return _PyEval_EvalFrameDefault(thread_, raw_, 1);
}

PyObject* Frame::finish(PyRef result) {
  unwind_to(0);
  unlink();
  return result.release();
}

PyObject* Frame::suspend(PyRef value) {
  _PyFrame_GetGenerator(raw_)->gi_frame_state = FRAME_SUSPENDED;
  unlink();
  return value.release();
}

}  // namespace penstock::python
