#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/event.h"
#include "ir/graph.h"

// The gate: an entry that is slower than the plain Python that it replaces is not used.
//
// What it replaces is measured as it is: while the gate is open, every other call of the entry is
// run by plain Python, as if there were no entry, and timed from the segment's start to its end. So
// no call runs twice, what it writes, prints or draws happens once, and Python's own time, guards
// and what is restored behind the graph all count where they arise. The price is that some early
// calls are as slow as they would be without penstock.
//
// A call of which the segment is the whole is run by CPython's evaluator. Where it ends before the
// function does, the conductor steps it to the end, which makes the Python in it, not its ops,
// several times slower than it is: such an entry may be accepted though plain Python would be a
// little faster.
//
// Memory is part of what is measured, as it is in the steady state of both sides. A large entry
// gives back what it and the compiler hold before Python's turn, so that the program never takes
// more memory than it would without penstock; the run behind that pays for fresh pages, on either
// side, and would decide the verdict of anything that touches a few mebibytes. So of each side the
// first run behind it does not count, and neither does an entry's very first one, which packs
// weights and makes plans: the second of two runs in a row is timed, whoever's turn it is.
//
// Where torch records gradients, what backward takes belongs to a call, though it comes later, from
// elsewhere, or never. Where engine runs are seen behind the calls, whole steps are compared
// (step_trial.h), and the gate has no verdict of its own. Where they are not, or steps are too
// unlike each other, the entry's backward is timed in all of its calls, and plain Python's beside
// one of them: the recorded ops are run again by torch for the same tangents, and what the engine
// takes for their gradients counts. That costs more than a call, so it happens a few times only.
//
// On a GPU a call returns before its work is done. It is timed to the end of that, but of many
// calls one behind the other the longer of both counts, the CPU's time and the GPU's: an entry
// whose calls return later than plain Python's keep either busy would slow down a program that
// waits for none of them, however soon each is over.
//
// Of gradients of gradients kernels know nothing: torch runs the ops of the call again. That is
// timed wherever it happens, and an entry that it costs more than the calls save is refused, though
// it was accepted before.
//
// Entries with control flow that gradients go through are not weighed: plain Python has torch
// compile in each of their calls.
//
// Other processes only ever make a call slower, so of each side the least time counts. What cannot
// be told apart on this machine now is how far a side's two least times lie from each other, the
// wider of the two sides; more than three percent are never taken for noise. An entry that is
// faster by a wide margin is accepted after two pairs of long calls or three of short ones; where
// times are unsteady (the first calls behind a compilation find a heap that was trimmed), where
// neither side is clearly faster, and before an entry is refused, more are taken.

namespace penstock::jit {

/// Weighs one entry.
class Gate {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  /// Time since any fixed moment. Tests replay recorded times.
  using Clock = std::function<Nanoseconds()>;
  /// An entry may never take a larger share longer than plain Python and still be used.
  static constexpr double kMostMargin = 0.03;

  enum class Turn : std::uint8_t { entry, plain };
  /// Whom an entry is weighed with whose calls have a backward.
  enum class Company : std::uint8_t {
    none,     ///< nobody: torch runs its backward again
    unknown,  ///< no engine run was seen behind its calls yet
    step,     ///< the other entries of a training step
  };

  /// The clock of calls that are over when they return.
  static Nanoseconds steady_time();

  /// `report` is filled in as calls are measured, and outlives the gate. A verdict in it stands.
  explicit Gate(GateReport& report, Clock clock = steady_time);

  /// Calls are still measured.
  bool open() const { return report_.verdict == GateReport::Verdict::open && lost_ < kMostLost; }
  bool refuses() const { return report_.verdict == GateReport::Verdict::refused; }
  /// Who is to run the next call.
  Turn turn() const;
  /// When a call begins that is measured.
  Nanoseconds now() const { return clock_(); }

