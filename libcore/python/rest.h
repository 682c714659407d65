#pragma once

#include <algorithm>
#include <cstdint>

// Rest: code that gives a driver nothing is left to CPython's own evaluator.
//
// Problem. While a hook is set, CPython calls every Python function through it, and no longer goes
// on in the evaluator that it is in: what calls many small functions takes a third longer, though
// no driver wants any of them. And a driver takes a few hundred nanoseconds to find that out.
//
// Idea. A driver that wants nothing of a frame has it watched: the hook sees whether anything of
// interest happened in it, at any depth. Code of which so many calls in a row were quiet rests: the
// next calls run without the hook, and so does all that they call, and each time that code is
// looked at again and still quiet, it rests for twice as many calls. What the driver would have
// wanted cannot be seen then, but that a tensor is made can (torch/tensor_allocations.h): the hook
// is set again at once, and the rest is over. So a function that calls others, whatever they are,
// costs them their first op at most.

namespace penstock::python {

inline std::uint64_t g_events = 0;  // guarded by the GIL

/// Something of interest happens: to a driver, or a tensor is made.
inline void note_event() {
  ++g_events;
}
inline std::uint64_t events() {
  return g_events;
}

/// How far the calls of one code object are left alone.
class Rest {
 public:
  bool on() const { return left_ != 0; }
  /// A call runs without being looked at.
  void take() { --left_; }
  /// Something happened in it.
  void end() { left_ = quiet_ = 0; }
  /// Every call is to be looked at.
  void never() { never_ = true; }
  /// A call was looked at.
  void watched(bool quiet) {
    if (!quiet || never_) return end();
    if (quiet_ < kFirst + kDoublings) ++quiet_;
    if (quiet_ >= kFirst) left_ = std::uint32_t{1} << (quiet_ - kFirst + kShortest);
  }

 private:
  /// Quiet calls in a row before the first rest; how often a rest doubles; the first is of two to
  /// that power.
  static constexpr std::uint32_t kFirst = 8, kDoublings = 10, kShortest = 2;
  std::uint32_t left_ = 0;
  std::uint32_t quiet_ = 0;
  bool never_ = false;
};

}  // namespace penstock::python
