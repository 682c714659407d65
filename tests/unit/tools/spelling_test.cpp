#include "tools/common/spelling.h"

#include <doctest/doctest.h>

#include <vector>

using penstock::tools::edit_distance;
using penstock::tools::nearest_word;

TEST_CASE("edit distance counts letters, and a swap of neighbours once") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "run") == 3);
  CHECK(edit_distance("fuse", "fues") == 1);
  CHECK(edit_distance("capure", "capture") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest word is offered only when it is near") {
  const std::vector<std::string> known = {"capture", "decompose", "fuse", "run"};
  CHECK(nearest_word("capure", known) == "capture");
  CHECK(nearest_word("fues", known) == "fuse");
  CHECK(nearest_word("codegen", known).empty());
}
