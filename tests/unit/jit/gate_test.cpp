#include "jit/gate/gate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <utility>
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
    gate_.entry_took(gate_.now() - begin);
  }
  /// Calls that return before their work is done.
  void entry(std::int64_t takes, std::int64_t returns) {
    time_ += nanoseconds(takes);
    gate_.entry_took(nanoseconds(takes), nanoseconds(returns));
  }
  void plain(std::int64_t takes, std::int64_t returns) {
    time_ += nanoseconds(takes);
    gate_.plain_took(nanoseconds(takes), nanoseconds(returns));
  }
  void plain(std::int64_t takes) {
    const nanoseconds begin = gate_.now();
    time_ += nanoseconds(takes);
    gate_.plain_took(gate_.now() - begin);
  }

 private:
  nanoseconds time_{1'000'000};
  Gate gate_;
};

/// Runs calls by turns, each side as long as given, until there is a verdict; how many calls it
/// took.
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

/// The same of calls that return earlier.
Verdict verdict_of(std::int64_t entry_ns, std::int64_t entry_returns, std::int64_t plain_ns,
                   std::int64_t plain_returns) {
  GateReport report;
  Replay replay(report);
  for (int calls = 0; replay.gate().open() && calls < 100; ++calls) {
    if (replay.gate().turn() == Gate::Turn::entry) {
      replay.entry(entry_ns, entry_returns);
    } else {
      replay.plain(plain_ns, plain_returns);
    }
  }
  return report.verdict;
}

/// What becomes of an accepted entry that saves 50 ns a call, where one call in `every` is gone
/// through again, which takes `longer`.
Verdict verdict_after_running_again(std::int64_t longer, int every) {
  GateReport report;
  Replay replay(report);
  calls_until_verdict(replay, 50, 100);
  REQUIRE(report.verdict == Verdict::accepted);
  for (int call = 1; call <= 200; ++call) {
    if (call % every == 0) replay.gate().torch_ran_again(nanoseconds(longer), call);
  }
  return report.verdict;
}

TEST_CASE("gradients of gradients may not cost more than an entry's calls save") {
  CHECK(verdict_after_running_again(40, 1) == Verdict::accepted);
  CHECK(verdict_after_running_again(70, 1) == Verdict::refused);
  CHECK(verdict_after_running_again(120, 3) == Verdict::accepted);
  CHECK(verdict_after_running_again(240, 3) == Verdict::refused);
}

TEST_CASE("an entry that was not measured is not refused for gradients of gradients") {
  GateReport report;
  Replay replay(report);
  for (int call = 1; call <= 100; ++call) replay.gate().torch_ran_again(nanoseconds(1000), call);
  CHECK(report.verdict == Verdict::open);
}

TEST_CASE("the first runs again, which find torch's code cold, do not count") {
  GateReport report;
  Replay replay(report);
  calls_until_verdict(replay, 50, 100);
  for (int call = 1; call <= 8; ++call) replay.gate().torch_ran_again(nanoseconds(5000), call);
  for (int call = 9; call <= 100; ++call) replay.gate().torch_ran_again(nanoseconds(10), call);
  CHECK(report.verdict == Verdict::accepted);
}

TEST_CASE("a GPU's calls may not keep the CPU busy for longer than plain Python keeps either") {
  CHECK(verdict_of(290, 15, 670, 30) == Verdict::accepted);
  CHECK(verdict_of(80, 60, 100, 40) == Verdict::accepted);  // the GPU is busy for 60 as well
  CHECK(verdict_of(80, 70, 100, 50) == Verdict::refused);
  CHECK(verdict_of(110, 10, 100, 90) == Verdict::refused);
  CHECK(verdict_of(22, 12, 144, 132) == Verdict::accepted);
}

/// Times of real calls in microseconds, in turn, from when they began to be measured; the last one
/// goes on for ever. What a call takes behind memory that was given back, and an entry's very first
/// one, stand apart.
struct Recorded {
  const char* what;
  bool is_large;  ///< gives memory back before Python's turn
  std::vector<std::int64_t> entry, plain, entry_cold, plain_cold;
};

