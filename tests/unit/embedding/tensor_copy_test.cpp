#include "embedding/tensor_copy.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace penstock::embedding;

namespace {

using Numbers = std::vector<std::int64_t>;

std::vector<short> counted(std::size_t count) {
  std::vector<short> out(count);
  std::iota(out.begin(), out.end(), short{0});
  return out;
}

}  // namespace

TEST_CASE("elements go where the strides say") {
  const std::vector<short> from = counted(6);
  std::vector<short> to(6);
  copy_elements(to.data(), Numbers{1, 2}, from.data(), Numbers{3, 1}, Numbers{2, 3}, sizeof(short));
  CHECK(to == std::vector<short>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("a negative stride reads backwards, and one of 0 repeats") {
  const std::vector<short> from = counted(4);
  std::vector<short> to(4);
  copy_elements(to.data(), Numbers{1}, from.data() + 3, Numbers{-1}, Numbers{4}, sizeof(short));
  CHECK(to == std::vector<short>{3, 2, 1, 0});
  copy_elements(to.data(), Numbers{2, 1}, from.data() + 1, Numbers{0, 1}, Numbers{2, 2},
                sizeof(short));
  CHECK(to == std::vector<short>{1, 2, 1, 2});
}

TEST_CASE("gaps between rows are left alone") {
  const std::vector<short> from = counted(4);
  std::vector<short> to(5, short{9});
  copy_elements(to.data(), Numbers{3, 1}, from.data(), Numbers{2, 1}, Numbers{2, 2}, sizeof(short));
  CHECK(to == std::vector<short>{0, 1, 9, 2, 3});
  copy_elements(to.data(), Numbers{1}, from.data(), Numbers{1}, Numbers{0}, sizeof(short));
  CHECK(to[0] == 0);
}

TEST_CASE("strides of sizes 0 and 1 say nothing") {
  CHECK(same_places(Numbers{1, 4, 1}, Numbers{7, 1, 3}, Numbers{4, 1, 1}));
  CHECK_FALSE(same_places(Numbers{2, 4}, Numbers{7, 1}, Numbers{4, 1}));
  CHECK(row_major_strides(Numbers{2, 0, 3}) == Numbers{3, 3, 1});
}

TEST_CASE("the extent is from the first element to behind the last") {
  CHECK(extent_of(Numbers{2, 3}, Numbers{5, 1}) == 8);
  CHECK(extent_of(Numbers{2, 0}, Numbers{5, 1}) == 0);
  CHECK(extent_of(Numbers{}, Numbers{}) == 1);
}
