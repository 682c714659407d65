#include "tools/reduce/minimise.h"

#include <doctest/doctest.h>

#include <algorithm>

using penstock::tools::minimise;

namespace {

std::vector<std::size_t> positions(const std::vector<bool>& part) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i]) out.push_back(i);
  }
  return out;
}

}  // namespace

TEST_CASE("one thing of many is found in about two log n questions") {
  int asked = 0;
  const auto part = minimise(1000, [&](const std::vector<bool>& p) { return ++asked, p[617]; });
  CHECK(positions(part) == std::vector<std::size_t>{617});
  CHECK(asked < 40);
}

TEST_CASE("things that are needed together stay together") {
  const auto part =
      minimise(100, [](const std::vector<bool>& p) { return p[3] && p[50] && p[99]; });
  CHECK(positions(part) == std::vector<std::size_t>{3, 50, 99});
}

TEST_CASE("a later removal can make an earlier one possible") {
  // 0 is needed only while 5 is there, which is met first.
  const auto part =
      minimise(10, [](const std::vector<bool>& p) { return p[2] && (p[0] || !p[5]); });
  CHECK(positions(part) == std::vector<std::size_t>{2});
}

TEST_CASE("nothing, everything, and nothing at all") {
  CHECK(positions(minimise(8, [](const std::vector<bool>&) { return true; })).empty());
  CHECK(positions(minimise(3, [](const std::vector<bool>&) { return false; })).size() == 3);
  CHECK(minimise(0, [](const std::vector<bool>&) { return true; }).empty());
}

TEST_CASE("whatever is needed, that is left and nothing else") {
  for (std::size_t count = 0; count <= 6; ++count) {
    for (unsigned needed = 0; needed < 1U << count; ++needed) {
      const auto is_needed = [&](std::size_t i) { return (needed >> i & 1U) != 0; };
      const auto part = minimise(count, [&](const std::vector<bool>& some) {
        for (std::size_t i = 0; i < count; ++i) {
          if (is_needed(i) && !some[i]) return false;
        }
        return true;
      });
      for (std::size_t i = 0; i < count; ++i) CHECK(part[i] == is_needed(i));
    }
  }
}
