#include "python/rest.h"

#include <doctest/doctest.h>

using penstock::python::Rest;

namespace {

/// Looks that so many quiet calls take.
int looks(Rest& rest, int calls) {
  int looked = 0;
  for (int call = 0; call < calls; ++call) {
    if (rest.on()) {
      rest.take();
    } else {
      rest.watched(true);
      ++looked;
    }
  }
  return looked;
}

}  // namespace

TEST_CASE("code rests behind eight quiet calls, and not behind seven") {
  Rest rest;
  for (int call = 0; call < 7; ++call) rest.watched(true);
  CHECK_FALSE(rest.on());
  rest.watched(true);
  CHECK(rest.on());
}

TEST_CASE("a call in which something happened is none of them") {
  Rest rest;
  for (int call = 0; call < 7; ++call) rest.watched(true);
  rest.watched(false);
  for (int call = 0; call < 7; ++call) rest.watched(true);
  CHECK_FALSE(rest.on());
}

TEST_CASE("it is looked at less and less") {
  Rest rest;
  CHECK(looks(rest, 100) <= 13);
  CHECK(looks(rest, 10'000) <= 9);
  CHECK(looks(rest, 1'000'000) <= 250);
}

TEST_CASE("it is looked at again however long it has rested") {
  Rest rest;
  looks(rest, 10'000'000);
  int left = 0;
  for (; rest.on(); ++left) rest.take();
  CHECK(left <= 4096);
}

TEST_CASE("the end of a rest is the end of all that was quiet") {
  Rest rest;
  looks(rest, 100'000);
  rest.end();
  CHECK_FALSE(rest.on());
  CHECK(looks(rest, 100) >= 10);
}
