#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ir/event.h"
#include "ir/graph.h"

// The gate: an entry that is slower than the plain Python that it replaces is not used.
//
// What it replaces is measured as it is: while the gate is open, every other call of the entry is run
// by plain Python, as if there were no entry, and timed from the segment's start to its end. So no call
// runs twice, what it writes, prints or draws happens once, and Python's own time, guards and what is
// restored behind the graph all count where they arise. The price is that some early calls are as slow
// as they would be without penstock.
//
// A call of which the segment is the whole is run by CPython's evaluator. Where it ends before the function does,
// the conductor steps it to the end, which makes the Python in it, not its ops, several times slower than it is:
// such an entry may be accepted though plain Python would be a little faster.
//
// Other processes only ever make a call slower, so of each side the least time counts. An entry that is
// faster by a wide margin is accepted after one pair of long calls, or three of short ones; one that is
// slower is measured again before it is refused.

namespace penstock::jit {

/// Weighs one entry.
class Gate {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  /// An entry may take this share longer and is still used: what measuring cannot tell apart.
  static constexpr double kMargin = 0.10;

  enum class Turn : std::uint8_t { entry, plain };

  /// `report` is filled in as calls are measured, and outlives the gate. A verdict in it stands.
  explicit Gate(GateReport& report) : report_(report) {
    if (report_.verdict == GateReport::Verdict::none) report_.verdict = GateReport::Verdict::open;
  }

  /// Calls are still measured.
  bool open() const { return report_.verdict == GateReport::Verdict::open && lost_ < kMostLost; }
  bool refuses() const { return report_.verdict == GateReport::Verdict::refused; }
  /// Who is to run the next call.
  Turn turn() const;

  /// The entry ran a call. The first one does not count: it packs weights and makes plans. Nor does the first one
  /// behind `memory_was_given_back`.
  void entry_ran(Nanoseconds time);
  void memory_was_given_back() { cold_ = true; }
  void plain_ran(Nanoseconds time);
  /// A call that plain Python began did not come to the segment's end.
  void plain_was_lost() { ++lost_; }

  const GateReport& report() const { return report_; }

 private:
  static constexpr int kMostLost = 8;
  void decide();

  GateReport& report_;
  bool cold_ = true;  ///< the entry's next run does not count
  int entry_runs_ = 0, plain_runs_ = 0, lost_ = 0;
  Nanoseconds spent_{0};
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
