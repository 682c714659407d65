#include <doctest/doctest.h>

#include "capture/root_meter.h"

using penstock::capture::TimedCalls;
using std::chrono::nanoseconds;

namespace {

/// How many of so many calls are timed, and how many calls those stand for.
std::pair<int, std::int64_t> timed(TimedCalls& calls, int count, nanoseconds time) {
  int asked = 0;
  std::int64_t stands_for = 0;
  for (int call = 0; call < count; ++call) {
    if (!calls.times_next()) continue;
    ++asked;
    stands_for += calls.took(time);
  }
  return {asked, stands_for};
}

}  // namespace

TEST_CASE("of short calls behind the first one in sixteen is timed, and stands for all") {
  TimedCalls calls;
  CHECK(timed(calls, TimedCalls::kFirst, nanoseconds(500)) == std::pair(1000, std::int64_t{1000}));
  CHECK(timed(calls, 1600, nanoseconds(500)) == std::pair(100, std::int64_t{1600}));
}

TEST_CASE("long calls are all timed, and short ones until one is seen to be short") {
  TimedCalls calls;
  CHECK(timed(calls, 3000, nanoseconds(20000)) == std::pair(3000, std::int64_t{3000}));
  CHECK(timed(calls, 1, nanoseconds(500)).first == 1);
  CHECK(timed(calls, 16, nanoseconds(500)).first == 1);
}
