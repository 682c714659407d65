#include "jit/gate.h"

#include <doctest/doctest.h>

using namespace penstock;
using jit::Gate;
using Verdict = GateReport::Verdict;

namespace {

/// Runs calls by turns, each side as long as given, until there is a verdict; how many calls it took.
int calls_until_verdict(Gate& gate, std::int64_t entry_ns, std::int64_t plain_ns) {
  int calls = 0;
  while (gate.open() && calls < 100) {
    ++calls;
    if (gate.turn() == Gate::Turn::entry) {
      gate.entry_ran(std::chrono::nanoseconds(entry_ns));
    } else {
      gate.plain_ran(std::chrono::nanoseconds(plain_ns));
    }
  }
  return calls;
}

}  // namespace

TEST_CASE("a long call that is clearly faster is accepted after one pair") {
  GateReport report;
  Gate gate(report);
  CHECK(gate.turn() == Gate::Turn::plain);
  CHECK(calls_until_verdict(gate, 100'000'000, 200'000'000) == 3);
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.pairs == 1);
  CHECK(report.entry_ns == 100'000'000);
  CHECK(report.plain_ns == 200'000'000);
}

TEST_CASE("short calls, and those of nearly the same length, take three pairs") {
  for (const std::int64_t plain : {5'000, 101, 100, 91}) {
    GateReport report;
    Gate gate(report);
    CHECK(calls_until_verdict(gate, 100, plain) == 7);
    CHECK(report.verdict == Verdict::accepted);
  }
  GateReport report;
  Gate gate(report);
  CHECK(calls_until_verdict(gate, 100'000'000, 110'000'000) == 7);
  CHECK(report.verdict == Verdict::accepted);
}

TEST_CASE("an entry that is slower by more than the margin is refused, after more pairs") {
  GateReport report;
  Gate gate(report);
  CHECK(calls_until_verdict(gate, 112, 100) == 13);
  CHECK(report.verdict == Verdict::refused);
  CHECK(gate.refuses());
  GateReport of_long_calls;
  Gate another(of_long_calls);
  CHECK(calls_until_verdict(another, 400'000'000, 300'000'000) == 7);
  CHECK(of_long_calls.verdict == Verdict::refused);
}

TEST_CASE("the first call of an entry and disturbed calls decide nothing") {
  GateReport report;
  Gate gate(report);
  gate.entry_ran(std::chrono::seconds(2));
  for (const int disturbed : {1, 2, 3, 4}) {
    gate.plain_ran(std::chrono::nanoseconds(1000));
    gate.entry_ran(std::chrono::nanoseconds(disturbed == 4 ? 500 : 50'000));
  }
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.entry_ns == 500);
  CHECK(report.pairs == 4);
}

TEST_CASE("a call of an entry whose memory was given back decides nothing") {
  GateReport report;
  Gate gate(report);
  gate.entry_ran(std::chrono::seconds(2));
  for (const int round : {1, 2, 3}) {
    gate.plain_ran(std::chrono::nanoseconds(1000));
    gate.memory_was_given_back();
    CHECK(gate.turn() == Gate::Turn::entry);
    gate.entry_ran(std::chrono::nanoseconds(50'000));
    CHECK(report.pairs == round - 1);
    CHECK(gate.turn() == Gate::Turn::entry);
    gate.entry_ran(std::chrono::nanoseconds(500));
  }
  CHECK(report.verdict == Verdict::accepted);
  CHECK(report.entry_ns == 500);
}

TEST_CASE("calls that plain Python does not finish end the measuring, and the entry stays in use") {
  GateReport report;
  Gate gate(report);
  gate.entry_ran(std::chrono::nanoseconds(10));
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
