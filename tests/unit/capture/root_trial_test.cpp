#include "capture/root_trial.h"

#include <doctest/doctest.h>

using penstock::capture::RootTrial;
using std::chrono::microseconds;

namespace {

/// So many pairs of calls that take so long, or fewer where a verdict stands.
int pairs(RootTrial& trial, int entries, int plain, int most) {
  int number = 0;
  for (; number < most && trial.verdict() == RootTrial::Verdict::open; ++number) {
    trial.entries_ran(microseconds(entries));
    CHECK(trial.plain_turn());
    trial.plain_ran(microseconds(plain));
  }
  return number;
}

}  // namespace

TEST_CASE("calls that are far faster are kept after one pair") {
  RootTrial trial;
  CHECK(pairs(trial, 50, 100, 100) == 1);
  CHECK(trial.verdict() == RootTrial::Verdict::kept);
  CHECK_FALSE(trial.plain_turn());
}

TEST_CASE("the first call alone does not refuse: it makes plans") {
  RootTrial trial;
  pairs(trial, 900, 100, 1);
  CHECK(trial.verdict() == RootTrial::Verdict::open);
  pairs(trial, 50, 100, 2);
  CHECK(trial.verdict() == RootTrial::Verdict::kept);
}

TEST_CASE("calls that take longer are refused") {
  RootTrial trial;
  CHECK(pairs(trial, 200, 100, 100) == 3);
  CHECK(trial.verdict() == RootTrial::Verdict::refused);
  RootTrial little;
  CHECK(pairs(little, 110, 100, 100) == 8);
  CHECK(little.verdict() == RootTrial::Verdict::refused);
}

TEST_CASE("where neither is faster plain Python has it") {
  RootTrial trial;
  CHECK(pairs(trial, 100, 100, 100) == 24);
  CHECK(trial.verdict() == RootTrial::Verdict::refused);
  RootTrial little;
  CHECK(pairs(little, 98, 100, 100) == 24);
  CHECK(little.verdict() == RootTrial::Verdict::kept);
}

TEST_CASE("calls that other processes made slower do not count") {
  RootTrial trial;
  for (int number = 0; number < 8; ++number) {
    trial.entries_ran(microseconds(number % 2 == 0 ? 80 : 400));
    trial.plain_ran(microseconds(100));
  }
  CHECK(trial.verdict() == RootTrial::Verdict::kept);
}

TEST_CASE("sides take turns") {
  RootTrial trial;
  CHECK_FALSE(trial.plain_turn());
  trial.plain_ran(microseconds(1));  // nobody's turn
  trial.entries_ran(microseconds(100));
  trial.entries_ran(microseconds(1));  // of another thread, meanwhile
  CHECK(trial.plain_turn());
  trial.plain_ran(microseconds(100));
  CHECK_FALSE(trial.plain_turn());
  CHECK(trial.verdict() == RootTrial::Verdict::open);
}

TEST_CASE("calls that wait for entries only refuse what is far slower") {
  const auto waiting_pairs = [](RootTrial& trial, int waited, int most) {
    int number = 0;
    for (; number < most && trial.verdict() == RootTrial::Verdict::open; ++number) {
      trial.waited(microseconds(waited));
      CHECK(trial.plain_turn());
      trial.plain_ran(microseconds(100));
    }
    return number;
  };
  RootTrial dear, alike, cheap;
  CHECK(waiting_pairs(dear, 300, 100) == 3);
  CHECK(dear.verdict() == RootTrial::Verdict::refused);
  CHECK(waiting_pairs(alike, 130, 100) == 100);
  CHECK(waiting_pairs(cheap, 20, 100) == 100);
  // What entries take is asked anew.
  CHECK(pairs(cheap, 50, 100, 100) == 1);
  CHECK(cheap.verdict() == RootTrial::Verdict::kept);
}

TEST_CASE("a call that waits is not compared where others were") {
  RootTrial trial;
  CHECK(pairs(trial, 90, 100, 2) == 2);
  for (int call = 0; call < 50; ++call) trial.waited(microseconds(500));
  CHECK_FALSE(trial.plain_turn());
  CHECK(pairs(trial, 70, 100, 100) == 6);
  CHECK(trial.verdict() == RootTrial::Verdict::kept);
}
