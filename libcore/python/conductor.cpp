// The conductor's loop: one activation of a frame, instruction by instruction.
//
// Its order of business for each instruction is the evaluator's own: name the place, do the work,
// then look at the eval breaker where CPython does, then dispatch an exception if there is one.
// Between any two instructions the frame is real, so that it can be left to the evaluator at any of
// them: that is the answer to everything unexpected (a tracer, an instruction that neither stepper
// nor window takes).
#include "python/conductor.h"

#include "python/eval_breaker.h"
#include "python/versions/raw_frame.h"
#include "python/window.h"

namespace penstock::python {
namespace {

int g_conducted = 0;  // guarded by the GIL

/// Counts a frame that is conducted, while it is.
class Conducted {
 public:
  Conducted() { ++g_conducted; }
  ~Conducted() { end(); }
  Conducted(const Conducted&) = delete;
  Conducted& operator=(const Conducted&) = delete;
  void end() { g_conducted -= std::exchange(counted_, 0); }

 private:
  int counted_ = 1;
};

/// One activation under way.
class Activation {
 public:
  Activation(Frame& frame, FrameDriver& driver)
      : frame_(frame), driver_(driver), breaker_(breaker_flag(frame.thread())) {}

  PyObject* run(bool throwing) {
    frame_.link();
    if (throwing) {
      if (!thrown()) return result_;
    }
    while (advance()) {
    }
    return result_;
  }

 private:
  bool thrown() {
    if (frame_.traced()) {
      PyObject *type, *value, *traceback;
      PyErr_Fetch(&type, &value, &traceback);
      driver_.leave(frame_, Leaving::exited, nullptr);
      PyErr_Restore(type, value, traceback);
      conducted_.end();
      result_ = frame_.exit_thrown();
      return false;
    }
    const int place = thrown_at(frame_.raw());
    return caught(frame_.bytecode().containing(place), place, true);
  }

  /// Executes instructions until one of them is not simply stepped. False: the activation ended
  /// with result_.
  bool advance() {
    for (;;) {
      const Instruction& instruction = frame_.instruction();
      if (frame_.traced()) [[unlikely]]
        return leave_to_evaluator();
      frame_.mark(instruction);
      const Directive directive = driver_.instruction(frame_, instruction);
      if (directive != Directive::step) [[unlikely]]
        return directed(directive, instruction);
      const Outcome outcome = step(frame_, instruction);
      const bool goes_on = outcome == Outcome::next || outcome == Outcome::jumped;
      if (!goes_on || breaker_set(breaker_)) [[unlikely]]
        return executed(instruction, outcome);
      if (driver_.stepped(frame_, instruction, outcome)) return leave_to_evaluator();
    }
  }

  bool directed(Directive directive, const Instruction& instruction) {
    switch (directive) {
      case Directive::step:
        break;
      case Directive::done:
        return !breaker_set(breaker_) || serve_before_next();
      case Directive::window:
        return in_window(instruction);
      case Directive::exit:
        if (PyErr_Occurred() == nullptr) return leave_to_evaluator();
        if (frame_.can_exit_raising(instruction)) return leave_raising(instruction);
        return caught(instruction, instruction.at, true);
      case Directive::raised:
        return raised_here();
      case Directive::returned:
        return end(Leaving::returned, frame_.pop());
    }
    return leave_to_evaluator();
  }

  /// The driver may have executed loops: serves the breaker where the frame stands now.
  bool serve_before_next() {
    const Instruction& next = frame_.instruction();
    frame_.mark(next);
    return serve_breaker() || caught(next, next.at, true);
  }

  /// The driver may have moved on before it raised.
  bool raised_here() {
    const Instruction& place = frame_.instruction();
    frame_.mark(place);
    return caught(place, place.at, true);
  }

  bool executed(const Instruction& instruction, Outcome outcome) {
    if (outcome == Outcome::unsupported) return in_window(instruction);
    bool leave = false;
    const auto tell = [&] { leave = driver_.stepped(frame_, instruction, outcome); };
    if (outcome == Outcome::raised || outcome == Outcome::reraised) {
      tell_raised(tell);
    } else {
      tell();
    }
    switch (outcome) {
      case Outcome::next:
      case Outcome::jumped:
        return continued(instruction, outcome == Outcome::jumped, leave);
      case Outcome::returned:
        return end(Leaving::returned, frame_.pop());
      case Outcome::yielded:
        return end(Leaving::yielded, frame_.pop());
      case Outcome::raised:
        if (leave && frame_.can_exit_raising(instruction)) return leave_raising(instruction);
        return caught(instruction, instruction.at, true);
      case Outcome::reraised:
        return caught(instruction, instruction.at, false);
      case Outcome::unsupported:
        break;
    }
    return leave_to_evaluator();
  }

  bool continued(const Instruction& instruction, bool jumped, bool leave) {
    if (leave) return leave_to_evaluator();
    if (breaker_set(breaker_) && checks_breaker(instruction, jumped) && !serve_breaker()) {
      return caught(instruction, served_at(instruction, frame_.unit()), true);
    }
    return true;
  }