  /// The entry ran a call, and returned after `returned` of that time; left out: when it was over.
  void entry_took(Nanoseconds time, std::optional<Nanoseconds> returned = {});
  /// Plain Python ran a call, from the segment's start to its end.
  void plain_took(Nanoseconds time, std::optional<Nanoseconds> returned = {});
  /// Calls have a backward, which counts, or several, one behind the other: no verdict before they
  /// were measured, unless they never come. Gives its number.
  std::size_t expect_backward();
  /// The entry ran backward `number`. The very first run of either side does not count.
  void entry_ran_backward(std::size_t number, Nanoseconds time) {
    backwards_[number].entry.ran(time);
  }
  /// Torch is to run the backward that the entry has just run.
  bool wants_backward(std::size_t number) const {
    return open() && company_ == Company::none && backwards_[number].entry.runs > 0 &&
           !is_measured(backwards_[number]);
  }
  /// Runs of torch's that count, of a backward that takes a millisecond or more.
  static constexpr int kBackwardsOfLong = 2;
  void torch_ran_backward(std::size_t number, Nanoseconds time) {
    backwards_[number].plain.ran(time);
  }
  /// Torch ran the ops of a call again, for gradients of gradients, and took so much longer than
  /// for the same gradients behind plain Python. An entry is refused, accepted or not, where that
  /// comes to more than what it saves in its `calls` so far.
  void torch_ran_again(Nanoseconds longer, std::int64_t calls);
  /// A call that plain Python began did not come to the segment's end.
  void plain_was_lost() { ++lost_; }
  /// The entry has run since its memory was given back: Python would be measured beside it.
  bool entry_holds_memory() const { return holds_memory_; }
  /// The next run of each side takes fresh pages, and does not count.
  void memory_was_given_back();

  Company company() const { return company_; }
  void set_company(Company company) { company_ = company; }
  /// The verdict of the step that the entry was weighed in. The times are a call's share of what
  /// backward takes on either side.
  void settle(const GateReport& step, Nanoseconds entry_backward, Nanoseconds plain_backward);

  const GateReport& report() const { return report_; }

 private:
  static constexpr int kMostLost = 8;
  /// What was measured of one side.
  struct Side {
    bool cold = false;  ///< its next run does not count
    int runs = 0;       ///< those that count
    Nanoseconds least{0}, second_least{0};
    Nanoseconds returned{0};  ///< the least after which a call returned
    /// False: the run does not count.
    bool ran(Nanoseconds time);
    bool ran(Nanoseconds time, std::optional<Nanoseconds> returned);
    /// How far the two least times lie apart, as a share of the least; 1 for fewer than two.
    double spread() const;
  };
  /// How far the two least times of a side lie apart, of the side where it is more.
  double spread() const;
  /// The share of plain Python's time that an entry may take longer.
  double margin() const;
  bool is_slower() const;
  int pairs_to_accept() const;
  int most_pairs() const;
  bool waits_for_backward() const;
  /// The least that a call took, with its backward.
  Nanoseconds entry_time() const;
  Nanoseconds plain_time() const;
  void decide();

  GateReport& report_;
  Clock clock_;
  Side entry_, plain_;
  struct Backward {
    Side entry, plain;
  };
  static bool is_measured(const Backward& backward);
  std::vector<Backward> backwards_;
  Company company_ = Company::none;
  bool holds_memory_ = true;
  int lost_ = 0;
  Nanoseconds spent_{0};
  int again_ = 0;              ///< calls whose ops torch ran again
  Nanoseconds again_time_{0};  ///< what that took longer
};

/// Verdicts of earlier processes.
class VerdictMemory {
 public:
  virtual ~VerdictMemory() = default;
  /// What stands for the graph's content, on this machine as it is set now.
  virtual std::string key_of(const Graph& graph) const = 0;
  virtual std::optional<GateReport> find(const std::string& key) const = 0;
  virtual void keep(const std::string& key, const GateReport& report) = 0;
};

}  // namespace penstock::jit
