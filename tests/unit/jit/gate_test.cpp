#include "jit/gate.h"

#include <doctest/doctest.h>

#include <span>
#include <vector>

using namespace penstock;
using jit::Gate;
using Verdict = GateReport::Verdict;
using std::chrono::nanoseconds;

namespace {

/// A gate whose clock stands still but while a call runs, which takes as long as it is told.
class Replay {
 public:
  explicit Replay(GateReport& report) : gate_(report, [this] { return time_; }) {}

  Gate& gate() { return gate_; }

  void entry(std::int64_t takes) {
    const nanoseconds begin = gate_.now();
    time_ += nanoseconds(takes);
    gate_.entry_ran(begin);
  }
  void plain(std::int64_t takes) {
    const nanoseconds begin = gate_.now();
    time_ += nanoseconds(takes);
    gate_.plain_ran(begin);
  }

 private:
  nanoseconds time_{1'000'000};
  Gate gate_;
};

/// Runs calls by turns, each side as long as given, until there is a verdict; how many calls it took.
int calls_until_verdict(Replay& replay, std::int64_t entry_ns, std::int64_t plain_ns) {
  int calls = 0;
  for (; replay.gate().open() && calls < 100; ++calls) {
    if (replay.gate().turn() == Gate::Turn::entry) {
      replay.entry(entry_ns);
    } else {
      replay.plain(plain_ns);
    }
  }
  return calls;
}

GateReport report_of(std::int64_t entry_ns, std::int64_t plain_ns) {
  GateReport report;
  Replay replay(report);
  calls_until_verdict(replay, entry_ns, plain_ns);
  return report;
}

/// Times of real calls in microseconds, in turn, from when they began to be measured; the last one goes on for ever.
/// What a call takes behind memory that was given back stands apart.
struct Recorded {
  const char* what;
  std::vector<std::int64_t> entry, plain, entry_cold, plain_cold;
};

/// Replays recorded times as JitClient asks for them, the entry's `share` times as long.
GateReport replayed(const Recorded& recorded, double share, bool is_large) {
  GateReport report;
  Replay replay(report);
  Gate& gate = replay.gate();
  const auto next = [](std::span<const std::int64_t> times, std::size_t& at) {
    return 1000 * times[std::min(at++, times.size() - 1)];
  };
  std::size_t entry = 0, plain = 0, entry_cold = 0, plain_cold = 0;
  bool cold[2] = {true, false};
  for (int calls = 0; gate.open() && calls < 100; ++calls) {
    if (gate.turn() == Gate::Turn::plain) {
      if (is_large && gate.entry_holds_memory()) {
        gate.memory_was_given_back();
        cold[0] = cold[1] = true;
      }
      replay.plain(std::exchange(cold[1], false) ? next(recorded.plain_cold, plain_cold) : next(recorded.plain, plain));
    } else {
      const bool first = std::exchange(cold[0], false);
      const std::int64_t time = first ? next(recorded.entry_cold, entry_cold) : next(recorded.entry, entry);
      replay.entry(static_cast<std::int64_t>(static_cast<double>(time) * share));
    }
  }
  return report;
}

}  // namespace

TEST_CASE("a long call that is clearly faster is accepted after one pair") {
  GateReport report;
  Replay replay(report);
  CHECK(replay.gate().turn() == Gate::Turn::plain);
  CHECK(calls_until_verdict(replay, 100'000'000, 200'000'000) == 3);
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.pairs == 1);
  CHECK(report.entry_ns == 100'000'000);
  CHECK(report.plain_ns == 200'000'000);
}