  /// The evaluator's own branches take a bool. False: the condition has no truth, and the error is
  /// set.
  bool settle_condition() {
    if (!asks_truth(frame_.instruction().opcode) || PyBool_Check(frame_.peek())) return true;
    const int truth = PyObject_IsTrue(frame_.peek());
    if (truth < 0) return false;
    frame_.pop();
    frame_.push(PyRef::borrow(truth != 0 ? Py_True : Py_False));
    return true;
  }

  bool in_window(const Instruction& instruction) {
    if (!settle_condition()) return caught(instruction, instruction.at, true);
    const std::vector<int> exits = driver_.window_exits(frame_, instruction);
    WindowResult window =
        exits.empty() ? run_instruction_window(frame_, instruction) : run_window(frame_, exits);
    switch (window.end) {
      case WindowEnd::impossible:
        return leave_to_evaluator();
      case WindowEnd::returned:
        return end(Leaving::returned, std::move(window.value));
      case WindowEnd::yielded:
        return end(Leaving::yielded, std::move(window.value));
      case WindowEnd::raised:
        tell_raised([&] { driver_.leave(frame_, Leaving::raised, nullptr); });
        result_ = frame_.finish(nullptr);
        return false;
      case WindowEnd::reached:
        break;
    }
    if (const Handler* handler = frame_.bytecode().handler_at(frame_.unit())) {
      driver_.unwound(frame_, handler->depth);
      return true;
    }
    const bool jumped = frame_.unit() == instruction.target;
    if (driver_.stepped(frame_, instruction, jumped ? Outcome::jumped : Outcome::next)) {
      return leave_to_evaluator();
    }
    return true;
  }

  /// Dispatches the error that is set: to a handler of the frame, or out of it. `place` is where
  /// the handler is looked up; `trace` adds the frame to the traceback.
  bool caught(const Instruction& instruction, int place, bool trace) {
    // The evaluator tells a tracer; after a reraise it must not add an entry again.
    if (trace && frame_.traced() && frame_.can_exit_raising(instruction))
      return leave_raising(instruction);
    if (trace) add_traceback_entry();
    const Handler* handler = frame_.bytecode().handler(place);
    if (handler == nullptr) {
      tell_raised([&] { driver_.leave(frame_, Leaving::raised, nullptr); });
      result_ = frame_.finish(nullptr);
      return false;
    }
    frame_.unwind_to(handler->depth);
    if (handler->push_lasti) {
      frame_.push(PyRef::steal(PyLong_FromLong(frame_.last_unit())));
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyException_SetTraceback(value, traceback != nullptr ? traceback : Py_None);
    Py_XDECREF(traceback);
    Py_XDECREF(type);
    frame_.push(PyRef::steal(value));
    frame_.jump(handler->target);
    driver_.unwound(frame_, handler->depth);
    return true;
  }

  void add_traceback_entry() {
    if (frame_.hidden() || _PyFrame_IsIncomplete(frame_.raw())) return;
    PyFrameObject* object = PyThreadState_GetFrame(frame_.thread());
    if (object == nullptr) return;
    PyTraceBack_Here(object);
    Py_DECREF(object);
  }

  bool end(Leaving how, PyRef value) {
    driver_.leave(frame_, how, value.get());
    result_ = how == Leaving::yielded ? frame_.suspend(std::move(value))
                                      : frame_.finish(std::move(value));
    return false;
  }

  bool leave_to_evaluator() {
    if (!settle_condition()) return raised_here();
    driver_.leave(frame_, Leaving::exited, nullptr);
    conducted_.end();
    result_ = frame_.exit();
    return false;
  }

  /// Tells the driver something while the frame's error is set, which may matter to it. What the
  /// driver runs meanwhile may clear it: it is set again.
  static void tell_raised(const auto& tell) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const PyRef types = PyRef::borrow(type), values = PyRef::borrow(value),
                tracebacks = PyRef::borrow(traceback);
    PyErr_Restore(type, value, traceback);
    tell();
    if (PyErr_Occurred() != nullptr) return;
    PyErr_Restore(Py_XNewRef(types.get()), Py_XNewRef(values.get()), Py_XNewRef(tracebacks.get()));
  }

  bool leave_raising(const Instruction& instruction) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    driver_.leave(frame_, Leaving::exited, nullptr);
    PyErr_Restore(type, value, traceback);
    conducted_.end();
    result_ = frame_.exit_raising(instruction);
    return false;
  }

  Frame& frame_;
  FrameDriver& driver_;
  BreakerFlag* breaker_;
  PyObject* result_ = nullptr;
  Conducted conducted_;
};

}  // namespace

int frames_conducted() {
  return g_conducted;
}

PyObject* conduct(Frame& frame, FrameDriver& driver, bool throwing) {
  return Activation(frame, driver).run(throwing);
}

}  // namespace penstock::python
