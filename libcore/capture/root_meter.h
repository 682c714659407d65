#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "ir/interface.h"

namespace penstock::capture {

/// A stretch of a root's time.
struct Stretch {
  enum class Kind : std::uint8_t {
    root,     ///< all of a root
    entry,    ///< an entry ran
    plain,    ///< plain Python ran an entry's part, to be measured or as nothing fits
    record,   ///< a segment was recorded
    compile,  ///< what was recorded became an entry
    behind,   ///< plain Python between two segments, or from one to the root's end
  };
  using Time = std::chrono::steady_clock::time_point;
  Kind kind = Kind::root;
  EntryId id{-1};  ///< of the segment; behind: of the one before; frame -1: none is known
  Time begin, end;
  std::int64_t stands_for = 1;  ///< so many of its kind, which are taken to be as long
};

/// Told of stretches as they end.
class StretchLog {
 public:
  virtual ~StretchLog() = default;
  virtual void ran(const Stretch&) {}
};

/// What happened while a thread was inside a root.
struct RootTotals {
  std::int64_t native_ops = 0;  ///< ATen ops outside segments; those apart that another op ran
  std::int64_t native_factories = 0;  ///< of them those that make tensors of nothing
  std::chrono::nanoseconds root{0};   ///< from the root's first instruction to its end
  std::chrono::nanoseconds in_segments{
      0};  ///< of that, in segments: recorded, followed or executed
  Stretch::Time entered = {};
  std::int64_t stands_for = 1;  ///< so many stays, of which this one was timed
};

/// Which of a function's calls are timed, where an entry is all of a call: of short ones, behind
/// the first, one in some, as reading the clock takes a good part of them.
class TimedCalls {
 public:
  static constexpr std::int64_t kFirst = 1000, kOneIn = 16;
  static constexpr std::chrono::microseconds kShort{20};

  /// Asked before each call.
  bool times_next() {
    const bool skips = timed_ >= kFirst && last_ < kShort && untimed_ + 1 < kOneIn;
    untimed_ += skips ? 1 : 0;
    return !skips;
  }
  /// The call that was to be timed took so long. How many it stands for: with those before it that
  /// were not timed.
  std::int64_t took(std::chrono::nanoseconds time) {
    last_ = time;
    ++timed_;
    return 1 + std::exchange(untimed_, 0);
  }

 private:
  std::int64_t timed_ = 0, untimed_ = 0;
  std::chrono::nanoseconds last_{0};
};

/// Counts and times one thread's stay in a root, which is in a segment or outside of one at any
/// time. Does nothing before enter(). Ops are counted once torch::count_ops() was called.
class RootMeter {
 public:
  /// A root begins, outside of a segment. `log` must outlive the root.
  void enter(StretchLog& log);
  void segment_begins();
  /// What ran since segment_begins() was the segment of `id`.
  void segment_ends(Stretch::Kind kind, EntryId id);
  /// What ran since segment_begins() was in no segment after all.
  void segment_was_none();
  /// The root is over.
  RootTotals leave();

 private:
  /// What the stretch that ends here ran natively.
  void add_native();
  /// Tells of the plain Python behind the last segment.
  void tell_behind(Stretch::Time now);

  using Clock = std::chrono::steady_clock;

  RootTotals totals_;
  bool on_ = false;
  bool inside_ = false;   ///< a segment
  std::int64_t ops_ = 0;  ///< of the thread when the present stretch began
  std::int64_t factories_ = 0;
  Clock::time_point entered_, began_, ended_;
  EntryId last_{-1};           ///< of the segment that ended last in this root
  StretchLog* log_ = nullptr;  ///< while on
};

}  // namespace penstock::capture
