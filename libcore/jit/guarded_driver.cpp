#include "jit/guarded_driver.h"

#include <exception>
#include <new>

#include "python/materialise.h"

namespace penstock::jit {

using python::Directive;
using python::Entry;
using python::Frame;
using python::Instruction;
using python::Leaving;
using python::Outcome;

namespace {

/// Puts back the error that stood when it was made: a driver that threw may have left another.
class ErrorKeeper {
 public:
  ErrorKeeper() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ErrorKeeper(const ErrorKeeper&) = delete;
  ErrorKeeper& operator=(const ErrorKeeper&) = delete;
  ~ErrorKeeper() { PyErr_Restore(type_, value_, traceback_); }

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

}  // namespace

template <class Answer, class Work>
Answer GuardedDriver::guarded(Frame* frame, Answer stopped, const Work& work) noexcept {
  if (stopped_) [[unlikely]]
    return stopped;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    stop(frame, "out of memory");
  } catch (const std::exception& error) {
    stop(frame, error.what());
  } catch (...) {
    stop(frame, "an exception of unknown type");
  }
  return stopped;
}

void GuardedDriver::stop(Frame* frame, const char* what) noexcept {
  stopped_ = true;
  try {
    const ErrorKeeper kept;
    if (frame != nullptr) python::withdraw_frames(*frame);
    report_(what);
    PyErr_Clear();
  } catch (...) {
    // Nothing is left to tell it with.
  }
}

Entry GuardedDriver::enter(Frame& frame) {
  if (stopped_) return Entry::native;
  const bool error = PyErr_Occurred() != nullptr;  // a generator is resumed by throw()
  const Entry entry = guarded(&frame, Entry::native, [&] { return driver_->enter(frame); });
  if (stopped_ && !error) PyErr_Clear();
  return entry;
}

Directive GuardedDriver::instruction(Frame& frame, const Instruction& at) {
  if (stopped_) return Directive::exit;
  const Directive directive =
      guarded(&frame, Directive::exit, [&] { return driver_->instruction(frame, at); });
  if (stopped_) PyErr_Clear();  // none stood before the instruction
  return directive;
}

std::vector<int> GuardedDriver::window_exits(Frame& frame, const Instruction& at) {
  return guarded(&frame, std::vector<int>{}, [&] { return driver_->window_exits(frame, at); });
}

bool GuardedDriver::stepped(Frame& frame, const Instruction& at, Outcome outcome) {
  const bool leave = guarded(&frame, true, [&] { return driver_->stepped(frame, at, outcome); });
  const bool error = outcome == Outcome::raised || outcome == Outcome::reraised;
  if (stopped_ && !error) PyErr_Clear();
  return leave;
}

void GuardedDriver::unwound(Frame& frame, int depth) {
  guarded(&frame, true, [&] {
    driver_->unwound(frame, depth);
    return true;
  });
}

void GuardedDriver::ran(PyThreadState* thread, bool returned) {
  guarded(nullptr, true, [&] {
    driver_->ran(thread, returned);
    return true;
  });
}

void GuardedDriver::leave(Frame& frame, Leaving how, PyObject* value) {
  guarded(&frame, true, [&] {
    driver_->leave(frame, how, value);
    return true;
  });
}

}  // namespace penstock::jit
