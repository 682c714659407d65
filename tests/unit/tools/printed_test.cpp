#include "tools/doctor/printed.h"

#include <doctest/doctest.h>

using penstock::tools::compare_printed;
using Kind = penstock::tools::PrintedDifference::Kind;

TEST_CASE("what is printed is the same, rounded otherwise, or other") {
  CHECK(compare_printed("loss 0.5\n", "loss 0.5\n").kind == Kind::same);
  CHECK(compare_printed("loss 0.50001\n", "loss 0.50002\n").kind == Kind::rounded);
  CHECK(compare_printed("loss 0.5\n", "loss 0.6\n").kind == Kind::differs);
  CHECK(compare_printed("[1.0000e-08]\n", "[-2.0e-08]\n").kind == Kind::rounded);
  CHECK(compare_printed("[1., 2.]\n", "[1.0001, 2.]\n").kind == Kind::rounded);
  CHECK(compare_printed("step 10\n", "step 11\n").kind == Kind::differs);
  CHECK(compare_printed("a\n", "a\nb\n").kind == Kind::differs);
  CHECK(compare_printed("", "").kind == Kind::same);
  CHECK(compare_printed("nan\n", "0.0\n").kind == Kind::differs);
}

TEST_CASE("the first line that differs is named") {
  const auto found = compare_printed("same\none\nx\n", "same\ntwo\ny\n");
  CHECK(found.line == 2);
  CHECK(found.first == "one");
  CHECK(found.second == "two");
  CHECK(found.lines == 3);
}
