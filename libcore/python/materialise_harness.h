#pragma once

#include <cstdint>
#include <vector>

#include "python/conductor.h"
#include "python/materialise.h"

namespace penstock::python {

/// Tries materialisation on real programs. Each call that a frame of `outer` makes is first
/// performed as a rehearsal, which is abandoned after `after` instructions of the callee and its
/// callees: their states are snapped, the frames dropped. Then the call is performed again with
/// those states announced. What the program sees must be what it sees without.
class MaterialiseDriver final : public FrameDriver {
 public:
  PyCodeObject* outer = nullptr;  ///< borrowed; null: nothing is conducted
  int after = 0;
  bool conduct_on = false;  ///< the real frames are conducted, else left to the evaluator

  std::uint64_t materialised = 0;  ///< frames
  std::uint64_t unclaimed = 0;     ///< states that no frame claimed: must stay 0

  Entry enter(Frame& frame) override;
  Directive instruction(Frame& frame, const Instruction& instruction) override;
  bool stepped(Frame& frame, const Instruction& instruction, Outcome outcome) override;
  void leave(Frame& frame, Leaving how, PyObject* value) override;

 private:
  Directive rehearse(Frame& frame, const Instruction& instruction);
  Directive rehearsed(Frame& frame);

  // The rehearsal under way: its frames, outermost first, and the state of each before its call.
  Frame* stage_ = nullptr;
  std::vector<Frame*> actors_;
  std::vector<FrameState> snapshots_;
  int left_ = 0;
  bool abandoned_ = false;
  bool sealed_ = false;         ///< something was raised: the rehearsal must run to its end
  Frame* announcer_ = nullptr;  ///< performs its call for real now
};

}  // namespace penstock::python
