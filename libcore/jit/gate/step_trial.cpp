#include "jit/gate/step_trial.h"

#include <algorithm>

namespace penstock::jit {
namespace {

using std::chrono::nanoseconds;

/// Rounds in a row that do not count, and steps that differ from the one that is measured, before
/// something else is tried.
constexpr int kMostUncounted = 8, kMostUnlike = 3, kMostSteps = 4, kMostLeaders = 4;
/// Engine runs behind calls of an entry that is not the leader, and calls behind which none comes:
/// the leader is called no more, or backward is not.
constexpr int kMostEngineRuns = 8, kMostCalls = 256;

void keep_least(std::optional<nanoseconds>& least, nanoseconds time) {
  least = least ? std::min(*least, time) : time;
}

}  // namespace

/// Of a part that waits for a device all of a step does.
nanoseconds StepTrial::now() const {
  nanoseconds time = clock_();
  for (const auto& [gate, part] : parts_) time = std::max(time, gate->now());
  return time;
}

void StepTrial::add(std::shared_ptr<Gate> gate, std::string key) {
  gate->set_company(Gate::Company::unknown);
  const Gate* place = gate.get();
  parts_.insert_or_assign(place, Part{std::move(gate), std::move(key)});
}

StepTrial::Part* StepTrial::member(const Gate& gate) {
  if (gate.company() == Gate::Company::none) return nullptr;
  const auto found = parts_.find(&gate);
  return found == parts_.end() ? nullptr : &found->second;
}

Gate::Turn StepTrial::turn(Gate& gate) {
  const Part* part = member(gate);
  if (part != nullptr && gate.company() == Gate::Company::step && depth_ == 0) {
    const bool ends = round_ && round_->leader == &gate && part->round.engine_runs > 0;
    if (part->calls >= kMostCalls) {
      dissolve();
    } else if (ends) {
      close_round();
    } else if (part->round.engine_runs >= kMostEngineRuns) {
      change_leader(gate);
    }
  }
  if (gate.company() != Gate::Company::step || !gate.open()) return gate.turn();
  return round_ ? round_->turn : gate_->turn();
}

void StepTrial::call_begins(Gate& gate, Thread thread) {
  Part* part = member(gate);
  if (part == nullptr) return;
  ++part->calls;
  if (gate.company() != Gate::Company::step) return;
  if (!round_) {
    if (leader_ != nullptr && leader_ != &gate) return;
    round_ = Round{.turn = gate_->turn(), .leader = &gate, .thread = thread};
    ++rounds_;
  }
  if (round_->thread != thread) round_->counts = false;
  ++part->round.begun;
}

std::uint64_t StepTrial::round_of(const Gate& gate) const {
  return round_ && gate.company() == Gate::Company::step ? rounds_ : 0;
}

void StepTrial::call_ended(Gate& gate, Gate::Turn by, nanoseconds time) {
  if (by == Gate::Turn::entry) holds_memory_ = true;
  Part* part = member(gate);
  if (part == nullptr || !round_ || part->round.ended == part->round.begun) return;
  if (by != round_->turn) round_->counts = false;
  ++part->round.ended;
  // What a checkpoint runs again is inside the engine's time.
  if (depth_ == 0) part->round.time += time;
}

void StepTrial::engine_begins(Thread thread) {
  if (parts_.empty()) return;
  if (depth_ == 0) {
    engine_thread_ = thread;
    engine_began_ = now();
  }
  if (thread == engine_thread_) ++depth_;
}

void StepTrial::engine_ended(Thread thread, bool returned) {
  if (depth_ == 0 || thread != engine_thread_ || --depth_ != 0) return;
  if (round_) {
    round_->backward += now() - engine_began_;
    ++round_->engine_runs;
    if (!returned || thread != round_->thread) round_->counts = false;
  }
  std::erase_if(parts_, [](const auto& one) { return !one.second.gate->open(); });
  bool joined = false;
  for (auto& [gate, part] : parts_) {
    if (std::exchange(part.calls, 0) == 0) continue;
    ++part.round.engine_runs;
    if (part.gate->company() != Gate::Company::unknown) continue;
    part.gate->set_company(Gate::Company::step);
    joined = true;
  }
  if (joined) forget();
}

void StepTrial::node_ran(Gate& gate, std::uint64_t round) {
  if (depth_ == 0 && gate.company() == Gate::Company::unknown) {
    gate.set_company(Gate::Company::none);  // engine runs are not seen
    parts_.erase(&gate);
  }
  if (!round_) return;
  if (depth_ == 0 || round != rounds_) round_->counts = false;
  if (round != 0 && round != rounds_) change_leader(gate);
}

/// Whatever was measured is in doubt.
void StepTrial::change_leader(const Gate& gate) {
  if (++leaders_ >= kMostLeaders) return dissolve();
  round_.reset();
  begin_again({});
  leader_ = &gate;
}

void StepTrial::memory_was_given_back() {
  holds_memory_ = false;
  if (gate_) gate_->memory_was_given_back();
}

StepTrial::Step StepTrial::step_of_round() const {
  Step step{{}, round_->engine_runs};
  for (const auto& [gate, part] : parts_) {
    if (part.round.begun > 0) step.calls.emplace_back(gate, part.round.begun);
  }
  std::ranges::sort(step.calls);
  return step;
}

void StepTrial::close_round() {
  Step step = step_of_round();
  Round round = *std::exchange(round_, std::nullopt);
  nanoseconds calls{0};
  for (auto& [gate, part] : parts_) {
    if (part.round.ended != part.round.begun) round.counts = false;
    calls += std::exchange(part.round, {}).time;
  }
  if (!round.counts) {
    if (++uncounted_ >= kMostUncounted) dissolve();
    return;
  }
  uncounted_ = 0;
  if (step != step_) {
    if (!step_.calls.empty() && ++unlike_ < kMostUnlike) return;
    if (++steps_ > kMostSteps) return dissolve();
    begin_again(std::move(step));
  }
  unlike_ = 0;
  take(round, calls);
}

void StepTrial::take(const Round& round, nanoseconds calls) {
  if (round.turn == Gate::Turn::entry) {
    keep_least(entry_backward_, round.backward);
    gate_->entry_took(calls + round.backward);
  } else {
    keep_least(plain_backward_, round.backward);
    gate_->plain_took(calls + round.backward);
  }
  if (!gate_->open()) settle();
}

void StepTrial::settle() {
  if (gate_->refuses() && step_.calls.size() > 1) return dissolve();
  int calls = 0;
  for (const auto& [gate, times] : step_.calls) calls += times;
  for (const auto& [gate, times] : step_.calls) {
    const auto found = parts_.find(gate);
    Part& part = found->second;
    part.gate->settle(report_, *entry_backward_ / calls, *plain_backward_ / calls);
    settled_.push_back({std::move(part.gate), std::move(part.key)});
    parts_.erase(found);
  }
  forget();
}

/// Measures steps like this one from now on; an empty one: the next that counts.
void StepTrial::begin_again(Step step) {
  for (auto& [gate, part] : parts_) part.round = {};
  step_ = std::move(step);
  report_ = {};
  gate_.emplace(report_);
  entry_backward_.reset();
  plain_backward_.reset();
  uncounted_ = unlike_ = 0;
}

/// Nothing is known of steps any more.
void StepTrial::forget() {
  round_.reset();
  leader_ = nullptr;
  steps_ = leaders_ = 0;
  begin_again({});
}

/// Has every entry of a step weighed alone.
void StepTrial::dissolve() {
  std::erase_if(parts_, [](auto& one) {
    Gate& gate = *one.second.gate;
    if (gate.company() != Gate::Company::step) return false;
    gate.set_company(Gate::Company::none);
    return true;
  });
  forget();
}

}  // namespace penstock::jit
