// What --dynamic-sizes says, and what it cannot say.
#include "ir/declared_sizes.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("names, dims and ranges are read") {
  const auto sizes = parse_declared_sizes("x:0=batch[2..512],args_0:12=seq,y:1=n[..9],z:0=m[3..]");
  REQUIRE(sizes);
  REQUIRE(sizes->size() == 4);
  CHECK((*sizes)[0].input == "x");
  CHECK((*sizes)[0].dim == 0);
  CHECK((*sizes)[0].symbol == "batch");
  CHECK((*sizes)[0].minimum == 2);
  CHECK((*sizes)[0].maximum == 512);
  CHECK((*sizes)[1].input == "args_0");
  CHECK((*sizes)[1].dim == 12);
  CHECK((*sizes)[1].minimum == 1);
  CHECK((*sizes)[1].maximum == INT64_MAX);
  CHECK((*sizes)[2].minimum == 1);
  CHECK((*sizes)[2].maximum == 9);
  CHECK((*sizes)[3].minimum == 3);
  CHECK((*sizes)[3].maximum == INT64_MAX);
}

TEST_CASE("sizes of one name have the range that all of them have") {
  const auto sizes = parse_declared_sizes("x:0=b[2..9],y:0=b[4..],z:0=b,z:1=c");
  REQUIRE(sizes);
  for (int i = 0; i < 3; ++i) {
    CHECK((*sizes)[i].minimum == 4);
    CHECK((*sizes)[i].maximum == 9);
  }
  CHECK((*sizes)[3].maximum == INT64_MAX);
  const auto none = parse_declared_sizes("x:0=b[2..3],y:0=b[4..9]");
  REQUIRE(!none);
  CHECK(none.error().message.find("no size is at least 4 and at most 3") != std::string::npos);
}

TEST_CASE("nothing declares nothing") {
  const auto sizes = parse_declared_sizes("");
  REQUIRE(sizes);
  CHECK(sizes->empty());
}

TEST_CASE("what is no declaration is told of") {
  for (const char* text : {"x",
                           "x:0",
                           "x=b",
                           ":0=b",
                           "x:=b",
                           "x:-1=b",
                           "x:a=b",
                           "x:0=",
                           "x:0=2b",
                           "x:0=b c",
                           "x:0=b[",
                           "x:0=b[1]",
                           "x:0=b[1..2",
                           "x:0=b[a..2]",
                           "x:0=b[-1..2]",
                           "x:0=b[3..2]",
                           "x:0=b,",
                           "x:0=s0",
                           "x:0=s17",
                           "x:0=b,x:0=c",
                           "x:99999999999999999999=b",
                           ",",
                           "x:0=b[1..99999999999999999999]"}) {
    CAPTURE(text);
    const auto sizes = parse_declared_sizes(text);
    REQUIRE(!sizes);
    CHECK(sizes.error().code == Code::PS0101);
    CHECK(!sizes.error().hint.empty());
  }
  CHECK(parse_declared_sizes("x:0=s,y:0=seq2"));
}

}  // namespace
}  // namespace penstock
