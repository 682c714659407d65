#pragma once

#include <chrono>
#include <cstdint>

namespace penstock::capture {

/// What happened while a thread was inside a root.
struct RootTotals {
  std::int64_t native_ops = 0;  ///< ATen ops outside segments; those apart that another op ran
  std::int64_t native_factories = 0;  ///< of them those that make tensors of nothing
  std::chrono::nanoseconds root{0};   ///< from the root's first instruction to its end
  std::chrono::nanoseconds in_segments{
      0};  ///< of that, in segments: recorded, followed or executed
};

/// Counts and times one thread's stay in a root, which is in a segment or outside of one at any
/// time. Does nothing before enter(). Ops are counted once torch::count_ops() was called.
class RootMeter {
 public:
  /// A root begins, outside of a segment.
  void enter();
  void segment_begins();
  void segment_ends();
  /// What ran since segment_begins() was in no segment after all.
  void segment_was_none();
  /// The root is over.
  RootTotals leave();

 private:
  /// What the stretch that ends here ran natively.
  void add_native();

  using Clock = std::chrono::steady_clock;

  RootTotals totals_;
  bool on_ = false;
  bool inside_ = false;   ///< a segment
  std::int64_t ops_ = 0;  ///< of the thread when the present stretch began
  std::int64_t factories_ = 0;
  Clock::time_point entered_, began_;
};

}  // namespace penstock::capture