/// tests/bench/gate.py on two cores of a machine with AVX2: what a call makes on the way, and what
/// it mostly does.
const Recorded kRecorded[] = {
    {"1 MiB, pointwise",
     false,
     {54, 59, 56, 55, 54, 54, 56, 78},
     {1912, 1054, 286, 264, 267, 260, 254, 2120},
     {167},
     {}},
    {"1 MiB, product",
     false,
     {23987, 387, 328, 342, 332, 329, 328, 324},
     {1264, 1865, 498, 793, 518, 739, 508, 523},
     {32492},
     {}},
    {"8 MiB, pointwise",
     false,
     {534, 538, 581, 464, 509, 429, 522, 580},
     {7958, 5947, 4746, 2760, 2835, 2739, 2461, 3472},
     {1591},
     {}},
    {"8 MiB, product",
     false,
     {3175, 3253, 3281, 6161, 3094, 3137, 3148, 3189},
     {9614, 9305, 8061, 8029, 6691, 6004, 6805, 5867},
     {7521},
     {}},
    {"32 MiB, product",
     true,
     {10894, 15632, 16798, 11835, 11518, 11217, 11554, 13030},
     {20038, 30220, 18086, 23533, 23384, 19454, 21964, 17182},
     {33668, 20516, 17041, 16254, 17876, 16411, 16352, 16498},
     {30373, 39679, 25677, 25708, 25343, 28520, 24139, 23021}},
    {"64 MiB, pointwise",
     true,
     {4356, 4059, 4118, 4093, 4254, 4806, 3505, 4961},
     {28084, 23498, 27872, 23151, 27394, 24500, 28733, 26806},
     {3910, 8707, 8931, 9307, 9065, 9328, 8679, 9305},
     {44017, 43808, 43959, 44894, 42357, 42369, 42610, 41338}},
    {"64 MiB, cheap",
     true,
     {2101, 2226, 1725, 1497, 1381, 1189, 1898, 1546},
     {16631, 18671, 6312, 6444, 9585, 9906, 8299, 7731},
     {7964, 3483, 1965, 1817, 3409, 3289, 3463, 3523},
     {19054, 18402, 18396, 18759, 17679, 18282, 17297, 17331}},
};

std::int64_t next(std::span<const std::int64_t> times, std::size_t& at) {
  return 1000 * times[std::min(at++, times.size() - 1)];
}

/// Replays recorded times as JitClient asks for them, the entry's times so much longer that its
/// least is `share` longer than Python's.
GateReport replayed(const Recorded& recorded, double share) {
  constexpr std::size_t kSeen = 6;  // calls of a side that the gate measures at most
  const auto least = [](const std::vector<std::int64_t>& times) {
    return *std::min_element(times.begin(), times.begin() + kSeen);
  };
  const double factor = (1 + share) * static_cast<double>(least(recorded.plain)) /
                        static_cast<double>(least(recorded.entry));
  GateReport report;
  Replay replay(report);
  Gate& gate = replay.gate();
  std::size_t entry = 0, plain = 0, entry_cold = 0, plain_cold = 0;
  bool entry_is_cold = true, plain_is_cold = false;
  for (int calls = 0; gate.open() && calls < 100; ++calls) {
    if (gate.turn() == Gate::Turn::plain) {
      if (recorded.is_large && gate.entry_holds_memory()) {
        gate.memory_was_given_back();
        entry_is_cold = plain_is_cold = true;
      }
      const bool cold = std::exchange(plain_is_cold, false);
      replay.plain(cold ? next(recorded.plain_cold, plain_cold) : next(recorded.plain, plain));
    } else {
      const bool cold = std::exchange(entry_is_cold, false);
      const std::int64_t time =
          cold ? next(recorded.entry_cold, entry_cold) : next(recorded.entry, entry);
      replay.entry(static_cast<std::int64_t>(factor * static_cast<double>(time)));
    }
  }
  return report;
}

}  // namespace

TEST_CASE("a long call that is clearly faster is accepted after two pairs, or one that took long") {
  GateReport report;
  Replay replay(report);
  CHECK(replay.gate().turn() == Gate::Turn::plain);
  CHECK(calls_until_verdict(replay, 100'000'000, 200'000'000) == 5);
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.pairs == 2);
  CHECK(report.entry_ns == 100'000'000);
  CHECK(report.plain_ns == 200'000'000);
  GateReport of_long_calls;
  Replay another(of_long_calls);
  CHECK(calls_until_verdict(another, 400'000'000, 800'000'000) == 3);
  CHECK(of_long_calls.verdict == Verdict::accepted);
}

TEST_CASE(
    "recorded calls: an entry that is slower by 5, 20 and 50 percent is refused, one that is "
    "faster is used") {
  for (const Recorded& recorded : kRecorded) {
    for (const double share : {0.05, 0.20, 0.50}) {
      const GateReport report = replayed(recorded, share);
      CHECK_MESSAGE(report.verdict == Verdict::refused,
                    std::string(recorded.what) << ", slower by " << share << ": " << report.entry_ns
                                               << " for " << report.plain_ns);
    }
    for (const double share : {-0.05, -0.20, -0.50}) {
      CHECK_MESSAGE(replayed(recorded, share).verdict == Verdict::accepted,
                    std::string(recorded.what) << ", faster by " << -share);
    }
  }
}