TEST_CASE("short calls, and those of nearly the same length, take three pairs") {
  for (const std::int64_t plain : {5'000, 101, 100}) {
    GateReport report;
    Replay replay(report);
    CHECK(calls_until_verdict(replay, 100, plain) == 7);
    CHECK(report.verdict == Verdict::accepted);
  }
  GateReport report;
  Replay replay(report);
  CHECK(calls_until_verdict(replay, 100'000'000, 110'000'000) == 7);
  CHECK(report.verdict == Verdict::accepted);
}

TEST_CASE("an entry that is slower by more than can be told apart is refused, after more pairs") {
  GateReport report;
  Replay replay(report);
  CHECK(calls_until_verdict(replay, 101, 100) == 13);
  CHECK(report.verdict == Verdict::refused);
  CHECK(replay.gate().refuses());
  GateReport of_long_calls;
  Replay another(of_long_calls);
  CHECK(calls_until_verdict(another, 400'000'000, 300'000'000) == 7);
  CHECK(of_long_calls.verdict == Verdict::refused);
}

TEST_CASE("what two runs of one side differ by is not told apart, but for three percent at most") {
  struct Row {
    std::int64_t entry, plain, plain_again;
    Verdict verdict;
  };
  const Row rows[] = {
      {102'000, 100'000, 102'000, Verdict::accepted},  // within the spread
      {102'100, 100'000, 102'000, Verdict::refused},   // above it
      {103'000, 100'000, 150'000, Verdict::accepted},  // a wide spread stands for three percent
      {103'100, 100'000, 150'000, Verdict::refused},
  };
  for (const Row& row : rows) {
    GateReport report;
    Replay replay(report);
    replay.entry(1);
    for (int pair = 0; report.verdict == Verdict::open && pair < 10; ++pair) {
      replay.plain(pair == 0 ? row.plain : row.plain_again);
      replay.entry(row.entry);
    }
    CHECK_MESSAGE(report.verdict == row.verdict, row.entry);
  }
}

TEST_CASE("where times are unsteady and neither side is clearly faster, more pairs are measured") {
  GateReport report;
  Replay replay(report);
  replay.entry(1);
  for (int pair = 1; report.verdict == Verdict::open && pair < 10; ++pair) {
    replay.plain(100'000 - 5'000 * pair);  // five percent from call to call
    replay.entry(90'000 - 5'000 * pair);
  }
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.pairs == 6);
}

TEST_CASE("the first call of an entry and disturbed calls decide nothing") {
  GateReport report;
  Replay replay(report);
  replay.entry(2'000'000'000);
  for (const int disturbed : {1, 2, 3, 4}) {
    replay.plain(1000);
    replay.entry(disturbed == 4 ? 500 : 50'000);
  }
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.entry_ns == 500);
  CHECK(report.pairs == 4);
}

TEST_CASE("behind memory that was given back the first run of either side does not count") {
  GateReport report;
  Replay replay(report);
  Gate& gate = replay.gate();
  CHECK(gate.entry_holds_memory());
  for (const int round : {1, 2, 3}) {
    CHECK(gate.turn() == Gate::Turn::plain);
    gate.memory_was_given_back();
    CHECK_FALSE(gate.entry_holds_memory());
    replay.plain(90'000);
    CHECK(gate.turn() == Gate::Turn::plain);
    replay.plain(1000);
    CHECK(gate.turn() == Gate::Turn::entry);
    replay.entry(50'000);
    CHECK(gate.entry_holds_memory());
    CHECK(report.pairs == round - 1);
    CHECK(gate.turn() == Gate::Turn::entry);
    replay.entry(500);
  }
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.entry_ns == 500);
  CHECK(report.plain_ns == 1000);
}

TEST_CASE("calls that plain Python does not finish end the measuring, and the entry stays in use") {
  GateReport report;
  Replay replay(report);
  Gate& gate = replay.gate();
  replay.entry(10);
  int lost = 0;
  for (; gate.open() && lost < 100; ++lost) {
    CHECK(gate.turn() == Gate::Turn::plain);
    gate.plain_was_lost();
  }
  CHECK(lost == 8);
  CHECK(report.verdict == Verdict::open);
  CHECK_FALSE(gate.refuses());
}

TEST_CASE("an earlier verdict stands") {
  for (const Verdict verdict : {Verdict::accepted, Verdict::refused}) {
    GateReport report{verdict, true, 3, 10, 20};
    Gate gate(report);
    CHECK_FALSE(gate.open());
    CHECK(gate.refuses() == (verdict == Verdict::refused));
  }
}
