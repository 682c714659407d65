#include "capture/tier_up.h"

#include <time.h>

#include <algorithm>
#include <string>
#include <utility>

namespace penstock::capture {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// What an op takes to record and compile, and a graph besides, before this process has compiled
/// much: about what programs showed (0.3 ms an op of large graphs, 1 ms of small ones, with an
/// empty store). It is given up for what the process itself takes.
constexpr nanoseconds kOp = microseconds(500), kGraph = milliseconds(4);
/// What compiled calls save of every op at least, its call by Python and torch (3 to 6 us), and the
/// share of a call that they save at most.
constexpr nanoseconds kOpSaved = microseconds(2);
constexpr double kMostSavedOneIn = 2;
/// What a call of an entry on a GPU takes until it returns: guards, a launch and tensors, and a
/// node where gradients are recorded.
constexpr nanoseconds kGpuCall = microseconds(50), kGpuCallWithGradients = microseconds(100);
/// And what Python and torch take at most to begin an op there.
constexpr nanoseconds kGpuOp = microseconds(40);
/// So many ops have to be compiled until what they took weighs as much as the start value.
constexpr std::int64_t kStartOps = 50;
/// More of what a graph of fewer ops takes is none of theirs: libraries are loaded for the first.
constexpr nanoseconds kMostOfOp = 4 * kOp;
/// Of a root that would pay after N more calls, every N/16th is looked at, and one in so many at
/// least.
constexpr std::int64_t kLooks = 16, kMostSkipped = 63;
/// The first calls are all looked at.
constexpr std::int64_t kFirstCalls = 16;
/// A root that is called more than so many times in a call of the one around it is a unit of its
/// own.
constexpr std::int64_t kMostInner = 16;
/// But one graph holds all of so many ops: layers of a model, however many.
constexpr std::int64_t kOneGraph = 400;
constexpr int kMostUseless = 4;
/// So many calls in a row have to be quiet before others run without the hook.
constexpr int kQuiet = 8;
/// Of a quiet root that is given up one call in so many is looked at.
constexpr int kGivenUpLooks = 32;

/// `inner` is left to `outer` as long as that is cold, and for good where neither can be compiled.
bool waits_for(const RootHistory& inner, const RootHistory& outer) {
  if (outer.needs_gradients && inner.gradients) return true;
  if (outer.state != RootHistory::State::cold || outer.calls <= 1) return false;
  const bool fits = outer.ops > 0 && outer.ops <= kOneGraph;
  return fits || inner.calls <= kMostInner * outer.calls;
}

nanoseconds time_of_call(const RootHistory& root) {
  return root.native / std::max<std::int64_t>(root.calls, 1);
}

/// How often the work of the ops that were counted in a call is done for it.
std::int64_t passes(const RootHistory& root) {
  return root.gradients && !root.goes_backward ? TierUp::kPasses : 1;
}

/// What an entry saves of a call on a GPU, whose ops Python and torch only begin.
nanoseconds saved_on_gpu(const RootHistory& root) {
  return std::min(time_of_call(root), kGpuOp * root.ops) -
         (root.gradients ? kGpuCallWithGradients : kGpuCall);
}

}  // namespace

nanoseconds TierUp::processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

bool TierUp::is_given_up(const RootHistory* root) {
  return root != nullptr && root->state == RootHistory::State::given_up;
}

bool TierUp::passes_by(RootHistory* root) {
  if (root == nullptr || root->state == RootHistory::State::hot) return false;
  return is_given_up(root) || !looks_at(*root);
}

bool TierUp::looks_at(RootHistory& root) {
  if (root.skip == 0) return true;
  --root.skip;
  return false;
}

bool TierUp::counts(RootHistory& root, std::int64_t around) {
  const bool first = root.calls == 0;
  root.calls += root.weight * around;
  return !first;
}

void TierUp::looked_at(RootHistory& root, bool quiet) {
  root.unseen = 0;
  root.quiet = quiet ? std::min(root.quiet + 1, kQuiet) : 0;
  if (root.state != RootHistory::State::given_up) return;
  root.skip = is_quiet(root) ? kGivenUpLooks - 1 : 0;
  root.weight = root.skip + 1;
}

