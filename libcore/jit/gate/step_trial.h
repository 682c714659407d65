#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/gate/gate.h"

// The trial of a training step: entries that torch records gradients of are weighed together.
//
// Problem. What such an entry costs shows in two places: in its call, and in an engine run later,
// where its backward stands among everyone else's. How long plain Python's backward of one segment
// takes cannot be seen there. Running the segment again beside the entry (gate.h) tells it, at the
// price of several steps and of both sides' memory at a time, which a large model may not have.
//
// Idea. Steps repeat themselves, so whole ones are compared: in a step all entries have the same
// turn, and what counts is what their calls and the engine runs of the step take together. Nothing
// runs twice, and either side has the memory that it would have alone. What is in an engine run
// besides (other nodes, sums of gradients, hooks, communication) is there in both turns.
//
// On a GPU what a step began is over when its time is taken, as it is for calls (gate.h).
//
// Nobody says where a step begins. The entry whose call begins a round is its leader; when the
// leader is called again behind an engine run, the round is over. Rounds of the same entries,
// called equally often, with as many engine runs, are steps that can be compared. A round does not
// count if a call or an engine run in it did not end. Where the engine comes to a node of an
// earlier round, rounds begin in the middle of steps: the entry of that node leads from then on.
// Where too many rounds do not count, or no engine run comes, every entry is weighed alone.
//
// Of a step that is slower than plain Python some entry may still be faster: if there are several,
// they are weighed alone, too.

namespace penstock::jit {

class StepTrial {
 public:
  using Nanoseconds = Gate::Nanoseconds;
  /// Threads are told from each other by any address.
  using Thread = const void*;

  explicit StepTrial(Gate::Clock clock = Gate::steady_time) : clock_(std::move(clock)) {}

  /// A gate with a backward, that is open. It takes part as soon as an engine run was seen behind
  /// one of its calls. `key`: where its verdict is kept.
  void add(std::shared_ptr<Gate> gate, std::string key);

  /// Who is to run the next call of the gate. May bring a verdict.
  Gate::Turn turn(Gate& gate);
  void call_begins(Gate& gate, Thread thread);
  /// The call ended that began last, `by` whom it was to be run and at its segment's end. A call
  /// that is not followed by this was lost.
  void call_ended(Gate& gate, Gate::Turn by, Nanoseconds time);
  /// The round that a call of the gate is in, by which its nodes are known; 0: in none.
  std::uint64_t round_of(const Gate& gate) const;
  /// torch's engine begins to go backward, perhaps inside another of its runs.
  void engine_begins(Thread thread);
  void engine_ended(Thread thread, bool returned);
  /// The engine is at a node of a call of that round.
  void node_ran(Gate& gate, std::uint64_t round);

  /// Entries have run since memory was given back: plain Python would be measured beside it.
  bool entries_hold_memory() const { return holds_memory_; }
  void memory_was_given_back();

  struct Settled {
    std::shared_ptr<Gate> gate;
    std::string key;
  };
  /// The gates that got a verdict since this was asked last.
  std::vector<Settled> take_settled() { return std::exchange(settled_, {}); }

 private:
  struct PartOfRound {
    int begun = 0, ended = 0;  ///< calls
    int engine_runs = 0;       ///< behind calls of its own
    Nanoseconds time{0};
  };
  struct Part {
    std::shared_ptr<Gate> gate;
    std::string key;
    int calls = 0;  ///< since the last engine run
    PartOfRound round = {};
  };
  struct Round {
    Gate::Turn turn = Gate::Turn::plain;
    const Gate* leader = nullptr;
    Thread thread = nullptr;
    bool counts = true;
    int engine_runs = 0;
    Nanoseconds backward{0};
  };
  /// The step, as it repeats itself: the entries that are called in it and how often.
  struct Step {
    std::vector<std::pair<const Gate*, int>> calls;
    int engine_runs = 0;
    bool operator==(const Step&) const = default;
  };
  Nanoseconds now() const;
  Part* member(const Gate& gate);
  void close_round();
  Step step_of_round() const;
  void take(const Round& round, Nanoseconds calls);
  void settle();
  void begin_again(Step step);
  void forget();
  void change_leader(const Gate& gate);
  void dissolve();

  Gate::Clock clock_;
  std::unordered_map<const Gate*, Part> parts_;
  std::optional<Round> round_;
  const Gate* leader_ = nullptr;  ///< of the next round; null: whoever is called
  std::uint64_t rounds_ = 0;
  Step step_;
  GateReport report_;         // of the step
  std::optional<Gate> gate_;  // the step's own: its calls are whole steps
  std::optional<Nanoseconds> entry_backward_, plain_backward_;  // the least of a step
  int uncounted_ = 0, unlike_ = 0, steps_ = 0, leaders_ = 0;
  bool holds_memory_ = true;
  int depth_ = 0;  // of engine runs
  Thread engine_thread_ = nullptr;
  Nanoseconds engine_began_{0};
  std::vector<Settled> settled_;
};

}  // namespace penstock::jit
