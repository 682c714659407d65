#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace penstock::capture {

// The trial of a root: calls in which entries run against calls that plain Python runs.
//
// A gate (jit/gate/gate.h) compares a segment with the Python that it replaces. It does not see
// what the segment brings with it: the instructions between segments are conducted, one by one, and
// so are the calls in them. A function with ten short segments that are a tenth faster each may be
// twice as slow as a whole.
//
// So every other call of a root that is recorded is run by plain Python, and both are timed, until
// one side is clearly faster. Calls of one root differ in what they do, and other processes only
// make a call slower, so that the faster half of each side counts. Where neither side is clearly
// faster, more pairs are taken, and in the end plain Python has it: it costs nothing to prefer it.
//
// A call in which an entry is waited for, or a segment measured, tells little: the next ones may be
// faster. Where each call is such a one for long, those are compared all the same, and a root is
// refused that takes half as much time again as plain Python; nothing else is concluded.
class RootTrial {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  enum class Verdict : std::uint8_t { open, kept, refused };

  Verdict verdict() const { return verdict_; }
  /// Plain Python is to run the next call.
  bool plain_turn() const { return verdict_ == Verdict::open && plain_.size() < entries_.size(); }
  /// A call ended in which entries ran, and nothing was recorded.
  void entries_ran(Nanoseconds time);
  /// A call ended in which an entry was waited for, or plain Python's turn of a segment measured.
  void waited(Nanoseconds time);
  /// A call of a plain turn ended.
  void plain_ran(Nanoseconds time);

 private:
  void decide();

  std::vector<Nanoseconds> entries_, plain_;
  bool waits_ = false;  ///< the calls in entries_ did
  Verdict verdict_ = Verdict::open;
};

}  // namespace penstock::capture