bool TierUp::is_quiet(const RootHistory& root) {
  return root.quiet >= kQuiet;
}

void TierUp::ran(RootHistory& root, Nanoseconds time, std::optional<std::int64_t> ops) const {
  root.native += time * root.weight;
  root.weight = 1;
  if (ops) root.ops = *ops;
  if (root.calls < kFirstCalls || root.native.count() <= 0) return;
  const nanoseconds missing = pays_after(root) - root.native;
  const auto calls_to_go =
      missing.count() / std::max<std::int64_t>(root.native.count() / root.calls, 1);
  root.skip = static_cast<int>(std::clamp<std::int64_t>(calls_to_go / kLooks, 0, kMostSkipped));
  root.weight = root.skip + 1;
}

bool TierUp::pays(const RootHistory& root) const {
  if (root.outer != nullptr && waits_for(root, *root.outer)) return false;
  if (root.on_gpu && saved_on_gpu(root) <= nanoseconds(0)) return false;
  if (root.ops <= 0 || root.native < pays_after(root)) return false;
  const double one_in = root.on_gpu ? saved_one_in(root) : kSavedOneIn;
  const auto all = static_cast<double>((spent_ + price(root)).count());
  return static_cast<double>(used_().count()) >= all * one_in;
}

void TierUp::is_inside(RootHistory& inner, const RootHistory& outer) {
  if (&inner != &outer && (inner.outer == nullptr || !waits_for(inner, *inner.outer)))
    inner.outer = &outer;
}

bool TierUp::ran_hot(RootHistory& root, bool useful) {
  root.useless = useful ? 0 : root.useless + 1;
  if (root.useless < kMostUseless) return false;
  root.state = RootHistory::State::given_up;
  return true;
}

std::string TierUp::why_cold(const RootHistory& root) const {
  if (root.of_optimizer) return "what optimizers do is left to Python";
  if (root.trial.verdict() == RootTrial::Verdict::refused)
    return "its calls were slower with entries than without";
  if (root.state == RootHistory::State::given_up)
    return "no entry ran in the calls in which it was recorded";
  if (root.ops < 0) return root.calls == 1 ? "called once" : "called too seldom to be timed";
  const auto text = [](Nanoseconds time) { return std::to_string(time / milliseconds(1)) + " ms"; };
  return std::to_string(root.calls) + " calls took " + text(root.native) +
         "; recording and compiling " + std::to_string(root.ops) + " ops is taken to cost " +
         text(price(root)) + ", which pays after " + text(pays_after(root));
}

void TierUp::spent(std::int64_t ops, Nanoseconds time) {
  spent_ += time;
  ops_ += ops;
  const bool small = ops > 0 && ops < kStartOps;
  ops_took_ += small ? std::min(time, kGraph + kMostOfOp * ops) : time;
}

nanoseconds TierUp::price(std::int64_t ops) const {
  return kGraph + (kOp * kStartOps + ops_took_) / (kStartOps + ops_) * ops;
}

nanoseconds TierUp::price(const RootHistory& root) const {
  if (!root.gradients) return price(root.ops);
  return price(root.ops * passes(root)) + time_of_call(root) * passes(root) * kMeasuredSteps;
}

double TierUp::saved_one_in(const RootHistory& root) {
  if (root.ops <= 0 || root.calls == 0 || root.native.count() == 0) return kSavedOneIn;
  const auto call = static_cast<double>(root.native.count()) / static_cast<double>(root.calls);
  const nanoseconds least = root.on_gpu ? saved_on_gpu(root) : kOpSaved * root.ops;
  const auto saved = static_cast<double>(std::max(least, nanoseconds(1)).count());
  return std::clamp(call / saved, kMostSavedOneIn, static_cast<double>(kSavedOneIn));
}

nanoseconds TierUp::pays_after(const RootHistory& root) const {
  const auto bought = static_cast<double>(price(root).count() / passes(root));
  return nanoseconds(static_cast<std::int64_t>(bought * saved_one_in(root)));
}

}  // namespace penstock::capture
