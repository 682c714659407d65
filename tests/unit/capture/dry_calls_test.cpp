#include <doctest/doctest.h>

#include "capture/dry_calls.h"

using penstock::capture::DryCalls;

namespace {

/// Of so many calls, how many were looked at; each `dry` or not.
int looked_at(DryCalls& calls, int count, bool held, bool dry) {
  int looks = 0;
  for (int call = 0; call < count; ++call) {
    if (calls.passes_by(held)) continue;
    ++looks;
    calls.ended(dry);
  }
  return looks;
}

}  // namespace

TEST_CASE("behind a few calls with nothing in them one in some is looked at") {
  DryCalls calls;
  CHECK(looked_at(calls, DryCalls::kFew, false, true) == DryCalls::kFew);
  CHECK(looked_at(calls, DryCalls::kOneIn - 1, false, true) == 0);
  CHECK(looked_at(calls, 1, false, true) == 1);
  CHECK(looked_at(calls, 10 * DryCalls::kOneIn, false, true) == 10);
}

TEST_CASE("code that once held a segment is looked at longer") {
  DryCalls calls;
  CHECK(looked_at(calls, DryCalls::kMany, true, true) == DryCalls::kMany);
  CHECK(looked_at(calls, DryCalls::kOneIn - 1, true, true) == 0);
}

TEST_CASE("a call with something in it is followed by calls that are looked at") {
  DryCalls calls;
  looked_at(calls, DryCalls::kFew + DryCalls::kOneIn - 1, false, true);
  CHECK(looked_at(calls, 1, false, false) == 1);
  CHECK(looked_at(calls, 20, false, false) == 20);
}
