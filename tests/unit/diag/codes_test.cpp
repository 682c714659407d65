#include <doctest/doctest.h>

#include <set>

#include "diag/diagnostic.h"

using namespace penstock;

TEST_CASE("ids are unique, well formed, and name the enumerator") {
  std::set<std::string_view> seen;
  for (const CodeFacts& row : all_codes()) {
    INFO(row.id);
    CHECK(row.id.size() == 6);
    CHECK(row.id.substr(0, 2) == "PS");
    CHECK(seen.insert(row.id).second);
    CHECK(&facts(row.code) == &row);
    CHECK(find_code(row.id) == &row);
  }
}

TEST_CASE("every row explains itself") {
  for (const CodeFacts& row : all_codes()) {
    INFO(row.id);
    CHECK_FALSE(row.title.empty());
    CHECK_FALSE(row.explanation.empty());
    CHECK_FALSE(row.hint.empty());
  }
}
