#include "jit/gate/gate.h"

#include <algorithm>
#include <utility>

namespace penstock::jit {
namespace {

using std::chrono::nanoseconds;

/// Calls from here on are not repeated where one pair tells enough.
constexpr nanoseconds kLong = std::chrono::milliseconds(1);
/// A difference that no disturbance of a single call explains away easily.
constexpr double kClear = 0.25;
constexpr int kClearPairs = 3, kClearPairsOfLong = 2;
/// Where none is clearly faster, and before an entry is refused; fewer where measuring has taken
/// long.
constexpr int kMostPairs = 6, kMostPairsOfLong = 3;
constexpr nanoseconds kMuch = std::chrono::seconds(1);
/// Each run of torch's backward costs a step of plain Python's besides.
constexpr int kBackwards = 3;

/// `a` is longer than `b` by more than the share `margin`.
bool longer(nanoseconds a, nanoseconds b, double margin) {
  return static_cast<double>(a.count()) > static_cast<double>(b.count()) * (1 + margin);
}

}  // namespace

nanoseconds Gate::steady_time() {
  return std::chrono::duration_cast<nanoseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

Gate::Gate(GateReport& report, Clock clock) : report_(report), clock_(std::move(clock)) {
  if (report_.verdict == GateReport::Verdict::none) report_.verdict = GateReport::Verdict::open;
  entry_.cold = true;
}

bool Gate::Side::ran(nanoseconds time) {
  if (std::exchange(cold, false)) return false;
  ++runs;
  if (runs == 1 || time < least) {
    second_least = std::exchange(least, time);
  } else if (runs == 2 || time < second_least) {
    second_least = time;
  }
  return true;
}

bool Gate::Side::ran(nanoseconds time, std::optional<nanoseconds> after) {
  if (!ran(time)) return false;
  const nanoseconds now = after.value_or(time);
  returned = runs == 1 ? now : std::min(returned, now);
  return true;
}

double Gate::Side::spread() const {
  if (runs < 2) return 1;
  const auto apart = static_cast<double>((second_least - least).count());
  return apart / static_cast<double>(std::max<std::int64_t>(least.count(), 1));
}

/// Plain Python first: its temporaries are gone before the entry takes memory for its weights and
/// its own.
Gate::Turn Gate::turn() const {
  return plain_.runs <= entry_.runs ? Turn::plain : Turn::entry;
}

void Gate::memory_was_given_back() {
  entry_.cold = plain_.cold = true;
  holds_memory_ = false;
}

void Gate::entry_took(nanoseconds time, std::optional<nanoseconds> returned) {
  holds_memory_ = true;
  if (!entry_.ran(time, returned)) return;
  spent_ += time;
  decide();
}

void Gate::plain_took(nanoseconds time, std::optional<nanoseconds> returned) {
  if (!plain_.ran(time, returned)) return;
  spent_ += time;
  decide();
}

std::size_t Gate::expect_backward() {
  Backward& backward = backwards_.emplace_back();
  backward.entry.cold = backward.plain.cold = true;
  return backwards_.size() - 1;
}

bool Gate::is_measured(const Backward& backward) {
  const Side& plain = backward.plain;
  return plain.runs >= (plain.least >= kLong ? kBackwardsOfLong : kBackwards);
}

/// Calls in gradient mode whose backward never comes are weighed without it in the end.
bool Gate::waits_for_backward() const {
  return entry_.runs < 2 * kMostPairs && !std::ranges::all_of(backwards_, is_measured);
}

nanoseconds Gate::entry_time() const {
  nanoseconds time = entry_.least;
  for (const Backward& backward : backwards_) time += backward.entry.least;
  return time;
}

nanoseconds Gate::plain_time() const {
  nanoseconds time = plain_.least;
  for (const Backward& backward : backwards_) time += backward.plain.least;
  return time;
}

/// Plain Python's calls keep the CPU busy until they return, and the GPU at least from then on.
bool Gate::is_slower() const {
  if (longer(entry_time(), plain_time(), margin())) return true;
  const nanoseconds busy = std::max(plain_.returned, plain_.least - plain_.returned);
  return backwards_.empty() && longer(entry_.returned, busy, margin());
}

double Gate::spread() const {
  return std::max(entry_.spread(), plain_.spread());
}

double Gate::margin() const {
  return std::min(kMostMargin, spread());
}

/// Where the two least times of a side lie apart, it may still become faster: pages, caches and
/// clocks warm up. Where neither side is clearly faster, measuring on costs next to nothing.
int Gate::pairs_to_accept() const {
  const bool clear = longer(plain_time(), entry_time(), kClear);
  if (clear && spent_ >= kMuch) return 1;
  if (clear && spread() <= kMostMargin)
    return entry_.least >= kLong ? kClearPairsOfLong : kClearPairs;
  return most_pairs();
}

int Gate::most_pairs() const {
  return spent_ >= kMuch ? kMostPairsOfLong : kMostPairs;
}

void Gate::decide() {
  report_.entry_ns = entry_time().count();
  report_.plain_ns = plain_time().count();
  report_.backward_saved_ns = (plain_time() - plain_.least - (entry_time() - entry_.least)).count();
  if (company_ == Company::step) return;
  if (entry_.runs < 1 || entry_.runs != plain_.runs || waits_for_backward()) return;
  const int pairs = report_.pairs = entry_.runs;
  if (is_slower()) {
    if (pairs >= most_pairs()) report_.verdict = GateReport::Verdict::refused;
    return;
  }
  if (pairs >= pairs_to_accept()) report_.verdict = GateReport::Verdict::accepted;
}

void Gate::torch_ran_again(nanoseconds longer, std::int64_t calls) {
  constexpr int kFewest = 8;  // the first of them find torch's own code cold
  if (++again_ > kFewest) again_time_ += longer;
  const nanoseconds saved{report_.plain_ns - report_.entry_ns};
  const bool is_known = report_.plain_ns > 0 && again_ > 2 * kFewest;
  if (!is_known || company_ == Company::step || again_time_ <= saved * calls) return;
  report_.verdict = GateReport::Verdict::refused;
  report_.entry_ns += (again_time_ / calls).count();
  report_.backward_saved_ns -= (again_time_ / calls).count();
}

void Gate::settle(const GateReport& step, nanoseconds entry_backward, nanoseconds plain_backward) {
  report_.verdict = step.verdict;
  report_.pairs = step.pairs;
  report_.entry_ns = (entry_.least + entry_backward).count();
  report_.plain_ns = (plain_.least + plain_backward).count();
  report_.backward_saved_ns = (plain_backward - entry_backward).count();
}

}  // namespace penstock::jit
