#pragma once

#include <cstdint>

#include "python/conductor.h"

namespace penstock::python {

/// What the harness does with the frames of one code object (null: of all).
struct HarnessPlan {
  PyCodeObject* code = nullptr;
  int exit_after = -1;  ///< leave to the evaluator after this many instructions; -1: never
  bool exit_when_raised = false;  ///< leave with the error whenever an instruction raises
  bool windows = false;           ///< every instruction in a window of its own
  /// Not 0: windows of random length instead, with one to four random exits, drawn with this seed.
  std::uint32_t random_windows = 0;
  /// Not 0: leave each frame after a number of instructions drawn with this seed (below 60).
  std::uint32_t random_exit = 0;
};

/// Conducts frames as its plan says: for the self-test, the torture mode and the differential
/// tests.
class HarnessDriver final : public FrameDriver {
 public:
  void set_plan(const HarnessPlan& plan) {
    plan_ = plan;
    random_ = 0;
  }
  const HarnessPlan& plan() const { return plan_; }

  Entry enter(Frame& frame) override;
  Directive instruction(Frame& frame, const Instruction& instruction) override;
  std::vector<int> window_exits(Frame& frame, const Instruction& instruction) override;
  bool stepped(Frame& frame, const Instruction& instruction, Outcome outcome) override;

  std::uint64_t exits = 0;    ///< left to the evaluator by plan
  std::uint64_t raised = 0;   ///< of those, with an error pending
  std::uint64_t windows = 0;  ///< windows asked for

 private:
  HarnessPlan plan_;
  std::uint32_t random_ = 0;
};

}  // namespace penstock::python
