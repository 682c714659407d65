#include <doctest/doctest.h>

#include "tools/run/roof.h"

namespace penstock::tools {
namespace {

Roof roof() {
  Roof made;
  made.gflops = 100;
  made.copies = {{1'000'000, 80}, {100'000'000, 20}};
  return made;
}

TEST_CASE("arithmetic is held against the peak") {
  CHECK(roof().percent(50'000, 0, 1000) == doctest::Approx(50));
}

TEST_CASE("bytes are held against the memory that holds as many") {
  CHECK(roof().percent(0, 800'000, 20'000) == doctest::Approx(50));
  CHECK(roof().percent(0, 80'000'000, 8'000'000) == doctest::Approx(50));
  CHECK(roof().percent(0, 800'000'000, 80'000'000) == doctest::Approx(50));
}

TEST_CASE("the larger of the two least times counts; no work is none of the roof") {
  CHECK(roof().percent(50'000, 8'000, 1000) == doctest::Approx(50));
  CHECK(roof().percent(5'000, 40'000, 1000) == doctest::Approx(50));
  CHECK(roof().percent(0, 0, 1000) == 0);
}

}  // namespace
}  // namespace penstock::tools
