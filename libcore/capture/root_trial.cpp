#include "capture/root_trial.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace penstock::capture {
namespace {

using Times = std::vector<std::chrono::nanoseconds>;

/// After so many pairs a side wins that takes so much less of the other's time.
struct Stage {
  std::size_t pairs;
  double margin;
};
// The first pair's entries have packed weights and made plans: it accepts only what is far faster.
constexpr Stage kStages[] = {{1, 0.4}, {3, 0.25}, {8, 0.05}, {16, 0.05}};
constexpr std::size_t kMostPairs = 24;
/// What more of plain Python's time calls may take in which entries are waited for.
constexpr double kMostWaiting = 0.5;

/// The mean of the faster half.
double typical(Times times) {
  std::ranges::sort(times);
  times.resize((times.size() + 1) / 2);
  const auto sum = std::accumulate(times.begin(), times.end(), std::chrono::nanoseconds(0));
  return static_cast<double>(sum.count()) / static_cast<double>(times.size());
}

}  // namespace

void RootTrial::entries_ran(Nanoseconds time) {
  if (verdict_ != Verdict::open || plain_turn()) return;
  if (std::exchange(waits_, false)) entries_ = plain_ = Times();
  entries_.push_back(time);
}

void RootTrial::waited(Nanoseconds time) {
  if (verdict_ != Verdict::open || plain_turn() || (!waits_ && !entries_.empty())) return;
  waits_ = true;
  entries_.push_back(time);
}

void RootTrial::plain_ran(Nanoseconds time) {
  if (!plain_turn()) return;
  plain_.push_back(time);
  decide();
}

void RootTrial::decide() {
  const std::size_t pairs = plain_.size();
  const auto* stage = std::ranges::find(kStages, pairs, &Stage::pairs);
  const bool last = pairs >= kMostPairs;
  if (stage == std::end(kStages) && !last) return;
  const double margin = last ? 0 : stage->margin;
  const double share = typical(entries_) / std::max(typical(plain_), 1.0);
  if (waits_) {
    if (pairs > 1 && share > 1 + kMostWaiting) verdict_ = Verdict::refused;
  } else if (share < 1 - margin) {
    verdict_ = Verdict::kept;
  } else if (last || (pairs > 1 && share > 1 + margin)) {
    verdict_ = Verdict::refused;
  }
  if (verdict_ == Verdict::open && !(waits_ && last)) return;
  entries_ = plain_ = Times();
}

}  // namespace penstock::capture