TEST_CASE("short calls take three pairs, and those of nearly the same length six") {
  struct Row {
    std::int64_t entry, plain;
    int calls;
  };
  for (const Row& row : {Row{100, 5'000, 7}, Row{100, 101, 13}, Row{100, 100, 13},
                         Row{10'000'000, 11'000'000, 13}}) {
    GateReport report;
    Replay replay(report);
    CHECK(calls_until_verdict(replay, row.entry, row.plain) == row.calls);
    CHECK(report.verdict == Verdict::accepted);
  }
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
  for (const int disturbed : {1, 2, 3, 4, 5}) {
    CHECK(report.verdict == Verdict::open);
    replay.plain(1000);
    replay.entry(disturbed >= 4 ? 500 : 50'000);
  }
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.entry_ns == 500);
  CHECK(report.pairs == 5);
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

namespace {

/// The entry's, and torch's behind it where the gate wants it.
void backward_ran(Gate& gate, std::size_t number, std::int64_t by_entry, std::int64_t by_torch) {
  gate.entry_ran_backward(number, nanoseconds(by_entry));
  if (gate.wants_backward(number)) gate.torch_ran_backward(number, nanoseconds(by_torch));
}

}  // namespace

TEST_CASE("what backward takes counts: an entry that wins forward may lose with it") {
  for (const std::int64_t backward : {900, 3000}) {
    GateReport report;
    Replay replay(report);
    const std::size_t first = replay.gate().expect_backward();
    const std::size_t second = replay.gate().expect_backward();
    for (int calls = 0; replay.gate().open() && calls < 100; ++calls) {
      if (replay.gate().turn() == Gate::Turn::plain) {
        replay.plain(1000);
        continue;
      }
      replay.entry(500);
      backward_ran(replay.gate(), first, backward, 1000);
      backward_ran(replay.gate(), second, 1000, 1000);
    }
    CHECK(report.verdict == (backward < 1000 ? Verdict::accepted : Verdict::refused));
    CHECK(report.entry_ns == 500 + backward + 1000);
    CHECK(report.plain_ns == 3000);
  }
}

TEST_CASE("a backward that never comes is not waited for") {
  GateReport report;
  Replay replay(report);
  replay.gate().expect_backward();
  CHECK(calls_until_verdict(replay, 500, 1000) > 12);
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.entry_ns == 500);
}

TEST_CASE("torch runs a long backward fewer times, and none before the entry has run") {
  for (const std::int64_t backward : {std::int64_t{1000}, std::int64_t{50'000'000}}) {
    GateReport report;
    Replay replay(report);
    Gate& gate = replay.gate();
    const std::size_t number = gate.expect_backward();
    gate.entry_ran_backward(number, nanoseconds(backward));  // the first one does not count
    CHECK_FALSE(gate.wants_backward(number));
    int measured = 0;
    for (; measured < 100; ++measured) {
      gate.entry_ran_backward(number, nanoseconds(backward));
      if (!gate.wants_backward(number)) break;
      gate.torch_ran_backward(number, nanoseconds(backward));
    }
    CHECK(measured == (backward > 1'000'000 ? 3 : 4));
  }
}

TEST_CASE("the entry's backward is timed in every call, and the least counts") {
  GateReport report;
  Replay replay(report);
  const std::size_t number = replay.gate().expect_backward();
  // As pages are fresh at first: slower than torch, then faster.
  std::int64_t backward = 1600;
  for (int calls = 0; replay.gate().open() && calls < 100; ++calls) {
    if (replay.gate().turn() == Gate::Turn::plain) {
      replay.plain(1000);
      continue;
    }
    replay.entry(950);
    backward_ran(replay.gate(), number, std::max<std::int64_t>(backward -= 100, 900), 1000);
  }
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.entry_ns < 950 + 1200);
}

TEST_CASE("what comes behind the call is told apart") {
  GateReport report;
  Replay replay(report);
  const std::size_t number = replay.gate().expect_backward();
  for (int i = 0; i < 5; ++i) backward_ran(replay.gate(), number, 700, 1000);
  CHECK(calls_until_verdict(replay, 500, 1000) > 0);
  CHECK(report.backward_saved_ns == 300);
}
