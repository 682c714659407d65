#include "jit/gate.h"

#include <algorithm>
#include <utility>

namespace penstock::jit {
namespace {

using std::chrono::nanoseconds;

/// Calls from here on are not repeated where one pair tells enough.
constexpr nanoseconds kLong = std::chrono::milliseconds(1);
/// A difference that no disturbance of a single call explains away easily.
constexpr double kClear = 0.25;
constexpr int kPairs = 3;
/// Before an entry is refused; fewer where measuring has taken long.
constexpr int kPairsToRefuse = 6, kLongPairsToRefuse = 3;
constexpr nanoseconds kMuch = std::chrono::seconds(1);

/// `a` is longer than `b` by more than the share `margin`.
bool longer(std::int64_t a, std::int64_t b, double margin) {
  return static_cast<double>(a) > static_cast<double>(b) * (1 + margin);
}

void take_least(std::int64_t& least, nanoseconds time, bool first) {
  least = first ? time.count() : std::min<std::int64_t>(least, time.count());
}

}  // namespace

/// Plain Python first: its temporaries are gone before the entry takes memory for its weights and its own.
Gate::Turn Gate::turn() const {
  return plain_runs_ <= entry_runs_ ? Turn::plain : Turn::entry;
}

void Gate::entry_ran(Nanoseconds time) {
  if (std::exchange(cold_, false)) return;
  ++entry_runs_;
  take_least(report_.entry_ns, time, entry_runs_ == 1);
  spent_ += time;
  decide();
}

void Gate::plain_ran(Nanoseconds time) {
  ++plain_runs_;
  take_least(report_.plain_ns, time, plain_runs_ == 1);
  spent_ += time;
  decide();
}

void Gate::decide() {
  const int pairs = std::min(entry_runs_, plain_runs_);
  if (pairs < 1 || entry_runs_ != plain_runs_) return;
  report_.pairs = pairs;
  const std::int64_t ours = report_.entry_ns, plain = report_.plain_ns;
  if (longer(ours, plain, kMargin)) {
    const int wanted = spent_ >= kMuch ? kLongPairsToRefuse : kPairsToRefuse;
    if (pairs >= wanted) report_.verdict = GateReport::Verdict::refused;
    return;
  }
  const bool enough = ours >= kLong.count() && longer(plain, ours, kClear);
  if (enough || pairs >= kPairs) report_.verdict = GateReport::Verdict::accepted;
}

}  // namespace penstock::jit
