#pragma once

#include <Python.h>

#include "python/bytecode.h"
#include "python/object.h"
#include "python/versions/slots.h"

struct _PyInterpreterFrame;

namespace penstock::python {

/// A frame of the thread's stack that someone runs, only to be looked at.
class RunningFrame {
 public:
  explicit RunningFrame(_PyInterpreterFrame* raw) : raw_(raw) {}
  explicit operator bool() const { return raw_ != nullptr; }
  RunningFrame caller() const;
  PyCodeObject* code() const;
  PyObject* globals() const;        ///< borrowed
  PyObject* local(int slot) const;  ///< borrowed; null when unbound

 private:
  _PyInterpreterFrame* raw_;
};

/// The slots of a generator that is not running, as co_localsplusnames lists them. One that was
/// made has its arguments bound, its cells made and its free variables copied, though it has not
/// been started.
Slots generator_slots(PyObject* generator);

/// A frame that we execute in the evaluator's place, made by the conductor for one activation (one
/// call, or one resume of a generator) and living on the C++ stack.
///
/// While it is linked, everything that Python code can see of it is real: locals and cells are
/// CPython's own slots, and the place is written before each instruction. The operand stack lives
/// in the frame's own slots too; its depth is ours until the frame is handed over. Foreign code
/// (any call) may write the locals: read them again afterwards.
class Frame {
 public:
  Frame(PyThreadState* thread, _PyInterpreterFrame* raw);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  PyThreadState* thread() const { return thread_; }
  _PyInterpreterFrame* raw() const { return raw_; }
  PyCodeObject* code() const { return code_; }
  Bytecode& bytecode() const { return *bytecode_; }
  PyObject* function() const;  ///< borrowed: the function object being run
  PyObject* globals() const;   ///< borrowed
  PyObject* builtins() const;  ///< borrowed
  PyObject* names() const;     ///< borrowed: f_locals of a class body or module, else null
  PyObject* constant(int index) const { return PyTuple_GET_ITEM(code_->co_consts, index); }
  PyObject* name(int index) const { return PyTuple_GET_ITEM(code_->co_names, index); }
  /// The frame below it on the thread's stack (what f_back leads to), or null.
  _PyInterpreterFrame* caller() const;
  /// True for a generator, coroutine or asynchronous generator being resumed.
  bool is_generator() const;
  PyObject* generator() const;  ///< borrowed: the generator object; only if is_generator()

  // -- slots: arguments, locals, cells and free variables, as co_localsplusnames lists them
  // --------
  int slot_count() const { return code_->co_nlocalsplus; }
  Slots slots() const { return Slots(slots_); }
  /// Borrowed; null when unbound. For a cell or free variable this is the cell itself (after
  /// MAKE_CELL and COPY_FREE_VARS ran).
  PyObject* local(int slot) const { return slot_object(slots_[slot]); }
  /// Replaces a slot; the old value is released last, as CPython does (it may run code).
  void set_local(int slot, PyRef value) {
    const PyRef old = PyRef::steal(slot_taken(slots_[slot]));
    slots_[slot] = slot_with(value.release());
  }
  PyRef take_local(int slot) {
    return PyRef::steal(slot_taken(std::exchange(slots_[slot], slot_with(nullptr))));
  }                                        ///< unbinds
  PyObject* cell_content(int slot) const;  ///< borrowed; null when empty
  void set_cell_content(int slot, PyRef value);

  // -- operand stack
  // --------------------------------------------------------------------------------
  int depth() const { return static_cast<int>(top_ - stack()); }
  PyObject** stack() const { return slots_ + code_->co_nlocalsplus; }
  PyObject** top() const { return top_; }  ///< one past the topmost value
  /// Borrowed; 0 is the topmost. May be null where CPython's stack holds a null (before a CALL).
  PyObject* peek(int below = 0) const { return top_[-1 - below]; }
  void push(PyRef value) { *top_++ = value.release(); }
  PyRef pop() { return PyRef::steal(*--top_); }
  /// Replaces the value `below` the top.
  void set_stack(int below, PyRef value);
  void drop(int count);                         ///< pops and releases
  void unwind_to(int depth);                    ///< pops and releases down to `depth`
  void set_top(PyObject** top) { top_ = top; }  ///< moves the top without touching references

