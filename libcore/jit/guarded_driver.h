#pragma once

#include <functional>
#include <memory>
#include <string>

#include "python/conductor.h"

namespace penstock::jit {

/// The last line between penstock and the program: a driver behind which no C++ exception escapes
/// into CPython. After the first one the driver behind it is never asked again, for what it
/// remembers may be half of a change: frames under way are left to the evaluator where they stand,
/// with their state real, and the rest of the program is plain Python.
class GuardedDriver final : public python::FrameDriver {
 public:
  /// `report` is told once what was thrown.
  GuardedDriver(std::unique_ptr<python::FrameDriver> driver,
                std::function<void(const std::string&)> report)
      : driver_(std::move(driver)), report_(std::move(report)) {}

  python::Entry enter(python::Frame& frame) override;
  python::Directive instruction(python::Frame& frame, const python::Instruction& at) override;
  std::vector<int> window_exits(python::Frame& frame, const python::Instruction& at) override;
  bool stepped(python::Frame& frame, const python::Instruction& at,
               python::Outcome outcome) override;
  void unwound(python::Frame& frame, int depth) override;
  void ran(PyThreadState* thread, bool returned) override;
  void leave(python::Frame& frame, python::Leaving how, PyObject* value) override;

 private:
  template <class Answer, class Work>
  Answer guarded(python::Frame* frame, Answer stopped, const Work& work) noexcept;
  void stop(python::Frame* frame, const char* what) noexcept;

  std::unique_ptr<python::FrameDriver> driver_;
  std::function<void(const std::string&)> report_;
  bool stopped_ = false;
};

}  // namespace penstock::jit