  // -- place
  // ----------------------------------------------------------------------------------------
  /// Unit of the next instruction to execute.
  int unit() const { return unit_; }
  void jump(int unit) { unit_ = unit; }
  const Instruction& instruction() const { return bytecode_->starting_at(unit_); }
  /// Makes `instruction` the one that tracebacks and f_lineno of this frame name.
  void mark(const Instruction& instruction) { *place_ = units_ + instruction.at; }
  void mark_unit(int unit) { *place_ = units_ + unit; }  ///< the same by Instruction::at
  /// The unit that the frame names as its last instruction (f_lasti / 2), while it is linked.
  int last_unit() const { return static_cast<int>(*place_ - units_); }
  /// It has run before: a generator, suspended since.
  bool resumed() const { return unit_ > 0; }

  // -- linking and leaving
  // --------------------------------------------------------------------------
  /// Puts the frame on the thread's stack of frames and takes a level of recursion. Foreign code
  /// must run only while linked.
  void link();
  void unlink();
  /// Said of a frame that is not linked: CPython runs it after all.
  void give_back() {
    if constexpr (kTaggedSlots) give_stack_back(had_numbers_);
  }
  /// Said before link(): the thread's stack of frames goes without this one, so that nothing that
  /// it calls, and no traceback, shows it.
  void hide() { hidden_ = true; }
  bool hidden() const { return hidden_; }
  /// The frame that is `f_back` of what this one calls.
  _PyInterpreterFrame* visible() const { return hidden_ ? caller() : raw_; }
  bool linked() const { return linked_; }
  /// Somebody has asked for the frame's object and may look at the frame by it.
  bool has_object() const;
  /// A tracer or profiler is active on this thread: the evaluator has to run this frame.
  bool traced() const;
  /// Hands the rest of the frame to CPython's evaluator, from unit() on, and returns its result
  /// (null: raised; for generators also a yielded value). The frame must not be touched afterwards.
  PyObject* exit();
  bool handed_over() const { return handed_over_; }  ///< after exit() or exit_raising()
  /// The same with the error that is set raised at `instruction`: the evaluator adds the traceback
  /// entry, runs a handler of the frame or unwinds it.
  PyObject* exit_raising(const Instruction& instruction);
  /// The same for a generator into which the error is thrown, and that has run nothing yet.
  PyObject* exit_thrown();
  /// False: exit_raising() would take the handler of another instruction.
  bool can_exit_raising(const Instruction& instruction) const;
  /// Ends the frame with a result, or with the error that is set (null), its stack emptied. It must
  /// not be touched afterwards.
  PyObject* finish(PyRef result);
  /// Suspends a generator with `value` (already popped) at the instruction last marked.
  PyObject* suspend(PyRef value);

  /// The driver's own, per activation; null at first.
  void* attachment = nullptr;

 private:
  void give_stack_back(bool may_have_numbers);

  PyThreadState* thread_;
  _PyInterpreterFrame* raw_;
  PyCodeObject* code_;
  Bytecode* bytecode_;
  PyObject** slots_;
  PyObject** top_;
  // CPython's own type of a unit is another in each version.
  using Place __attribute__((may_alias)) = std::uint16_t*;
  Place* place_;          // where the interpreter frame names its last instruction
  std::uint16_t* units_;  // the code's first unit
  int unit_;
  bool had_numbers_ = false;  // on the stack that it was made with
  bool linked_ = false;
  bool hidden_ = false;
  bool handed_over_ = false;
};

}  // namespace penstock::python
